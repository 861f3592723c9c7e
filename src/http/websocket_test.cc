#include "http/websocket.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "http/testing.h"

namespace assay::http {
namespace {

/// What the test's sessions share.
struct Room {
  std::mutex mutex;
  std::vector<std::shared_ptr<WebSocketPeer>> peers;
  std::atomic<int> opened{0};
  std::atomic<int> received{0};
  std::atomic<int> closed{0};
  std::atomic<int> destroyed{0};
  std::atomic<bool> busy{false};
};

/// Echoes; some messages have it do other things.
class EchoSession final : public WebSocketSession {
 public:
  EchoSession(std::shared_ptr<Room> room, std::shared_ptr<WebSocketPeer> peer)
      : room_(std::move(room)), peer_(std::move(peer)) {}
  EchoSession(const EchoSession&) = delete;
  EchoSession& operator=(const EchoSession&) = delete;
  ~EchoSession() override { ++room_->destroyed; }
  void OnOpen() override {
    {
      const std::lock_guard lock(room_->mutex);
      room_->peers.push_back(peer_);
    }
    ++room_->opened;  // who waits for it reads the peers
  }
  void OnMessage(std::string text) override {
    ++room_->received;
    if (text == "throw") throw std::runtime_error("boom");
    if (text == "quick") {
      peer_->Close(4001, "at once");
    } else if (text == "bye") {
      peer_->Send("last words");
      peer_->Close(4000, "as asked");
      peer_->Send("never sent");
    } else if (text == "flood") {
      for (int i = 0; i < 200; ++i) peer_->Send(std::string(1u << 20, 'x'));
    } else if (text == "later") {
      std::thread([peer = peer_] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        peer->Send("later");
      }).detach();
    } else {
      peer_->Send(std::move(text));
    }
  }
  [[nodiscard]] bool Busy() const override { return room_->busy; }
  void OnClose() override { ++room_->closed; }

 private:
  std::shared_ptr<Room> room_;
  std::shared_ptr<WebSocketPeer> peer_;
};

struct Fixture {
  explicit Fixture(const Limits& limits = {}, ListenOptions listen = {},
                   MetricRegistry* metrics = nullptr) {
    Router router;
    router.AddWebSocket("/ws", Scope::kSubmit,
                        [room = room](Request, std::shared_ptr<WebSocketPeer> peer) {
                          return std::make_unique<EchoSession>(room, std::move(peer));
                        });
    router.AddWebSocket("/none", Scope::kNone,
                        [](Request, std::shared_ptr<WebSocketPeer>) { return nullptr; });
    test = std::make_unique<TestServer>(std::move(router), limits, std::move(listen), metrics);
  }
  [[nodiscard]] uint16_t port() const { return test->port; }
  std::shared_ptr<Room> room = std::make_shared<Room>();
  std::unique_ptr<TestServer> test;
};

Limits Fast() {
  Limits limits;
  limits.tick = Seconds(0.02);
  return limits;
}

// Who sends faster is read more slowly, and loses nothing.
TEST(WebSocket, MessagesCountAgainstTheRateOfTheirKey) {
  ListenOptions listen;
  listen.keys = Keys("a key-of-a-0123456789 submit rps=20\n");
  Fixture fixture({}, listen);
  RawClient client(fixture.port());
  ASSERT_EQ(StatusOf(client.Upgrade("/ws", "X-API-Key: key-of-a-0123456789\r\n")), 101);
  const TimePoint begin = Clock::now();
  for (int i = 0; i < 60; ++i) client.SendFrame(1, std::to_string(i));
  for (int i = 0; i < 60; ++i) EXPECT_EQ(client.ReadFrame().payload, std::to_string(i));
  // Two seconds' worth came at once; the upgrade took one, and nothing is owed for the last.
  EXPECT_GT(Clock::now() - begin, std::chrono::milliseconds(900));
}

TEST(WebSocket, Echoes) {
  Fixture fixture;
  RawClient client(fixture.port());
  const std::string head =
      client.Upgrade("/ws", "Sec-WebSocket-Extensions: permessage-deflate\r\n");
  EXPECT_EQ(StatusOf(head), 101);
  EXPECT_NE(head.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
  EXPECT_EQ(head.find("permessage-deflate"), std::string::npos);
  for (const size_t size : {size_t{0}, size_t{5}, size_t{126}, size_t{70'000}, size_t{3'000'000}}) {
    client.SendFrame(1, std::string(size, 'a'));
    const RawClient::Frame frame = client.ReadFrame();
    EXPECT_EQ(frame.opcode, 1);
    EXPECT_EQ(frame.payload.size(), size);
  }
  client.SendFrame(8, "\x03\xe8");
  EXPECT_EQ(client.ReadFrame().close_code(), 1000);
  EXPECT_EQ(client.ReadAll(), "");
  EXPECT_TRUE(Eventually([&] { return fixture.room->destroyed == 1; }));
  EXPECT_EQ(fixture.room->closed, 1);
  // A client that does not hang up does not keep the connection.
  EXPECT_TRUE(Eventually([&] { return fixture.test->server->connections() == 0; }));
}

TEST(WebSocket, FragmentsWithControlFramesBetween) {
  Fixture fixture;
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  client.SendFrame(1, "one \xC3", false);
  client.SendFrame(9, "are you there");
  client.SendFrame(0, "\xBC two", false);
  client.SendFrame(0, "", true);
  const RawClient::Frame pong = client.ReadFrame();
  EXPECT_EQ(pong.opcode, 10);
  EXPECT_EQ(pong.payload, "are you there");
  EXPECT_EQ(client.ReadFrame().payload, "one \xC3\xBC two");
}

TEST(WebSocket, PingsAreAnsweredWhileASessionWorks) {
  Fixture fixture;
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  client.SendFrame(1, "later");
  client.SendFrame(9, "now");
  const TimePoint start = Clock::now();
  EXPECT_EQ(client.ReadFrame().opcode, 10);
  EXPECT_LT(MillisecondsSince(start), 250);
  EXPECT_EQ(client.ReadFrame().payload, "later");
}

TEST(WebSocket, BinaryMessagesComeAsText) {
  Fixture fixture;
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  client.SendFrame(2, "{\"type\":1}");
  EXPECT_EQ(client.ReadFrame().payload, "{\"type\":1}");
  client.SendFrame(2, "\xff\xfe");
  EXPECT_EQ(client.ReadFrame().payload, "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(WebSocket, BreachesOfTheProtocol) {
  Fixture fixture;
  const auto code = [&](const std::function<void(RawClient*)>& act) {
    RawClient client(fixture.port());
    client.Upgrade("/ws");
    act(&client);
    return client.ReadFrame().close_code();
  };
  EXPECT_EQ(code([](RawClient* c) { c->SendFrame(1, "\xff\xfe"); }), 1007);
  EXPECT_EQ(code([](RawClient* c) { c->Send("\x81\x02hi"); }), 1002);  // not masked
  EXPECT_EQ(code([](RawClient* c) { c->SendFrame(3, "reserved"); }), 1002);
  EXPECT_EQ(code([](RawClient* c) { c->SendFrame(0, "nothing to go on"); }), 1002);
  EXPECT_EQ(code([](RawClient* c) { c->SendFrame(9, std::string(126, 'x')); }), 1002);
  EXPECT_EQ(code([](RawClient* c) { c->SendFrame(8, "x"); }), 1002);
  EXPECT_TRUE(Eventually([&] { return fixture.test->server->websockets() == 0; }));
  EXPECT_EQ(fixture.room->closed, fixture.room->opened);
}

TEST(WebSocket, OversizeMessages) {
  Limits limits;
  limits.message_bytes = 100'000;
  Fixture fixture(limits);
  RawClient whole(fixture.port());
  whole.Upgrade("/ws");
  whole.SendFrame(1, std::string(100'000, 'x'));
  EXPECT_EQ(whole.ReadFrame().payload.size(), 100'000u);
  whole.SendFrame(1, std::string(100'001, 'x'));
  const RawClient::Frame close = whole.ReadFrame();
  EXPECT_EQ(close.close_code(), 1009);
  EXPECT_NE(close.payload.find("100000"), std::string::npos);
  whole.SendFrame(8, "\x03\xf1");
  EXPECT_EQ(whole.ReadAll(), "");
  RawClient pieces(fixture.port());
  pieces.Upgrade("/ws");
  pieces.SendFrame(1, std::string(60'000, 'x'), false);
  pieces.SendFrame(0, std::string(60'000, 'x'), true);
  EXPECT_EQ(pieces.ReadFrame().close_code(), 1009);
}

TEST(WebSocket, LargeMessagesTogether) {
  Limits limits;
  limits.inflight_bytes = 200'000;
  Fixture fixture(limits);
  RawClient first(fixture.port());
  first.Upgrade("/ws");
  first.SendFrame(1, std::string(150'000, 'x'), false);
  RawClient second(fixture.port());
  second.Upgrade("/ws");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the first one's bytes are counted
  second.SendFrame(1, std::string(150'000, 'x'));
  EXPECT_EQ(second.ReadFrame().close_code(), 1013);
  first.SendFrame(0, "!", true);
  EXPECT_EQ(first.ReadFrame().payload.size(), 150'001u);
}

TEST(WebSocket, CloseComesAfterWhatWasSent) {
  Fixture fixture;
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  client.SendFrame(1, "bye");
  EXPECT_EQ(client.ReadFrame().payload, "last words");
  const RawClient::Frame close = client.ReadFrame();
  EXPECT_EQ(close.close_code(), 4000);
  EXPECT_EQ(close.payload.substr(2), "as asked");
}

TEST(WebSocket, ClosesThatCrossFreeTheConnection) {
  Fixture fixture(Fast());
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  // In one piece: the peer's close is here already when the session closes.
  using std::string_literals::operator""s;
  client.Send("\x81\x85\0\0\0\0quick\x88\x82\0\0\0\0\x03\xe8"s);
  EXPECT_EQ(client.ReadFrame().close_code(), 4001);
  EXPECT_EQ(client.ReadAll(), "");
  EXPECT_TRUE(Eventually([&] { return fixture.test->server->connections() == 0; }));
  EXPECT_EQ(fixture.room->closed, 1);
}

TEST(WebSocket, APeerThatDoesNotCloseIsClosed) {
  Limits limits = Fast();
  limits.close = Seconds(0.2);
  Fixture fixture(limits);
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  client.SendFrame(1, "bye");
  EXPECT_TRUE(Eventually([&] { return fixture.room->closed == 1; }));
}

TEST(WebSocket, AnExceptionEndsTheSessionOnly) {
  Fixture fixture;
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  client.SendFrame(1, "throw");
  const RawClient::Frame close = client.ReadFrame();
  EXPECT_EQ(close.close_code(), 1011);
  EXPECT_EQ(close.payload.find("boom"), std::string::npos);
  RawClient other(fixture.port());
  other.Upgrade("/ws");
  other.SendFrame(1, "alive");
  EXPECT_EQ(other.ReadFrame().payload, "alive");
}

TEST(WebSocket, ASlowReaderIsDropped) {
  MetricRegistry metrics;
  Fixture fixture({}, {}, &metrics);
  RawClient client(fixture.port(), 4096);
  client.Upgrade("/ws");
  client.SendFrame(1, "flood");
  EXPECT_TRUE(Eventually([&] { return fixture.room->closed == 1; }));
  EXPECT_NE(metrics.ToPrometheus().find("reason=\"slow_reader\"} 1"), std::string::npos);
}

TEST(WebSocket, AReaderThatStopsIsDropped) {
  Limits limits = Fast();
  limits.write = Seconds(0.3);
  Fixture fixture(limits);
  RawClient client(fixture.port(), 4096);
  client.Upgrade("/ws");
  client.SendFrame(1, std::string(12'000'000, 'x'));
  EXPECT_TRUE(Eventually([&] { return fixture.room->closed == 1; }));
}

TEST(WebSocket, RequestsWaitForAPeerThatLeavesItsAnswersUnread) {
  Fixture fixture;
  RawClient client(fixture.port(), 4096);
  client.Upgrade("/ws");
  constexpr int kMessages = 300;
  const std::string text(100'000, 'x');
  std::thread sender([&] {
    for (int i = 0; i < kMessages; ++i) client.SendFrame(1, text);
  });
  // The answers that the server holds, and what the kernel's buffers take.
  int seen = -1;
  EXPECT_TRUE(Eventually([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return std::exchange(seen, fixture.room->received.load()) == fixture.room->received;
  }));
  EXPECT_GE(seen, 3);
  EXPECT_LT(seen, kMessages / 2);
  for (int i = 0; i < kMessages; ++i) ASSERT_EQ(client.ReadFrame().payload.size(), text.size());
  sender.join();
  EXPECT_EQ(fixture.room->received, kMessages);
}

TEST(WebSocket, ASenderThatStopsInAMessageIsDropped) {
  Limits limits = Fast();
  limits.body = Seconds(0.2);
  Fixture fixture(limits);
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  client.SendFrame(1, "half of", false);
  EXPECT_TRUE(Eventually([&] { return fixture.room->closed == 1; }));
}

TEST(WebSocket, TheServerPings) {
  Limits limits = Fast();
  limits.ping = Seconds(0.1);
  limits.silence = Seconds(1.0);
  Fixture fixture(limits);
  RawClient answering(fixture.port());
  answering.Upgrade("/ws");
  const TimePoint start = Clock::now();
  while (MillisecondsSince(start) < 2000) {
    const RawClient::Frame frame = answering.ReadFrame();
    ASSERT_EQ(frame.opcode, 9);
    answering.SendFrame(10, frame.payload);
  }
  EXPECT_EQ(fixture.room->closed, 0);
  // Now it falls silent, but its kernel still acknowledges.
  RawClient::Frame last;
  do {
    last = answering.ReadFrame();
  } while (last.opcode == 9);
  EXPECT_EQ(last.close_code(), 1001);
}

TEST(WebSocket, ALostConnectionFreesTheSession) {
  Fixture fixture;
  {
    RawClient client(fixture.port());
    client.Upgrade("/ws");
    client.SendFrame(1, "hello");
    client.ReadFrame();
  }
  EXPECT_TRUE(Eventually([&] { return fixture.room->destroyed == 1; }));
  fixture.room->peers[0]->Send("into the void");
  fixture.room->peers[0]->Close(1000, "");
  fixture.test.reset();
  fixture.room->peers[0]->Send("into the void");
}

TEST(WebSocket, SendsOfManyThreadsKeepEachThreadsOrder) {
  Fixture fixture;
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  EXPECT_TRUE(Eventually([&] { return fixture.room->opened == 1; }));
  const std::shared_ptr<WebSocketPeer> peer = fixture.room->peers[0];
  constexpr int kEach = 200;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([peer, t] {
        for (int i = 0; i < kEach; ++i) peer->Send(fmt::format("{} {}", t, i));
      });
  }
  std::vector<int> next(4, 0);
  for (int i = 0; i < 4 * kEach; ++i) {
    const std::string text = client.ReadFrame().payload;
    ASSERT_GE(text.size(), 3u);
    const auto thread = static_cast<size_t>(text[0] - '0');
    ASSERT_EQ(text.substr(2), fmt::format("{}", next[thread]++));
  }
}

TEST(WebSocket, DrainWaitsForOwedAnswers) {
  Fixture fixture(Fast());
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  client.SendFrame(1, "hi");
  client.ReadFrame();
  fixture.room->busy = true;
  fixture.test->server->BeginDrain();
  EXPECT_EQ(client.ReadFrame(Seconds(0.3)).opcode, -1);
  fixture.room->peers[0]->Send("owed");
  EXPECT_EQ(client.ReadFrame().payload, "owed");
  fixture.room->busy = false;
  EXPECT_EQ(client.ReadFrame().close_code(), 1012);
  client.SendFrame(8, "\x03\xf4");
  EXPECT_TRUE(Eventually([&] { return fixture.test->server->Drained(); }));
}

TEST(WebSocket, StopClosesSessions) {
  Fixture fixture;
  RawClient client(fixture.port());
  client.Upgrade("/ws");
  EXPECT_TRUE(Eventually([&] { return fixture.room->opened == 1; }));
  fixture.test->server->Stop();
  EXPECT_EQ(fixture.room->closed, 1);
  EXPECT_EQ(fixture.room->destroyed, 1);
}

TEST(WebSocket, Handshakes) {
  Fixture fixture;
  const auto status = [&](const std::string& request) {
    RawClient client(fixture.port());
    client.Send(request);
    return StatusOf(client.ReadResponse());
  };
  const std::string fields =
      "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  EXPECT_EQ(status(Get("/ws", fields)), 101);
  EXPECT_EQ(status(Get("/ws/", fields)), 101);
  EXPECT_EQ(status(Get("/nope", fields)), 403);
  EXPECT_EQ(status(Get("/ws")), 404);
  EXPECT_EQ(status(Get("/ws",
                       "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                       "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: x\r\n")),
            426);
  EXPECT_EQ(status(Get("/ws",
                       "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                       "Sec-WebSocket-Version: 13\r\n")),
            400);
  EXPECT_EQ(status(Post("/ws", "x", fields)), 400);
  EXPECT_EQ(status(Get("/ws", fields) + "too early"), 400);
  RawClient none(fixture.port());
  none.Send(Get("/none", fields));
  none.ReadResponse();
  EXPECT_EQ(none.ReadFrame().close_code(), 1011);
}

TEST(WebSocket, KeysInHeadersAndWhereAllowedInTheQuery) {
  Result<std::vector<ApiKey>> keys =
      ParseKeys("a key-of-a-0123456789 submit\nr key-of-r-0123456789 read\n");
  ListenOptions listen;
  listen.keys = std::make_shared<KeyRing>(*std::move(keys));
  {
    Fixture fixture({}, listen);
    EXPECT_EQ(StatusOf(RawClient(fixture.port()).Upgrade("/ws")), 401);
    EXPECT_EQ(
        StatusOf(RawClient(fixture.port()).Upgrade("/ws", "X-API-Key: key-of-r-0123456789\r\n")),
        403);
    EXPECT_EQ(
        StatusOf(RawClient(fixture.port()).Upgrade("/ws", "X-API-Key: key-of-a-0123456789\r\n")),
        101);
    EXPECT_EQ(StatusOf(RawClient(fixture.port()).Upgrade("/ws?token=key-of-a-0123456789")), 401);
  }
  listen.token_query = true;
  Fixture fixture({}, listen);
  EXPECT_EQ(StatusOf(RawClient(fixture.port()).Upgrade("/ws?token=key-of-a-0123456789")), 101);
  EXPECT_EQ(StatusOf(RawClient(fixture.port()).Upgrade("/ws?token=key-of-r-0123456789")), 403);
}

}  // namespace
}  // namespace assay::http
