#include "base/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace assay {
namespace {

struct ChannelTest : testing::Test {
  ChannelTest() {
    auto pair = *SocketPair();
    raw = pair.first.get();
    a = Channel(std::move(pair.first));
    b = Channel(std::move(pair.second));
  }
  TimePoint Soon() { return DeadlineIn(Seconds(2)); }

  int raw = -1;
  Channel a;
  Channel b;
};

TEST_F(ChannelTest, CarriesJsonAndDescriptors) {
  const UniqueFd memory(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::write(memory.get(), "hello", 5), 5);
  const int fds[] = {memory.get()};
  ASSERT_TRUE(a.Send({{"op", "map"}}, fds, Soon()).ok());
  Result<Message> message = b.Receive(Soon());
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(GetString(message->body, "op"), "map");
  ASSERT_EQ(message->fds.size(), 1u);
  char text[5];
  ASSERT_EQ(::pread(message->fds[0].get(), text, 5, 0), 5);
  EXPECT_EQ(std::string(text, 5), "hello");
  EXPECT_EQ(::fcntl(message->fds[0].get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(ChannelTest, LargeFramesPassBothWays) {
  const std::string big(3u << 20, 'x');
  std::thread sender([&] { EXPECT_TRUE(a.Send({{"big", big}}, {}, Soon()).ok()); });
  Result<Message> message = b.Receive(Soon());
  sender.join();
  ASSERT_TRUE(message.ok());
  EXPECT_EQ(GetString(message->body, "big").size(), big.size());
}

TEST_F(ChannelTest, SilenceTimesOut) {
  EXPECT_EQ(b.Receive(DeadlineIn(Seconds(0.05))).error().code, ErrorCode::kTimeout);
}

TEST_F(ChannelTest, HalfAFrameTimesOut) {
  ASSERT_EQ(::send(raw, "\x10\x00\x00\x00{", 5, 0), 5);
  EXPECT_EQ(b.Receive(DeadlineIn(Seconds(0.05))).error().code, ErrorCode::kTimeout);
}

TEST_F(ChannelTest, OversizeAndBrokenFramesAreProtocolErrors) {
  ASSERT_EQ(::send(raw, "\xff\xff\xff\x7f", 4, 0), 4);
  EXPECT_EQ(b.Receive(Soon()).error().code, ErrorCode::kProtocol);
}

TEST_F(ChannelTest, GarbageIsAProtocolError) {
  ASSERT_EQ(::send(raw, "\x03\x00\x00\x00[1]", 7, 0), 7);
  EXPECT_EQ(b.Receive(Soon()).error().code, ErrorCode::kProtocol);
}

TEST_F(ChannelTest, ClosedPeer) {
  b = Channel();
  EXPECT_EQ(a.Receive(Soon()).error().code, ErrorCode::kClosed);
  EXPECT_EQ(a.Send({{"op", "x"}}, {}, Soon()).error().code, ErrorCode::kClosed);
}

TEST_F(ChannelTest, APeerThatDoesNotReadTimesOut) {
  const std::string big(3u << 20, 'x');
  EXPECT_EQ(a.Send({{"big", big}}, {}, DeadlineIn(Seconds(0.05))).error().code,
            ErrorCode::kTimeout);
}

}  // namespace
}  // namespace assay
