#include "http/auth.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temp_folder.h"

namespace assay::http {
namespace {

constexpr const char* kGood = "good-key-0123456789";
constexpr const char* kOther = "other-key-0123456789";

std::unique_ptr<KeyRing> MakeRing() {
  Result<std::vector<ApiKey>> keys =
      ParseKeys(fmt::format("good {} submit rps=2\nother {} read\n", kGood, kOther));
  EXPECT_TRUE(keys.ok());
  return std::make_unique<KeyRing>(*std::move(keys));
}

Request With(std::string name, std::string value) {
  Request request;
  request.headers.Add(std::move(name), std::move(value));
  return request;
}

TEST(Auth, FindsKeysWhereTheyMayStand) {
  const auto ring = MakeRing();
  const auto name = [&](const Request& request, bool token_query = false) {
    return ring->Authenticate(request, token_query, "p").key_name;
  };
  EXPECT_EQ(name(With("authorization", fmt::format("Bearer {}", kGood))), "good");
  EXPECT_EQ(name(With("Authorization", fmt::format("bearer  {} ", kGood))), "good");
  EXPECT_EQ(name(With("x-api-key", kOther)), "other");
  EXPECT_EQ(name(With("Authorization", fmt::format("Basic {}", kGood))), "");
  // "user:good-key-0123456789", ":good-key-0123456789", "u:other-key-0123456789"
  EXPECT_EQ(name(With("Authorization", "Basic dXNlcjpnb29kLWtleS0wMTIzNDU2Nzg5")), "good");
  EXPECT_EQ(name(With("Authorization", "basic Omdvb2Qta2V5LTAxMjM0NTY3ODk=")), "good");
  EXPECT_EQ(name(With("Authorization", "Basic dTpvdGhlci1rZXktMDEyMzQ1Njc4OQ==")), "other");
  for (const char* broken :
       {"Basic", "Basic ", "Basic =", "Basic ====", "Basic dXNlcg==",
        "Basic dXNlcjpnb29kLWtleS0wMTIzNDU2Nzg", "Basic dXNl!jpn", "Basic Og=="})
    EXPECT_EQ(name(With("Authorization", broken)), "") << broken;
  EXPECT_EQ(name(Request{}), "");
  Request query;
  query.query = {{"token", kGood}};
  EXPECT_EQ(name(query), "");
  EXPECT_EQ(name(query, true), "good");
}

TEST(Auth, WrongKeysWait) {
  const auto ring = MakeRing();
  for (int i = 0; i < 10; ++i) {
    const Identity who =
        ring->Authenticate(With("X-API-Key", fmt::format("guess-{}", i)), false, "a");
    EXPECT_EQ(who.scope, Scope::kNone);
    EXPECT_EQ(who.retry_after_s, 0);
    EXPECT_FALSE(who.problem.empty());
    EXPECT_EQ(who.problem.find("guess"), std::string::npos);
  }
  const Identity blocked = ring->Authenticate(With("X-API-Key", "guess-11"), false, "a");
  EXPECT_GT(blocked.retry_after_s, 0);
  EXPECT_LE(blocked.retry_after_s, 6.1);
  // Others are not concerned.
  EXPECT_EQ(ring->Authenticate(With("X-API-Key", "guess-1"), false, "b").retry_after_s, 0);
}

TEST(Auth, NobodyIsLockedOutByWhoeverSharesItsAddress) {
  const auto ring = MakeRing();
  for (int i = 0; i < 30; ++i) (void)ring->Authenticate(With("X-API-Key", "wrong"), false, "a");
  for (const char* key : {kGood, kOther})
    EXPECT_EQ(ring->Authenticate(With("X-API-Key", key), false, "a").problem, "");
}

TEST(Auth, RequestsPerSecond) {
  const auto ring = MakeRing();
  int admitted = 0;
  for (int i = 0; i < 20; ++i) admitted += ring->Admit("good") == 0 ? 1 : 0;
  EXPECT_EQ(admitted, 4);  // two seconds' worth
  EXPECT_GT(ring->Admit("good"), 0);
  EXPECT_LE(ring->Admit("good"), 0.5);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ring->Admit("other"), 0);
}

TEST(Auth, TokenBucketRefills) {
  TokenBucket bucket(10, 1);
  const TimePoint start = Clock::now();
  EXPECT_EQ(bucket.Take(start), 0);
  EXPECT_NEAR(bucket.Take(start), 0.1, 1e-9);
  EXPECT_NEAR(bucket.Take(start + std::chrono::milliseconds(60)), 0.04, 1e-6);
  EXPECT_EQ(bucket.Take(start + std::chrono::milliseconds(101)), 0);
}

TEST(Auth, ReloadReplacesKeysAndKeepsThemOnErrors) {
  const test::TempFolder folder;
  const std::string path = folder.File("keys");
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(fmt::format("good {} submit\n", kGood));
  Result<std::unique_ptr<KeyRing>> ring = KeyRing::Load(path);
  ASSERT_TRUE(ring.ok());
  const Identity who = (*ring)->Authenticate(With("X-API-Key", kGood), false, "p");
  EXPECT_TRUE((*ring)->StillGood(who));
  write("rubbish\n");
  EXPECT_FALSE((*ring)->Reload().ok());
  EXPECT_TRUE((*ring)->StillGood(who));
  EXPECT_EQ((*ring)->generation(), 0u);
  // Another key under the same name does not keep the sessions of the one before.
  write(fmt::format("good {} submit\n", kOther));
  EXPECT_TRUE((*ring)->Reload().ok());
  EXPECT_EQ((*ring)->generation(), 1u);
  EXPECT_FALSE((*ring)->StillGood(who));
  EXPECT_EQ((*ring)->Authenticate(With("X-API-Key", kOther), false, "p").key_name, "good");
  ::unlink(path.c_str());
  EXPECT_FALSE((*ring)->Reload().ok());
  EXPECT_FALSE(KeyRing::Load(path).ok());
}

}  // namespace
}  // namespace assay::http
