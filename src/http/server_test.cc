#include "http/server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <mutex>
#include <thread>

#include "http/testing.h"

namespace assay::http {
namespace {

/// Replies that tests give themselves.
struct Held {
  std::mutex mutex;
  std::vector<Reply> replies;
  size_t size() {
    const std::lock_guard lock(mutex);
    return replies.size();
  }
};

Router MakeRouter(const std::shared_ptr<Held>& held = std::make_shared<Held>()) {
  Router router;
  router.Add("GET", "/hello", Scope::kNone, [](Request request, Reply reply) {
    reply(Response::Text(fmt::format("hello {}", request.Query("name").value_or("you"))));
  });
  router.Add("POST", "/echo", Scope::kNone,
             [](Request request, Reply reply) { reply(Response::Text(request.body)); });
  router.Add("GET", "/later", Scope::kNone, [](Request, Reply reply) {
    std::thread([reply] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      reply(Response::Text("later"));
    }).detach();
  });
  router.Add("GET", "/held", Scope::kNone, [held](Request, Reply reply) {
    const std::lock_guard lock(held->mutex);
    held->replies.push_back(std::move(reply));
  });
  router.Add("GET", "/dropped", Scope::kNone, [](Request, const Reply&) {});
  router.Add("GET", "/twice", Scope::kNone, [](Request, Reply reply) {
    reply(Response::Text("one"));
    reply(Response::Text("two"));
  });
  router.Add("GET", "/throws", Scope::kNone,
             [](Request, const Reply&) { throw std::runtime_error("a secret detail"); });
  router.Add("GET", "/whoami", Scope::kNone, [](Request request, Reply reply) {
    reply(Response::Text(request.id + " " + request.who.key_name));
  });
  router.Add("GET", "/split", Scope::kNone, [](Request, Reply reply) {
    Response response = Response::Text("x");
    response.headers.Add("X-Bad", "a\r\nX-Injected: b");
    reply(std::move(response));
  });
  router.Add("GET", "/stream", Scope::kNone, [](Request request, Reply reply) {
    Response response;
    response.content_type = "application/x-ndjson";
    const bool abandon = request.Query("abandon").has_value();
    response.stream = [abandon](std::shared_ptr<BodyStream> stream) {
      std::thread([stream = std::move(stream), abandon]() mutable {
        for (int i = 0; i < 3; ++i) {
          EXPECT_TRUE(stream->Write(fmt::format("piece {}\n", i)));
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        if (!abandon) stream->End();
        stream.reset();
      }).detach();
    };
    reply(std::move(response));
  });
  return router;
}

TEST(Server, KeepsConnectionsAlive) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  for (int i = 0; i < 3; ++i) {
    client.Send(Get("/hello?name=a%20b"));
    const std::string response = client.ReadResponse();
    EXPECT_EQ(StatusOf(response), 200);
    EXPECT_EQ(BodyOf(response), "hello a b");
    EXPECT_NE(response.find("Date: "), std::string::npos);
  }
  client.Send(Get("/hello", "Connection: close\r\n"));
  EXPECT_NE(client.ReadAll().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(Eventually([&] { return test.server->connections() == 0; }));
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send(Get("/later") + Get("/hello") + Post("/echo", "abc") + Get("/nope") + Get("/later"));
  EXPECT_EQ(BodyOf(client.ReadResponse()), "later");
  EXPECT_EQ(BodyOf(client.ReadResponse()), "hello you");
  EXPECT_EQ(BodyOf(client.ReadResponse()), "abc");
  EXPECT_EQ(StatusOf(client.ReadResponse()), 404);
  EXPECT_EQ(BodyOf(client.ReadResponse()), "later");
}

TEST(Server, BodiesInAllForms) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send(Post("/echo", std::string(300'000, 'x')));
  EXPECT_EQ(BodyOf(client.ReadResponse()).size(), 300'000u);
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
  EXPECT_EQ(BodyOf(client.ReadResponse()), "abcdefg");
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.ReadResponse(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_EQ(BodyOf(client.ReadResponse()), "ok");
  client.Send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: a-pony\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(StatusOf(client.ReadResponse()), 417);
}

TEST(Server, OldClients) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_NE(client.ReadAll().find("hello you"), std::string::npos);
  RawClient streaming(test.port);
  streaming.Send("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_EQ(BodyOf(streaming.ReadAll()), "piece 0\npiece 1\npiece 2\n");
}

TEST(Server, HeadHasNoBody) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_NE(client.ReadResponse(true).find("Content-Length: 9"), std::string::npos);
  client.Send(Get("/hello"));
  EXPECT_EQ(BodyOf(client.ReadResponse()), "hello you");
}

TEST(Server, StreamsAreChunked) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send(Get("/stream") + Get("/hello"));
  client.ReadUntil([](const std::string& text) { return text.ends_with("hello you"); });
  EXPECT_NE(client.buffer().find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_NE(client.buffer().find("8\r\npiece 0\n\r\n"), std::string::npos);
  EXPECT_NE(client.buffer().find("0\r\n\r\nHTTP/1.1 200"), std::string::npos);
}

TEST(Server, AnAbandonedStreamDoesNotLookComplete) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send(Get("/stream?abandon"));
  const std::string all = client.ReadAll();
  EXPECT_NE(all.find("piece 2"), std::string::npos);
  EXPECT_EQ(all.find("0\r\n\r\n"), std::string::npos);
}

TEST(Server, HandlersThatMisbehave) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send(Get("/dropped"));
  EXPECT_EQ(StatusOf(client.ReadResponse()), 500);
  client.Send(Get("/throws"));
  const std::string failed = client.ReadResponse();
  EXPECT_EQ(StatusOf(failed), 500);
  EXPECT_EQ(failed.find("secret"), std::string::npos);
  client.Send(Get("/twice") + Get("/hello"));
  EXPECT_EQ(BodyOf(client.ReadResponse()), "one");
  EXPECT_EQ(BodyOf(client.ReadResponse()), "hello you");
  client.Send(Get("/split"));
  EXPECT_EQ(client.ReadResponse().find("X-Injected"), std::string::npos);
}

TEST(Server, RequestIds) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send(Get("/whoami", "X-Request-ID: abc-1.2\r\n"));
  const std::string kept = client.ReadResponse();
  EXPECT_EQ(BodyOf(kept), "abc-1.2 local");
  EXPECT_NE(kept.find("X-Request-ID: abc-1.2"), std::string::npos);
  client.Send(Get("/whoami", "X-Request-ID: not sane {}\r\n"));
  EXPECT_EQ(BodyOf(client.ReadResponse()).find("sane"), std::string::npos);
}

TEST(Server, ALateReplyAfterTheClientOrTheServerHasGone) {
  const auto held = std::make_shared<Held>();
  auto test = std::make_unique<TestServer>(MakeRouter(held));
  {
    RawClient client(test->port);
    client.Send(Get("/held"));
    EXPECT_TRUE(Eventually([&] { return held->size() == 1; }));
    linger hard{1, 0};  // closes with a reset
    ::setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  }
  EXPECT_TRUE(Eventually([&] { return test->server->connections() == 0; }));
  held->replies[0](Response::Text("too late"));
  RawClient client(test->port);
  client.Send(Get("/held"));
  EXPECT_TRUE(Eventually([&] { return held->size() == 2; }));
  test.reset();
  held->replies[1](Response::Text("far too late"));
}

TEST(Server, TimersFireOnceAndCanBeCancelled) {
  TestServer test(MakeRouter());
  std::atomic<int> fired{0};
  std::atomic<int> cancelled{0};
  const auto kept = test.server->timers().After(Seconds(0.01), [&] { ++fired; });
  auto dropped = test.server->timers().After(Seconds(0.05), [&] { ++cancelled; });
  dropped.reset();
  EXPECT_TRUE(Eventually([&] { return fired == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(80));
  EXPECT_EQ(fired, 1);
  EXPECT_EQ(cancelled, 0);
}

TEST(Server, DrainFinishesWhatHasBegun) {
  const auto held = std::make_shared<Held>();
  TestServer test(MakeRouter(held));
  RawClient idle(test.port);
  idle.Send(Get("/hello"));
  idle.ReadResponse();
  RawClient busy(test.port);
  busy.Send(Get("/held"));
  ASSERT_TRUE(Eventually([&] { return held->size() == 1; }));
  test.server->BeginDrain();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_FALSE(test.server->Drained());
  held->replies[0](Response::Text("finished"));
  const std::string last = busy.ReadAll();
  EXPECT_EQ(BodyOf(last), "finished");
  EXPECT_NE(last.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(Eventually([&] { return test.server->Drained(); }));
}

TEST(Server, StopEndsWhatDoesNotEnd) {
  const auto held = std::make_shared<Held>();
  TestServer test(MakeRouter(held));
  RawClient busy(test.port);
  busy.Send(Get("/held"));
  ASSERT_TRUE(Eventually([&] { return held->size() == 1; }));
  test.server->Stop();
  EXPECT_EQ(busy.ReadAll(), "");
  EXPECT_EQ(test.server->connections(), 0u);
}

TEST(Server, ListenErrorsSayWhatToDo) {
  TestServer test(MakeRouter());
  ListenOptions options;
  options.router = std::make_shared<Router>();
  options.port = test.port;
  const Result<uint16_t> used = test.server->Listen(options);
  ASSERT_FALSE(used.ok());
  EXPECT_NE(used.error().message.find("--port"), std::string::npos);
  options.host = "not a host";
  EXPECT_FALSE(test.server->Listen(options).ok());
  options.host = "127.0.0.1";
  options.port = 0;
  options.tls_certificate = "/nonexistent.pem";
  EXPECT_FALSE(test.server->Listen(options).ok());
  options.tls_key = "/nonexistent.pem";
  EXPECT_FALSE(test.server->Listen(options).ok());
}

}  // namespace
}  // namespace assay::http
