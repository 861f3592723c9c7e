#include "http/router.h"

#include <gtest/gtest.h>

namespace assay::http {
namespace {

/// Answers with its name and what was captured.
Handler Named(const std::string& name) {
  return [name](Request request, Reply reply) {
    std::string text = name;
    for (const auto& [key, value] : request.captured) text += fmt::format(" {}={}", key, value);
    reply(Response::Text(text));
  };
}

Response Ask(const Router& router, std::string method, std::string path,
             Scope scope = Scope::kAdmin) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.id = "r-1";
  request.who.scope = scope;
  request.who.key_name = scope == Scope::kNone ? "" : "someone";
  Response answer;
  int calls = 0;
  router.Dispatch(std::move(request), [&](Response response) {
    answer = std::move(response);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
  return answer;
}

TEST(Router, LiteralsGoBeforeCaptures) {
  Router router;
  router.Add("GET", "/v1/jobs/{id}", Scope::kRead, Named("one"));
  router.Add("GET", "/v1/jobs/recent", Scope::kRead, Named("recent"));
  router.Add("DELETE", "/v1/jobs/{name}", Scope::kSubmit, Named("delete"));
  router.Add("GET", "/v1/jobs/{id}/log", Scope::kRead, Named("log"));
  router.Add("GET", "/files/{path...}", Scope::kNone, Named("file"));
  router.Add("GET", "/", Scope::kNone, Named("root"));
  EXPECT_EQ(Ask(router, "GET", "/v1/jobs/7").body, "one id=7");
  EXPECT_EQ(Ask(router, "GET", "/v1/jobs/recent").body, "recent");
  EXPECT_EQ(Ask(router, "DELETE", "/v1/jobs/recent").body, "delete name=recent");
  EXPECT_EQ(Ask(router, "GET", "/v1/jobs/recent/log").body, "log id=recent");
  EXPECT_EQ(Ask(router, "GET", "/files/a/b/c.js").body, "file path=a/b/c.js");
  EXPECT_EQ(Ask(router, "GET", "/").body, "root");
}

TEST(Router, ATrailingSlashDoesNotMatter) {
  Router router;
  router.Add("GET", "/a/{x}/", Scope::kNone, Named("a"));
  EXPECT_EQ(Ask(router, "GET", "/a/1").body, "a x=1");
  EXPECT_EQ(Ask(router, "GET", "/a/1/").body, "a x=1");
  EXPECT_EQ(Ask(router, "GET", "/a/1//").status, 404);
}

TEST(Router, CapturesAreNeverEmpty) {
  Router router;
  router.Add("GET", "/a/{x}/b", Scope::kNone, Named("a"));
  router.Add("GET", "/f/{x...}", Scope::kNone, Named("f"));
  EXPECT_EQ(Ask(router, "GET", "/a//b").status, 404);
  EXPECT_EQ(Ask(router, "GET", "/f").status, 404);
  EXPECT_EQ(Ask(router, "GET", "/f/").status, 404);
}

TEST(Router, UnknownPathsAndMethods) {
  Router router;
  router.Add("POST", "/a", Scope::kNone, Named("post"));
  router.Add("GET", "/a", Scope::kNone, Named("get"));
  EXPECT_EQ(Ask(router, "GET", "/nope").status, 404);
  const Response wrong = Ask(router, "PUT", "/a");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.Find("allow"), "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(Ask(router, "HEAD", "/a").body, "get");
  const Response options = Ask(router, "OPTIONS", "/a");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers.Find("Allow"), "GET, HEAD, OPTIONS, POST");
  EXPECT_EQ(Ask(router, "OPTIONS", "/nope").status, 404);
}

TEST(Router, ScopesIncludeTheLesserOnes) {
  Router router;
  router.Add("POST", "/submit", Scope::kSubmit, Named("ok"));
  const Response anonymous = Ask(router, "POST", "/submit", Scope::kNone);
  EXPECT_EQ(anonymous.status, 401);
  EXPECT_TRUE(anonymous.headers.Find("WWW-Authenticate").has_value());
  EXPECT_NE(anonymous.body.find("assay keys new"), std::string::npos);
  const Response reader = Ask(router, "POST", "/submit", Scope::kRead);
  EXPECT_EQ(reader.status, 403);
  EXPECT_NE(reader.body.find("'submit'"), std::string::npos);
  EXPECT_EQ(Ask(router, "POST", "/submit", Scope::kSubmit).status, 200);
  EXPECT_EQ(Ask(router, "POST", "/submit", Scope::kAdmin).status, 200);
}

TEST(Router, AWorkersScopeIsBesideTheClients) {
  Router router;
  router.Add("GET", "/open", Scope::kNone, Named("ok"));
  router.Add("GET", "/read", Scope::kRead, Named("ok"));
  router.Add("POST", "/submit", Scope::kSubmit, Named("ok"));
  router.Add("POST", "/judge", Scope::kWorker, Named("ok"));
  router.Add("POST", "/admin", Scope::kAdmin, Named("ok"));
  EXPECT_EQ(Ask(router, "POST", "/judge", Scope::kWorker).status, 200);
  EXPECT_EQ(Ask(router, "POST", "/judge", Scope::kAdmin).status, 200);
  EXPECT_EQ(Ask(router, "POST", "/judge", Scope::kSubmit).status, 403);
  EXPECT_EQ(Ask(router, "POST", "/judge", Scope::kNone).status, 401);
  EXPECT_EQ(Ask(router, "GET", "/open", Scope::kWorker).status, 200);
  EXPECT_EQ(Ask(router, "GET", "/read", Scope::kWorker).status, 403);
  EXPECT_EQ(Ask(router, "POST", "/submit", Scope::kWorker).status, 403);
  EXPECT_EQ(Ask(router, "POST", "/admin", Scope::kWorker).status, 403);
}

TEST(Router, WrongKeysAreToldToWait) {
  size_t body_bytes = 1000;
  Router router;
  router.Add("GET", "/a", Scope::kRead, Named("a"));
  router.Add("GET", "/open", Scope::kNone, Named("open"));
  Request request;
  request.method = "GET";
  request.path = "/a";
  request.who.retry_after_s = 5.2;
  request.who.problem = "too many";
  const std::optional<Response> refusal = router.Refused(request, &body_bytes);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status, 429);
  EXPECT_EQ(refusal->headers.Find("Retry-After"), "6");
  request.path = "/open";
  EXPECT_FALSE(router.Refused(request, &body_bytes).has_value());
}

TEST(Router, RefusalsHaveTheShapeOfTheLongestPrefix) {
  Router router;
  router.SetRefusal("/", [](const Request&, int status, std::string_view message) {
    return Response::Text(fmt::format("outer {}", message), status);
  });
  router.SetRefusal("/v1/", [](const Request&, int status, std::string_view message) {
    return Response::Text(fmt::format("inner {}", message), status);
  });
  EXPECT_EQ(Ask(router, "GET", "/x").body, "outer Not Found");
  EXPECT_EQ(Ask(router, "GET", "/v1/x").body, "inner Not Found");
}

TEST(Router, TheFirstOfTwoEqualRoutesStays) {
  Router router;
  router.Add("GET", "/health", Scope::kNone, Named("first"));
  router.Add("GET", "/health/", Scope::kNone, Named("second"));
  EXPECT_EQ(Ask(router, "GET", "/health").body, "first");
}

TEST(Router, WebSocketsAreRoutesOfTheirOwn) {
  Router router;
  router.AddWebSocket("/ws/{room}", Scope::kSubmit,
                      [](Request, const std::shared_ptr<WebSocketPeer>&) { return nullptr; });
  Request request;
  request.method = "GET";
  request.path = "/ws/7";
  Response refusal;
  EXPECT_EQ(router.FindWebSocket(&request, &refusal), nullptr);
  EXPECT_EQ(refusal.status, 401);
  request.who.scope = Scope::kSubmit;
  EXPECT_NE(router.FindWebSocket(&request, &refusal), nullptr);
  EXPECT_EQ(request.Captured("room"), "7");
  request.path = "/nope";
  EXPECT_EQ(router.FindWebSocket(&request, &refusal), nullptr);
  EXPECT_EQ(refusal.status, 403);
  EXPECT_EQ(Ask(router, "GET", "/ws/7").status, 404);  // a plain GET
}

TEST(Router, ProblemsCarryTheRequestId) {
  const Router router;
  const Result<json::object> body = ParseJsonObject(Ask(router, "GET", "/nope").body);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(GetString(GetObject(*body, "error"), "request_id"), "r-1");
  EXPECT_EQ(GetString(GetObject(*body, "error"), "code"), "not_found");
}

}  // namespace
}  // namespace assay::http
