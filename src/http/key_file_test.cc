#include "http/key_file.h"

#include <gtest/gtest.h>

namespace assay::http {
namespace {

TEST(KeyFile, Lines) {
  const std::string key = MakeKey();
  const Result<std::vector<ApiKey>> keys = ParseKeys(
      "# who may what\n\n" + KeyLine("trainer", key, Scope::kSubmit) +
      " rps=50 connections=600 queued=2000  # the cluster\nops\tin-the-clear-0123456789 admin\n");
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].name, "trainer");
  EXPECT_EQ((*keys)[0].sha256, Sha256(key));
  EXPECT_EQ((*keys)[0].scope, Scope::kSubmit);
  EXPECT_EQ((*keys)[0].quota.requests_per_second, 50);
  EXPECT_EQ((*keys)[0].quota.connections, 600u);
  EXPECT_EQ((*keys)[0].quota.queued, 2000u);
  EXPECT_EQ((*keys)[1].sha256, Sha256("in-the-clear-0123456789"));
  EXPECT_EQ((*keys)[1].scope, Scope::kAdmin);
}

TEST(KeyFile, Json) {
  const Result<std::vector<ApiKey>> keys = ParseKeys(
      R"({"keys": [{"name": "a", "key": "0123456789abcdef", "scope": "read", "queued": 5},)"
      R"( {"name": "b", "sha256": ")" +
      Sha256Hex("x") + R"(", "scope": "submit", "requests_per_second": 1.5}]})");
  ASSERT_TRUE(keys.ok()) << keys.error().message;
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].quota.queued, 5u);
  EXPECT_EQ((*keys)[1].sha256, Sha256("x"));
  EXPECT_EQ((*keys)[1].quota.requests_per_second, 1.5);
}

TEST(KeyFile, ErrorsSayWhereAndNeverQuoteAKey) {
  const std::string secret = "correct-horse-battery-staple";
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "assay keys new"},
      {"# nothing", "assay keys new"},
      {"a " + secret, "line 1"},
      {"a " + secret + " root", "read, submit, worker or admin"},
      {"a short read", "16"},
      {"a! " + secret + " read", "name"},
      {"a sha256:xyz read", "64 hexadecimal"},
      {"a sha256:" + std::string(63, 'a') + "g read", "64 hexadecimal"},
      {"a " + secret + " read rps", "rps=50"},
      {"a " + secret + " read rps=x", "rps=50"},
      {"a " + secret + " read rps=-1", "from 0"},
      {"a " + secret + " read rps=nan", "from 0"},
      {"a " + secret + " read speed=1", "no quota"},
      {"ok " + secret + " read\nb " + secret + " read", "the same"},
      {"{\"keys\": 3}", "assay keys new"},
      {"{}", "keys"},
      {"{\"keys\": [3]}", "keys[0]"},
      {"{\"keys\": [{\"name\": \"a\", \"kye\": \"" + secret + "\"}]}", "keys[0]"},
      {"{\"keys\": [", "JSON"}};
  for (const auto& [text, expected] : bad) {
    const Result<std::vector<ApiKey>> keys = ParseKeys(text);
    ASSERT_FALSE(keys.ok()) << text;
    EXPECT_NE(keys.error().message.find(expected), std::string::npos) << keys.error().message;
    EXPECT_EQ(keys.error().message.find(secret), std::string::npos) << keys.error().message;
  }
}

TEST(KeyFile, MadeKeysAreLongAndDiffer) {
  const std::string key = MakeKey();
  EXPECT_EQ(key.size(), 46u);
  EXPECT_NE(key, MakeKey());
  EXPECT_EQ(KeyLine("n", key, Scope::kRead).find(key), std::string::npos);
}

TEST(KeyFile, HasEveryScopeThatAKeyCanHave) {
  for (const Scope scope : kKeyScopes) {
    const Result<std::vector<ApiKey>> keys = ParseKeys(KeyLine("n", MakeKey(), scope));
    ASSERT_TRUE(keys.ok()) << ScopeName(scope);
    EXPECT_EQ((*keys)[0].scope, scope);
  }
}

}  // namespace
}  // namespace assay::http
