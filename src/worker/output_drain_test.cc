#include "worker/output_drain.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"

namespace assay {
namespace {

std::string WaitFor(const CapturedOutput& output, size_t at_least) {
  const TimePoint deadline = DeadlineIn(Seconds(5));
  while (output.Text().size() < at_least && Clock::now() < deadline) ::usleep(1000);
  return output.Text();
}

TEST(OutputDrainTest, KeepsHeadAndTailAndCountsTheRest) {
  CapturedOutput output(10);
  output.Append("abc");
  output.Append("defghijklmnopqrst");
  output.Append("uvwxyz");
  EXPECT_EQ(output.Text(), "abcde\n[... 16 bytes left out ...]\nvwxyz");
}

TEST(OutputDrainTest, AGigabyteIsDrainedAndBounded) {
  auto drain = *OutputDrain::Start();
  OutputDrain::Stream stream = *drain->Open(64 << 10);
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 1024; ++i) {
    std::string_view left = block;
    while (!left.empty()) {
      const ssize_t n = ::write(stream.write_end.get(), left.data(), left.size());
      ASSERT_GT(n, 0);
      left.remove_prefix(static_cast<size_t>(n));
    }
  }
  const std::string text = WaitFor(*stream.output, 64 << 10);
  EXPECT_LT(text.size(), 70'000u);
  EXPECT_NE(text.find("bytes left out"), std::string::npos);
}

TEST(OutputDrainTest, TheEndIsAwaited) {
  auto drain = *OutputDrain::Start();
  OutputDrain::Stream stream = *drain->Open(4 << 20);
  const std::string text(60'000, 'x');
  ASSERT_EQ(::write(stream.write_end.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  EXPECT_FALSE(stream.output->AwaitEnd(DeadlineIn(Seconds(0.02))));
  stream.write_end.Reset();
  EXPECT_TRUE(stream.output->AwaitEnd(DeadlineIn(Seconds(5))));
  EXPECT_EQ(stream.output->Text(), text);
}

TEST(OutputDrainTest, ManyStreamsDoNotMix) {
  auto drain = *OutputDrain::Start();
  std::vector<OutputDrain::Stream> streams;
  streams.reserve(20);
  for (int i = 0; i < 20; ++i) streams.push_back(*drain->Open(1000));
  for (int i = 0; i < 20; ++i) {
    const std::string text = "stream " + std::to_string(i);
    ASSERT_EQ(::write(streams[static_cast<size_t>(i)].write_end.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(WaitFor(*streams[static_cast<size_t>(i)].output, 8), "stream " + std::to_string(i));
}

}  // namespace
}  // namespace assay
