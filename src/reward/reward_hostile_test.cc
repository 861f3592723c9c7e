#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "reward/reward.h"
#include "reward/reward_test_util.h"

namespace assay {
namespace {

using test::VerdictOf;
using testing::HasSubstr;

/// Replaces a member by its path; an empty value erases it.
json::object With(json::object document, std::initializer_list<const char*> path,
                  const std::optional<json::value>& value) {
  json::object* at = &document;
  const char* last = *(path.end() - 1);
  for (const char* const* key = path.begin(); key != path.end() - 1; ++key)
    at = &(*at)[*key].as_object();
  if (value) {
    (*at)[last] = *value;
  } else {
    at->erase(last);
  }
  return document;
}

TEST(RewardHostile, NamesAreChecked) {
  const Result<Reward> unknown = ComputeReward("rooflin", {}, VerdictOf({}));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(unknown.error().message, HasSubstr("roofline, sol, speedup"));
  const Result<Reward> misspelt = ComputeReward("roofline", {{"bse", 1}}, VerdictOf({}));
  ASSERT_FALSE(misspelt.ok());
  EXPECT_EQ(misspelt.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(misspelt.error().message, HasSubstr("there are base, span"));
}

TEST(RewardHostile, ParametersAreTyped) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<const char*, json::object> bad[] = {
      {"roofline", {{"base", "0.3"}}},
      {"roofline", {{"base", -1}}},
      {"roofline", {{"base", nan}}},
      {"roofline", {{"span", 1e300}}},
      {"roofline", {{"power", 0}}},
      {"roofline", {{"estimate", "upper"}}},
      {"roofline", {{"t_min", 3}}},
      {"roofline", {{"pay_void", 1}}},
      {"milestones", {{"speedups", json::array{}}}},
      {"milestones", {{"speedups", {2, 1}}}},
      {"milestones", {{"speedups", {1, "x"}}}},
      {"milestones", {{"speedups", json::array(17, 1)}}},
      {"progress", {{"best", std::numeric_limits<double>::infinity()}}},
      {"progress", {{"of_parameters", 1}}},
      {"drkernel", {{"penalty", 1}}},
  };
  for (const auto& [mode, parameters] : bad) {
    const Result<Reward> reward = ComputeReward(mode, parameters, VerdictOf({}));
    ASSERT_FALSE(reward.ok()) << mode << json::serialize(parameters);
    EXPECT_EQ(reward.error().code, ErrorCode::kInvalid);
  }
}

TEST(RewardHostile, DocumentsThatAreNone) {
  const json::object good = VerdictOf({});
  const json::object bad[] = {
      {},
      With(good, {"schema"}, "assay.verdict/2"),
      With(good, {"schema"}, 1),
      With(good, {"status"}, "excellent"),
      With(good, {"status"}, {}),
      With(good, {"status"}, "incorrect"),
      With(good, {"fault"}, "integrity"),
      With(good, {"fault"}, {}),
      With(good, {"correct"}, false),
      With(good, {"correct"}, "true"),
      With(good, {"compiled"}, false),
      With(good, {"compiled"}, {}),
      With(good, {"flags"}, json::array{1}),
      With(good, {"timing"}, {}),
      With(good, {"timing"}, "fast"),
      With(good, {"timing", "candidate_us"}, 12),
      With(good, {"timing", "meaningful"}, {}),
      With(good, {"profile"}, json::array{}),
      With(good, {"roofline"}, true),
      With(VerdictOf({.status = "incorrect"}), {"correct"}, true),
      With(VerdictOf({.status = "rejected_cheat"}), {"fault"}, "none"),
      With(VerdictOf({.status = "infra_error"}), {"fault"}, "candidate"),
  };
  for (const json::object& document : bad) {
    for (const RewardMode& mode : RewardModes()) {
      const Result<Reward> reward = ComputeReward(mode.name, {}, document);
      ASSERT_FALSE(reward.ok()) << mode.name << " " << json::serialize(document);
      EXPECT_EQ(reward.error().code, ErrorCode::kInvalid);
    }
  }
}

TEST(RewardHostile, NumbersThatNoMeasurementGives) {
  const json::object good = VerdictOf({});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const json::value& number :
       {json::value(0.0), json::value(-1.0), json::value(1e300), json::value(5e-324),
        json::value(infinity), json::value(std::numeric_limits<double>::quiet_NaN()),
        json::value("1"), json::value(nullptr), json::value(true)}) {
    for (const json::object& document :
         {With(good, {"timing", "candidate_us", "median"}, number),
          With(good, {"timing", "reference_us", "median"}, number),
          With(good, {"timing", "speedup", "value"}, number),
          With(good, {"timing", "speedup", "low"}, number),
          With(good, {"timing", "speedup", "high"}, number),
          With(good, {"timing", "baselines", "compile", "value"}, number),
          With(good, {"roofline", "bound_us"}, number)}) {
      const Result<Reward> reward = ComputeReward("speedup", {}, document);
      ASSERT_FALSE(reward.ok()) << json::serialize(document);
      EXPECT_EQ(reward.error().code, ErrorCode::kInvalid);
    }
  }
  for (const double share : {-0.1, 1.1, infinity}) {
    EXPECT_FALSE(
        ComputeReward("coverage", {}, With(good, {"profile", "coverage_time"}, share)).ok());
  }
}

TEST(RewardHostile, IntervalsHoldTheirValue) {
  const json::object good = VerdictOf({.interval = 0.01});
  EXPECT_FALSE(ComputeReward("kevin", {}, With(good, {"timing", "speedup", "low"}, 3)).ok());
  EXPECT_FALSE(ComputeReward("kevin", {}, With(good, {"timing", "speedup", "high"}, 1)).ok());
}

TEST(RewardHostile, MissingTimesAreNotAZero) {
  const json::object good = VerdictOf({});
  for (const json::object& document :
       {With(good, {"timing", "speedup"}, nullptr), With(good, {"timing", "candidate_us"}, {}),
        With(good, {"timing", "meaningful"}, false)}) {
    for (const RewardMode& mode : RewardModes()) {
      const Result<Reward> reward = ComputeReward(mode.name, {}, document);
      if (mode.name == "correctness") {
        EXPECT_TRUE(reward.ok());
        continue;
      }
      ASSERT_FALSE(reward.ok()) << mode.name;
      EXPECT_EQ(reward.error().code, ErrorCode::kUnavailable);
    }
  }
}

TEST(RewardHostile, FaultsOfOthersAreMasked) {
  for (const RewardMode& mode : RewardModes()) {
    for (const char* status : {"infra_error", "cancelled"}) {
      for (const bool compiled : {false, true}) {
        const Result<Reward> reward =
            ComputeReward(mode.name, {}, VerdictOf({.status = status, .compiled = compiled}));
        ASSERT_TRUE(reward.ok());
        EXPECT_TRUE(reward->masked);
        EXPECT_EQ(reward->value, 0);
      }
    }
  }
}

TEST(RewardHostile, VoidTasksPayOnlyWhenAsked) {
  for (const RewardMode& mode : RewardModes()) {
    const json::object verdict = VerdictOf({.flags = {"void_task"}});
    EXPECT_TRUE((*ComputeReward(mode.name, {}, verdict)).masked);
    const Result<Reward> asked = ComputeReward(mode.name, {{"pay_void", true}}, verdict);
    ASSERT_TRUE(asked.ok());
    EXPECT_FALSE(asked->masked);
    EXPECT_EQ(asked->value, (*ComputeReward(mode.name, {}, VerdictOf({}))).value);
  }
}

TEST(RewardHostile, TimesThatCannotBeAreMaskedInEveryMode) {
  for (const RewardMode& mode : RewardModes()) {
    const Result<Reward> reward = ComputeReward(mode.name, {}, VerdictOf({.candidate = 40}));
    ASSERT_TRUE(reward.ok());
    EXPECT_TRUE(reward->masked) << mode.name;
    EXPECT_EQ(reward->value, 0);
    EXPECT_THAT(reward->explanation, HasSubstr("bound of 50 us"));
  }
}

TEST(RewardHostile, CheatsGetTheLeast) {
  for (const RewardMode& mode : RewardModes()) {
    // Whatever else the document says: a cheat is never paid.
    json::object verdict = VerdictOf({.status = "rejected_cheat"});
    verdict["timing"] = VerdictOf({})["timing"];
    verdict["roofline"] = VerdictOf({})["roofline"];
    const Result<Reward> reward = ComputeReward(mode.name, {}, verdict);
    ASSERT_TRUE(reward.ok());
    EXPECT_FALSE(reward->masked);
    EXPECT_EQ(reward->value, mode.low) << mode.name;
    EXPECT_LE(reward->value, 0) << mode.name;
  }
}

}  // namespace
}  // namespace assay
