#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "http/testing.h"

namespace assay::http {
namespace {

Router MakeRouter() {
  Router router;
  router.Add("GET", "/hello", Scope::kNone,
             [](Request, Reply reply) { reply(Response::Text("hello")); });
  router.Add("GET", "/who", Scope::kRead,
             [](Request request, Reply reply) { reply(Response::Text(request.who.key_name)); });
  router.Add("POST", "/echo", Scope::kNone,
             [](Request request, Reply reply) { reply(Response::Text(request.body)); });
  router.Add("POST", "/submit", Scope::kSubmit,
             [](Request request, Reply reply) { reply(Response::Text(request.body)); });
  router.Add("GET", "/large", Scope::kNone,
             [](Request, Reply reply) { reply(Response::Text(std::string(64u << 20, 'x'))); });
  router.Add("GET", "/flood", Scope::kNone, [](Request, Reply reply) {
    Response response;
    response.stream = [](std::shared_ptr<BodyStream> stream) {
      std::thread([stream = std::move(stream)] {
        while (stream->Write(std::string(1u << 16, 'x'))) {
        }
      }).detach();
    };
    reply(std::move(response));
  });
  return router;
}

double CounterValue(const MetricRegistry& registry, const std::string& series) {
  const std::string text = registry.ToPrometheus();
  const size_t at = text.find("\n" + series + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + series.size() + 2));
}

TEST(Limits, HeadsThatAreTooLarge) {
  TestServer test(MakeRouter());
  RawClient client(test.port);
  client.Send(Get("/hello", "X-Large: " + std::string(20'000, 'x') + "\r\n"));
  const std::string response = client.ReadAll();
  EXPECT_EQ(StatusOf(response), 431);
  EXPECT_NE(response.find("16384"), std::string::npos);
}

TEST(Limits, BodiesThatAreTooLarge) {
  Limits limits;
  limits.body_bytes = 1000;
  TestServer test(MakeRouter(), limits);
  RawClient declared(test.port);
  // The body follows at once, as from most clients; the answer must survive that.
  declared.Send(Post("/echo", std::string(500'000, 'x')));
  EXPECT_EQ(StatusOf(declared.ReadAll()), 413);
  RawClient chunked(test.port);
  chunked.Send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" +
               std::string(0x400, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(StatusOf(chunked.ReadAll()), 413);
  RawClient polite(test.port);
  polite.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(StatusOf(polite.ReadAll()), 413);
  RawClient fits(test.port);
  fits.Send(Post("/echo", std::string(1000, 'x')));
  EXPECT_EQ(StatusOf(fits.ReadResponse()), 200);
}

TEST(Limits, WhatIsNotHttp) {
  TestServer test(MakeRouter());
  for (const std::string& bad :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9.9\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\nbad line\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\n\r\n"),                        // no Host
        std::string("GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),  // two
        std::string("GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET /../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
        std::string(
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        std::string(
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
        std::string("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: "
                    "chunked\r\n\r\n0\r\n\r\n"),
        std::string(
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    RawClient client(test.port);
    client.Send(bad);
    const std::string response = client.ReadAll();
    EXPECT_EQ(StatusOf(response), 400) << bad << "\n" << response;
    EXPECT_NE(response.find("Connection: close"), std::string::npos) << bad;
  }
}

TEST(Limits, SlowHeadsAndBodies) {
  Limits limits;
  limits.head = Seconds(0.2);
  limits.body = Seconds(0.2);
  limits.tick = Seconds(0.02);
  TestServer test(MakeRouter(), limits);
  RawClient silent(test.port);
  EXPECT_EQ(silent.ReadAll(), "");
  RawClient head(test.port);
  head.Send("GET /hello HT");
  EXPECT_EQ(StatusOf(head.ReadAll()), 408);
  RawClient body(test.port);
  body.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(StatusOf(body.ReadAll()), 408);
}

TEST(Limits, IdleConnectionsEnd) {
  Limits limits;
  limits.idle = Seconds(0.1);
  limits.tick = Seconds(0.02);
  TestServer test(MakeRouter(), limits);
  RawClient client(test.port);
  client.Send(Get("/hello"));
  EXPECT_EQ(StatusOf(client.ReadResponse()), 200);
  EXPECT_EQ(client.ReadAll(), "");
}

TEST(Limits, SlowReadersAreDropped) {
  Limits limits;
  limits.write = Seconds(0.3);
  limits.tick = Seconds(0.02);
  MetricRegistry metrics;
  TestServer test(MakeRouter(), limits, {}, &metrics);
  RawClient client(test.port, 4096);
  client.Send(Get("/large"));
  EXPECT_TRUE(Eventually([&] { return test.server->connections() == 1; }));
  EXPECT_TRUE(Eventually([&] { return test.server->connections() == 0; }));
  EXPECT_EQ(CounterValue(metrics, "assay_http_dropped_total{reason=\"slow_reader\"}"), 1);
}

TEST(Limits, StreamsToSlowReadersAreDropped) {
  Limits limits;
  limits.stream_queue_bytes = 1u << 20;
  MetricRegistry metrics;
  TestServer test(MakeRouter(), limits, {}, &metrics);
  RawClient client(test.port, 4096);
  client.Send(Get("/flood"));
  EXPECT_TRUE(Eventually([&] {
                return CounterValue(metrics, "assay_http_dropped_total{reason=\"slow_reader\"}") ==
                       1;
              }) ||
              test.server->connections() == 1);
}

TEST(Limits, TooManyConnections) {
  Limits limits;
  limits.connections = 2;
  TestServer test(MakeRouter(), limits);
  RawClient one(test.port);
  one.Send(Get("/hello"));
  EXPECT_EQ(StatusOf(one.ReadResponse()), 200);
  RawClient two(test.port);
  two.Send(Get("/hello"));
  EXPECT_EQ(StatusOf(two.ReadResponse()), 200);
  {
    RawClient three(test.port);
    const std::string refused = three.ReadAll();
    EXPECT_EQ(StatusOf(refused), 503);
    EXPECT_NE(refused.find("Retry-After"), std::string::npos);
    EXPECT_EQ(BodyOf(refused).size(), 42u);
  }
  one.ShutdownWrite();
  EXPECT_TRUE(Eventually([&] { return test.server->connections() == 1; }));
  RawClient four(test.port);
  four.Send(Get("/hello"));
  EXPECT_EQ(StatusOf(four.ReadResponse()), 200);
}

TEST(Limits, LargeBodiesTogether) {
  Limits limits;
  limits.inflight_bytes = 200'000;
  MetricRegistry metrics;
  TestServer test(MakeRouter(), limits, {}, &metrics);
  RawClient first(test.port);
  first.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 150000\r\n\r\n");
  EXPECT_EQ(first.ReadResponse(), "HTTP/1.1 100 Continue\r\n\r\n");
  first.Send(std::string(140'000, 'y'));
  ASSERT_TRUE(
      Eventually([&] { return CounterValue(metrics, "assay_http_inflight_bytes") >= 140'000; }));
  RawClient second(test.port);
  second.Send(Post("/echo", std::string(150'000, 'x')));
  const std::string refused = second.ReadAll();
  EXPECT_EQ(StatusOf(refused), 503);
  EXPECT_NE(refused.find("Retry-After"), std::string::npos);
  EXPECT_EQ(CounterValue(metrics, "assay_http_throttled_total{reason=\"memory\"}"), 1);
  first.Send(std::string(10'000, 'y'));
  EXPECT_EQ(BodyOf(first.ReadResponse()).size(), 150'000u);
  RawClient third(test.port);
  third.Send(Post("/echo", std::string(150'000, 'x')));
  EXPECT_EQ(StatusOf(third.ReadResponse()), 200);
}

TEST(Limits, KeysAndScopes) {
  ListenOptions listen;
  listen.keys = Keys("reader reader-key-0123456789 read\nwriter writer-key-0123456789 submit\n");
  TestServer test(MakeRouter(), {}, listen);
  RawClient client(test.port);
  client.Send(Get("/hello"));
  EXPECT_EQ(StatusOf(client.ReadResponse()), 200);
  client.Send(Get("/who"));
  EXPECT_EQ(StatusOf(client.ReadResponse()), 401);
  client.Send(Get("/who", "Authorization: Bearer reader-key-0123456789\r\n"));
  EXPECT_EQ(BodyOf(client.ReadResponse()), "reader");
  client.Send(Post("/submit", "x", "X-API-Key: writer-key-0123456789\r\n"));
  EXPECT_EQ(BodyOf(client.ReadResponse()), "x");
  // Refused before its body is read.
  client.Send(
      "POST /submit HTTP/1.1\r\nHost: a\r\nX-API-Key: reader-key-0123456789\r\n"
      "Content-Length: 1000000\r\n\r\n");
  EXPECT_EQ(StatusOf(client.ReadAll()), 403);
  RawClient token(test.port);
  token.Send(Get("/who?token=reader-key-0123456789"));
  EXPECT_EQ(StatusOf(token.ReadResponse()), 401);
}

TEST(Limits, QuotasOfAKey) {
  ListenOptions listen;
  listen.keys =
      Keys("a key-of-a-0123456789 read rps=1 connections=1\nb key-of-b-0123456789 read\n");
  MetricRegistry metrics;
  TestServer test(MakeRouter(), {}, listen, &metrics);
  const std::string a = "X-API-Key: key-of-a-0123456789\r\n";
  RawClient one(test.port);
  one.Send(Get("/who", a) + Get("/who", a) + Get("/who", a));
  EXPECT_EQ(StatusOf(one.ReadResponse()), 200);
  EXPECT_EQ(StatusOf(one.ReadResponse()), 200);
  const std::string fast = one.ReadResponse();
  EXPECT_EQ(StatusOf(fast), 429);
  EXPECT_NE(fast.find("Retry-After: 1"), std::string::npos);
  {
    RawClient two(test.port);
    two.Send(Get("/who", a));
    const std::string many = two.ReadAll();
    EXPECT_EQ(StatusOf(many), 429);
    EXPECT_NE(many.find("connections"), std::string::npos);
    RawClient other(test.port);
    other.Send(Get("/who", "X-API-Key: key-of-b-0123456789\r\n"));
    EXPECT_EQ(StatusOf(other.ReadResponse()), 200);
  }
  for (const char* reason : {"requests", "connections"})
    EXPECT_EQ(
        CounterValue(metrics, fmt::format("assay_http_throttled_total{{reason=\"{}\"}}", reason)),
        1);
}

TEST(Limits, WebPagesOfOthers) {
  ListenOptions listen;
  listen.hosts = {"localhost"};
  listen.origins = {"https://good.example"};
  TestServer test(MakeRouter(), {}, listen);
  const auto status = [&](const std::string& request) {
    RawClient client(test.port);
    client.Send(request);
    return StatusOf(client.ReadResponse());
  };
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: evil.example:8000\r\n\r\n"), 421);
  for (const char* name :
       {"127.evil.example", "1.2.3", "[evil]", "0x7f.1", "[::1].evil.example", "::1"})
    EXPECT_EQ(status(fmt::format("GET /hello HTTP/1.1\r\nHost: {}:8000\r\n\r\n", name)), 421)
        << name;
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: LOCALHOST:8000\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: 10.1.2.3\r\n\r\n"), 200) << "nobody chose it";
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: [::1]:8000\r\n\r\n"), 200);
  EXPECT_EQ(status(Post("/echo", "x", "Origin: https://evil.example\r\n")), 403);
  EXPECT_EQ(status(Post("/echo", "x", "Origin: null\r\n")), 403);
  EXPECT_EQ(status(Post("/echo", "x", "Origin: http://localhost\r\n")), 200);
  EXPECT_EQ(status(Post("/echo", "x", "Origin: https://good.example\r\n")), 200);
  RawClient client(test.port);
  client.Send(
      "OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: https://good.example\r\n"
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: "
      "content-type\r\n\r\n");
  const std::string preflight = client.ReadResponse(true);
  EXPECT_EQ(StatusOf(preflight), 204);
  EXPECT_NE(preflight.find("Access-Control-Allow-Methods: POST"), std::string::npos);
  EXPECT_NE(preflight.find("Access-Control-Allow-Origin: https://good.example"), std::string::npos);
  RawClient evil(test.port);
  evil.Send(
      "OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n"
      "Access-Control-Request-Method: POST\r\n\r\n");
  EXPECT_EQ(evil.ReadResponse(true).find("Access-Control"), std::string::npos);
  RawClient socket(test.port);
  EXPECT_EQ(StatusOf(socket.Upgrade("/ws", "Origin: https://evil.example\r\n")), 403);
}

TEST(Limits, ManyConnectionsAtOnce) {
  MetricRegistry metrics;
  TestServer test(MakeRouter(), {}, {}, &metrics);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 32; ++i) clients.push_back(std::make_unique<RawClient>(test.port));
  for (int round = 0; round < 10; ++round) {
    for (const auto& client : clients) client->Send(Post("/echo", fmt::format("{}", round)));
    for (const auto& client : clients)
      EXPECT_EQ(BodyOf(client->ReadResponse()), fmt::format("{}", round));
  }
  // Counted once the answer has been written, which the client may see first.
  EXPECT_TRUE(Eventually([&] {
    return CounterValue(metrics, "assay_http_requests_total{method=\"POST\",status=\"200\"}") ==
           320;
  }));
  EXPECT_EQ(CounterValue(metrics, "assay_http_connections"), 32);
}

}  // namespace
}  // namespace assay::http
