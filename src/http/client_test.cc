#include "http/client.h"

#include <gtest/gtest.h>

#include "base/temp_folder.h"
#include "http/testing.h"

namespace assay::http {
namespace {

Router Echo() {
  Router router;
  router.Add("POST", "/echo", Scope::kNone, [](const Request& request, const Reply& reply) {
    const auto key = request.headers.Find("Authorization").value_or("");
    reply(Response::Text(std::string(key) + "|" + request.body));
  });
  router.Add("POST", "/refused", Scope::kNone, [](const Request& request, const Reply& reply) {
    reply(Response::Problem(request, 410, "over", "it is over"));
  });
  router.Add("POST", "/empty", Scope::kNone,
             [](const Request&, const Reply& reply) { reply(Response::Text("", 204, "")); });
  router.Add("POST", "/silent", Scope::kNone,
             [kept = std::make_shared<std::vector<Reply>>()](const Request&, Reply reply) {
               kept->push_back(std::move(reply));
             });
  router.Add("POST", "/stream", Scope::kNone, [](const Request&, const Reply& reply) {
    Response response = Response::Text("");
    response.stream = [](const std::shared_ptr<BodyStream>& body) {
      body->Write("one");
      body->Write("two");
      body->End();
    };
    reply(std::move(response));
  });
  return router;
}

ServerAddress At(uint16_t port) {
  return *ParseServerUrl(fmt::format("http://127.0.0.1:{}", port));
}

TEST(ServerUrl, IsReadOrRefused) {
  const ServerAddress plain = *ParseServerUrl("http://host:8000/");
  EXPECT_EQ(plain.host + "|" + plain.port + "|" + plain.prefix, "host|8000|");
  const ServerAddress tls = *ParseServerUrl("https://[::1]/assay/");
  EXPECT_TRUE(tls.tls);
  EXPECT_EQ(tls.host + "|" + tls.port + "|" + tls.prefix, "[::1]|443|/assay");
  EXPECT_EQ((*ParseServerUrl("unix:/run/assay.sock")).unix_path, "/run/assay.sock");
  for (const char* wrong : {"host:8000", "ftp://host", "http://", "http://:80", "unix:",
                            "http://me:key@host", "http://h ost", "http://host:8000/?a=1"}) {
    const Result<ServerAddress> address = ParseServerUrl(wrong);
    ASSERT_FALSE(address.ok()) << wrong;
    EXPECT_EQ(address.error().code, ErrorCode::kInvalid);
  }
}

TEST(Client, AsksOverOneConnection) {
  TestServer server(Echo());
  Client client(At(server.port), "a-secret-key-of-mine");
  for (int i = 0; i < 3; ++i) {
    const std::string body(i == 1 ? 3'000'000 : 10, 'x');
    const Result<Client::Answer> answer = client.Post("/echo", body, Seconds(10));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ((*answer).status, 200);
    EXPECT_EQ((*answer).body, "Bearer a-secret-key-of-mine|" + body);
  }
  EXPECT_EQ(server.server->connections(), 1u);
  EXPECT_EQ((*client.Post("/refused", "{}", Seconds(10))).status, 410);
  EXPECT_EQ((*client.Post("/empty", "{}", Seconds(10))).status, 204);
  EXPECT_EQ((*client.Post("/stream", "{}", Seconds(10))).body, "onetwo");
}

TEST(Client, FindsTheWordsOfARefusal) {
  TestServer server(Echo());
  Client client(At(server.port), "");
  EXPECT_EQ((*client.Post("/refused", "{}", Seconds(10))).Words(), "it is over");
  EXPECT_EQ((Client::Answer{404, R"({"detail": "no such path"})"}).Words(), "no such path");
  EXPECT_EQ((Client::Answer{502, "bad \x1b[31mgateway"}).Words(), "bad gateway");
}

TEST(Client, SaysThatNobodyAnswers) {
  uint16_t port = 0;
  {
    TestServer server(Echo());
    port = server.port;
  }
  Client client(At(port), "");
  const Result<Client::Answer> nobody = client.Post("/echo", "", Seconds(5));
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code, ErrorCode::kUnavailable);
  TestServer server(Echo());
  Client waits(At(server.port), "");
  const Result<Client::Answer> late = waits.Post("/silent", "", Seconds(0.2));
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);
  EXPECT_TRUE(waits.Post("/echo", "", Seconds(10)).ok());
}

TEST(Client, ConnectsAgainWhereTheServerHasClosed) {
  Limits limits;
  limits.idle = Seconds(0.1);
  limits.tick = Seconds(0.02);
  TestServer server(Echo(), limits);
  Client client(At(server.port), "");
  ASSERT_TRUE(client.Post("/echo", "1", Seconds(10)).ok());
  ASSERT_TRUE(Eventually([&] { return server.server->connections() == 0; }));
  EXPECT_EQ((*client.Post("/echo", "2", Seconds(10))).body, "|2");
}

TEST(Client, SpeaksOverAUnixSocket) {
  const test::TempFolder folder;
  ListenOptions listen;
  listen.unix_path = folder.path() / "s.sock";
  TestServer server(Echo(), {}, listen);
  Client client(*ParseServerUrl("unix:" + listen.unix_path), "");
  EXPECT_EQ((*client.Post("/echo", "x", Seconds(10))).body, "|x");
}

}  // namespace
}  // namespace assay::http
