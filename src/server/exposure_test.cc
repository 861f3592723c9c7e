#include "server/exposure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/temp_folder.h"

namespace assay {
namespace {

std::string KeyFile(const test::TempFolder& folder) {
  std::string path = folder.File("keys");
  std::ofstream(path) << http::KeyLine("me", http::MakeKey(), http::Scope::kSubmit) << "\n";
  return path;
}

TEST(Exposure, KnowsLoopback) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]", "LOCALHOST"})
    EXPECT_TRUE(IsLoopback(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.evil.com",
                           "127.evil.com", "128.0.0.1", ""})
    EXPECT_FALSE(IsLoopback(host)) << host;
}

TEST(Exposure, LoopbackIsOpenButNotToWebPages) {
  const Result<http::ListenOptions> listen = MakeListenOptions({});
  ASSERT_TRUE(listen.ok());
  EXPECT_EQ(listen->keys, nullptr);
  EXPECT_FALSE(listen->hosts.empty());
  EXPECT_TRUE(listen->origins.empty());
}

TEST(Exposure, OtherAddressesNeedKeysOrInsecure) {
  const test::TempFolder folder;
  ExposureOptions exposure;
  exposure.host = "0.0.0.0";
  const Result<http::ListenOptions> refused = MakeListenOptions(exposure);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("assay keys new"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--insecure"), std::string::npos);
  exposure.insecure = true;
  const Result<http::ListenOptions> open = MakeListenOptions(exposure);
  ASSERT_TRUE(open.ok());
  EXPECT_TRUE(open->hosts.empty());
  exposure.insecure = false;
  exposure.api_key_file = KeyFile(folder);
  const Result<http::ListenOptions> keyed = MakeListenOptions(exposure);
  ASSERT_TRUE(keyed.ok()) << keyed.error().message;
  EXPECT_NE(keyed->keys, nullptr);
}

TEST(Exposure, NamesHoldEverywhere) {
  const test::TempFolder folder;
  ExposureOptions exposure;
  exposure.hosts = {"GPU-box"};
  const auto served = [&](const std::string& host) {
    const Result<http::ListenOptions> listen = MakeListenOptions(exposure);
    EXPECT_TRUE(listen.ok());
    return std::find(listen->hosts.begin(), listen->hosts.end(), host) != listen->hosts.end();
  };
  EXPECT_TRUE(served("gpu-box"));
  exposure.host = "0.0.0.0";
  exposure.insecure = true;
  EXPECT_TRUE(served("gpu-box"));
  EXPECT_TRUE(served("localhost"));
  exposure.insecure = false;
  exposure.api_key_file = KeyFile(folder);
  EXPECT_TRUE(served("gpu-box"));
}

TEST(Exposure, ContradictionsAreRefused) {
  const test::TempFolder folder;
  ExposureOptions exposure;
  exposure.tls_certificate = "cert.pem";
  EXPECT_FALSE(MakeListenOptions(exposure).ok());
  exposure = {};
  exposure.token_query = true;
  EXPECT_FALSE(MakeListenOptions(exposure).ok());
  exposure = {};
  exposure.api_key_file = KeyFile(folder);
  exposure.insecure = true;
  EXPECT_FALSE(MakeListenOptions(exposure).ok());
  exposure.insecure = false;
  exposure.api_key_file = "/nonexistent";
  EXPECT_FALSE(MakeListenOptions(exposure).ok());
}

}  // namespace
}  // namespace assay
