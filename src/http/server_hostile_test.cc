// What a client does that wants to hold more of the server than its share.
#include <gtest/gtest.h>

#include <fstream>
#include <mutex>

#include "base/temp_folder.h"
#include "http/testing.h"
#include "http/wire.h"

namespace assay::http {
namespace {

constexpr const char* kKey = "X-API-Key: key-of-a-0123456789\r\n";

/// Keeps the replies of /held and the streams of /stream for the test.
struct Kept {
  std::mutex mutex;
  std::vector<Reply> replies;
  std::vector<std::shared_ptr<BodyStream>> streams;
  [[nodiscard]] size_t size() {
    const std::lock_guard lock(mutex);
    return replies.size() + streams.size();
  }
};

Router MakeRouter(const std::shared_ptr<Kept>& kept = std::make_shared<Kept>()) {
  Router router;
  router.Add("GET", "/hello", Scope::kNone,
             [](Request, Reply reply) { reply(Response::Text("hello")); });
  router.Add("GET", "/who", Scope::kRead,
             [](Request request, Reply reply) { reply(Response::Text(request.who.key_name)); });
  const auto size = [](Request request, Reply reply) {
    reply(Response::Text(fmt::format("{}", request.body.size())));
  };
  router.Add("POST", "/size", Scope::kNone, size);
  router.Add("POST", "/small", Scope::kNone, size, 100);
  router.Add("GET", "/held", Scope::kNone, [kept](Request, Reply reply) {
    const std::lock_guard lock(kept->mutex);
    kept->replies.push_back(std::move(reply));
  });
  router.Add("GET", "/stream", Scope::kRead, [kept](Request, Reply reply) {
    Response response;
    response.stream = [kept](std::shared_ptr<BodyStream> stream) {
      const std::lock_guard lock(kept->mutex);
      kept->streams.push_back(std::move(stream));
    };
    reply(std::move(response));
  });
  return router;
}

constexpr const char* kChunked =
    "POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(Hostile, LinesBetweenChunksAreBounded) {
  TestServer test(MakeRouter());
  for (const std::string& endless :
       {kChunked + std::string("2;a=") + std::string(200'000, 'b'),
        kChunked + std::string("0\r\n") + "X-A: " + std::string(200'000, 'c')}) {
    RawClient client(test.port);
    client.Send(endless);
    EXPECT_EQ(StatusOf(client.ReadAll()), 431);
  }
  RawClient client(test.port);
  client.Send(kChunked + std::string("2;name=value\r\nab\r\n0\r\nX-Trailer: of some use\r\n\r\n") +
              Get("/hello"));
  EXPECT_EQ(BodyOf(client.ReadResponse()), "2");
  EXPECT_EQ(BodyOf(client.ReadResponse()), "hello");
}

TEST(Hostile, OnlyChunkedIsDecoded) {
  TestServer test(MakeRouter());
  for (const char* coding :
       {"gzip", "xchunked", "chunked, gzip", "gzip, chunked",
        "chunked\r\nTransfer-Encoding: chunked", "identity\r\nTransfer-Encoding: chunked",
        "gzip\r\nContent-Length: 3"}) {
    RawClient client(test.port);
    client.Send(
        fmt::format("POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {}\r\n\r\n", coding) +
        Get("/hello"));
    const std::string all = client.ReadAll();
    EXPECT_GE(StatusOf(all), 400) << coding;
    EXPECT_EQ(all.find("hello"), std::string::npos) << coding << ": a second request was seen";
  }
  RawClient old(test.port);
  old.Send("POST /size HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(StatusOf(old.ReadAll()), 400);
  RawClient fine(test.port);
  fine.Send("POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(StatusOf(fine.ReadResponse()), 200);
}

TEST(Hostile, WhatIsAnnouncedCostsNothingYet) {
  Limits limits;
  limits.inflight_bytes = 1 << 20;
  TestServer test(MakeRouter(), limits);
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(std::make_unique<RawClient>(test.port));
    idle.back()->Send("POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n");
  }
  RawClient client(test.port);
  client.Send(Post("/size", std::string(900'000, 'x')));
  EXPECT_EQ(BodyOf(client.ReadResponse()), "900000");
}

TEST(Hostile, AKeyHasAShareOfTheBytes) {
  Limits limits;
  limits.inflight_bytes = 1 << 20;
  ListenOptions listen;
  listen.keys = Keys("a key-of-a-0123456789 submit\nb key-of-b-0123456789 submit\n");
  MetricRegistry metrics;
  TestServer test(MakeRouter(), limits, listen, &metrics);
  const auto begin = [&](const std::string& fields, size_t sent) {
    auto client = std::make_unique<RawClient>(test.port);
    client->Send(
        fmt::format("POST /size HTTP/1.1\r\nHost: a\r\n{}Content-Length: 250000\r\n\r\n", fields) +
        std::string(sent, 'x'));
    return client;
  };
  const auto first = begin(kKey, 200'000);
  ASSERT_TRUE(Eventually([&] {
    return metrics.ToPrometheus().find("\nassay_http_inflight_bytes 200000\n") != std::string::npos;
  }));
  EXPECT_EQ(StatusOf(begin(kKey, 250'000)->ReadAll()), 503);
  for (const char* other : {"X-API-Key: key-of-b-0123456789\r\n", ""})
    EXPECT_EQ(BodyOf(begin(other, 250'000)->ReadResponse()), "250000") << other;
  first->Send(std::string(50'000, 'x'));
  EXPECT_EQ(BodyOf(first->ReadResponse()), "250000");
  EXPECT_EQ(BodyOf(begin(kKey, 250'000)->ReadResponse()), "250000") << "given back";
}

TEST(Hostile, BodiesWhereNoneBelongs) {
  TestServer test(MakeRouter());
  RawClient get(test.port);
  get.Send("GET /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde");
  EXPECT_EQ(StatusOf(get.ReadAll()), 400);
  RawClient empty(test.port);
  empty.Send(Get("/hello", "Content-Length: 0\r\n"));
  EXPECT_EQ(BodyOf(empty.ReadResponse()), "hello");
  RawClient small(test.port);
  small.Send(Post("/small", std::string(100, 'x')) + Post("/small", std::string(101, 'x')));
  EXPECT_EQ(BodyOf(small.ReadResponse()), "100");
  EXPECT_EQ(StatusOf(small.ReadAll()), 413);
}

TEST(Hostile, AClientThatHungUpIsNoticedWhileItsHandlerWorks) {
  const auto kept = std::make_shared<Kept>();
  Limits limits;
  limits.half_closed = Seconds(0.5);
  TestServer test(MakeRouter(kept), limits);
  {
    RawClient client(test.port);
    client.Send(Get("/held") + Get("/hello"));  // the second one stays unread
    ASSERT_TRUE(Eventually([&] { return kept->size() == 1; }));
  }
  EXPECT_TRUE(Eventually([&] { return test.server->connections() == 0; }));
  RawClient reads_on(test.port);
  reads_on.Send(Get("/held"));
  ASSERT_TRUE(Eventually([&] { return kept->size() == 2; }));
  reads_on.ShutdownWrite();
  kept->replies[1](Response::Text("in time"));
  EXPECT_EQ(BodyOf(reads_on.ReadResponse()), "in time");
}

TEST(Hostile, AWithdrawnKeyHearsNoMore) {
  const test::TempFolder folder;
  const auto write = [&](const std::string& keys) { std::ofstream(folder.File("keys")) << keys; };
  const std::string other = "b key-of-b-0123456789 read\n";
  write("a key-of-a-0123456789 read\n" + other);
  ListenOptions listen;
  listen.keys = *KeyRing::Load(folder.File("keys"));
  const auto kept = std::make_shared<Kept>();
  TestServer test(MakeRouter(kept), {}, listen);
  RawClient withdrawn(test.port);
  withdrawn.Send(Get("/stream", kKey));
  RawClient stays(test.port);
  stays.Send(Get("/stream", "X-API-Key: key-of-b-0123456789\r\n"));
  ASSERT_TRUE(Eventually([&] { return kept->size() == 2; }));
  write(other);
  ASSERT_TRUE(test.server->Reload().ok());
  EXPECT_EQ(withdrawn.ReadAll().find("timeout"), std::string::npos);
  EXPECT_TRUE(Eventually([&] { return test.server->connections() == 1; }));
  for (const auto& stream : kept->streams) (void)stream->Write("news");
  EXPECT_TRUE(stays.ReadUntil(
      [](const std::string& text) { return text.find("news") != std::string::npos; }));
}

TEST(Hostile, StrangersLeaveRoomForOthers) {
  Limits limits;
  limits.connections = 4;
  ListenOptions listen;
  listen.keys = Keys("a key-of-a-0123456789 read\n");
  TestServer test(MakeRouter(), limits, listen);
  RawClient known(test.port);
  known.Send(Get("/who", kKey));
  EXPECT_EQ(BodyOf(known.ReadResponse()), "a");
  RawClient one(test.port);
  RawClient two(test.port);
  two.Send(Get("/hello"));
  EXPECT_EQ(BodyOf(two.ReadResponse()), "hello");
  EXPECT_EQ(StatusOf(RawClient(test.port).ReadAll()), 503) << "a third one without a key";
  two.Send(Get("/who", kKey));
  EXPECT_EQ(BodyOf(two.ReadResponse()), "a");
  RawClient three(test.port);
  three.Send(Get("/who", kKey));
  EXPECT_EQ(BodyOf(three.ReadResponse()), "a") << "there is room again";
}

TEST(Hostile, ASocketInUseIsNotTaken) {
  const test::TempFolder folder;
  ListenOptions listen;
  listen.unix_path = folder.File("socket");
  TestServer test(MakeRouter(), {}, listen);
  const std::unique_ptr<Server> second = *Server::Start({});
  listen.router = std::make_shared<Router>(MakeRouter());
  const Result<uint16_t> refused = second->Listen(listen);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  test.server.reset();
  EXPECT_TRUE(second->Listen(listen).ok());
}

TEST(Hostile, LoggedPathsHaveNoControlCharacters) {
  const std::string logged = LoggedPath("/a\x1b[31m\n\u009B[2J\"");
  for (const char* bad : {"\x1b", "\n", "\u009B"})
    EXPECT_EQ(logged.find(bad), std::string::npos) << logged;
}

}  // namespace
}  // namespace assay::http
