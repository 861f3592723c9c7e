#include "openenv/telemetry.h"

#include <gmock/gmock.h>

namespace assay::openenv {
namespace {

constexpr const char* kToken = "0123456789abcdef0123456789abcdef";

json::object Opening(std::string_view token) { return {{"schema_version", 1}, {"token", token}}; }

TEST(Telemetry, OpensOnceFirstAndOnlyWithTheToken) {
  Telemetry off("");
  EXPECT_FALSE(off.Open(Opening(""), true)) << "no token, no telemetry";
  Telemetry telemetry(kToken);
  EXPECT_FALSE(telemetry.Open(Opening("wrong"), true));
  EXPECT_FALSE(telemetry.Open(Opening(kToken), false)) << "something came before";
  EXPECT_FALSE(telemetry.Open({{"schema_version", 2}, {"token", kToken}}, true));
  EXPECT_FALSE(telemetry.Open({{"schema_version", 1}, {"token", kToken}, {"more", 1}}, true));
  const std::optional<json::object> opened = telemetry.Open(Opening(kToken), true);
  ASSERT_TRUE(opened);
  EXPECT_EQ(GetString(*opened, "capability").size(), 43u);
  EXPECT_FALSE(telemetry.Open(Opening(kToken), true)) << "once";
}

class OpenTelemetry : public ::testing::Test {
 protected:
  void SetUp() override {
    capability_ = GetString(*telemetry_.Open(Opening(kToken), true), "capability");
  }
  json::object Read() {
    const auto data = telemetry_.Read({{"schema_version", 1}, {"capability", capability_}});
    EXPECT_TRUE(data);
    return data.value_or(json::object{});
  }

  Telemetry telemetry_{kToken};
  std::string capability_;
  const json::value reply_{{"type", "observation"}};
};

TEST_F(OpenTelemetry, TellsTheSeedAndTheExactMessages) {
  EXPECT_FALSE(telemetry_.Read({{"schema_version", 1}, {"capability", "guess"}}));
  const json::value reset{{"type", "reset"}, {"data", {{"seed", 7}}}};
  telemetry_.Record("reset", reset, reply_);
  telemetry_.Record("state", {{"type", "state"}}, {{"type", "state"}});
  telemetry_.Record("step", {{"type", "step"}}, reply_);
  const json::object data = Read();
  EXPECT_EQ(json::serialize(data.at("seed")), R"({"requested":true,"value":7,"accepted":true})");
  const json::object& trajectory = GetObject(data, "trajectory");
  EXPECT_TRUE(GetBool(trajectory, "complete"));
  ASSERT_EQ(GetArray(trajectory, "records").size(), 3u);
  EXPECT_EQ(GetArray(trajectory, "records")[0].at("request"), reset);
  EXPECT_EQ(GetArray(data, "attribution").size(), 1u);
}

TEST_F(OpenTelemetry, ARefusedSeedWasNotAccepted) {
  telemetry_.Record("reset", {{"type", "reset"}, {"data", {{"seed", 7}}}}, {{"type", "error"}});
  EXPECT_FALSE(GetBool(GetObject(Read(), "seed"), "accepted", true));
  telemetry_.Record("reset", {{"type", "reset"}}, reply_);
  EXPECT_FALSE(GetBool(GetObject(Read(), "seed"), "requested", true));
  EXPECT_EQ(GetArray(GetObject(Read(), "trajectory"), "records").size(), 1u) << "begun anew";
}

TEST_F(OpenTelemetry, KeepsToItsBudgetAndSaysSo) {
  telemetry_.Record("reset", {{"type", "reset"}}, reply_);
  for (int i = 0; i < 150; ++i) telemetry_.Record("step", {{"type", "step"}}, reply_);
  json::object trajectory = GetObject(Read(), "trajectory");
  EXPECT_FALSE(GetBool(trajectory, "complete", true));
  EXPECT_EQ(GetString(trajectory, "reason"), "more than 100 steps");
  EXPECT_EQ(GetArray(Read(), "attribution").size(), 100u);

  telemetry_.Record("reset", {{"type", "reset"}}, reply_);
  const json::value large{{"type", "step"}, {"data", std::string(5u << 20, 'x')}};
  telemetry_.Record("step", large, reply_);
  telemetry_.Record("step", large, reply_);
  trajectory = GetObject(Read(), "trajectory");
  EXPECT_EQ(GetString(trajectory, "reason"), "more than 8 MiB");
  EXPECT_EQ(GetArray(trajectory, "records").size(), 2u);
}

}  // namespace
}  // namespace assay::openenv
