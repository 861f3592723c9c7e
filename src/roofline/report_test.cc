#include "roofline/report.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

RooflineReport Example() {
  return {.bound_us = 100,
          .calibrated_us = 120.0,
          .fraction = 0,
          .limiter = "memory",
          .precision = "",
          .source = "calibrated",
          .bytes = 1e8,
          .fusion_gain = 2};
}

TEST(RooflineReport, AimsAtTheCalibratedTimeButNeverBelowTheBound) {
  RooflineReport report = Example();
  EXPECT_EQ(Attainable(report), 120);
  report.calibrated_us = 90;
  EXPECT_EQ(Attainable(report), 100);
  report.calibrated_us.reset();
  EXPECT_EQ(Attainable(report), 100);
}

TEST(RooflineReport, FractionIsAtMostOne) {
  RooflineReport report = Example();
  SetFraction(240, &report);
  EXPECT_DOUBLE_EQ(report.fraction, 0.5);
  SetFraction(110, &report);
  EXPECT_EQ(report.fraction, 1);
}

TEST(RooflineReport, PlausibilityKnowsBoundToleranceAndClock) {
  const auto check = [](double bound_us, double time_us, double uncertainty) {
    return CheckPlausible({.bound_us = bound_us}, time_us, uncertainty);
  };
  EXPECT_EQ(check(100, 100, 0), Plausibility::kNormal);
  EXPECT_EQ(check(100, 100.1, 0), Plausibility::kNormal);
  EXPECT_EQ(check(100, 99.9, 0), Plausibility::kAtRoof);
  EXPECT_EQ(check(102.9, 100, 0), Plausibility::kAtRoof);
  EXPECT_EQ(check(103.1, 100, 0), Plausibility::kSuperluminal);
  EXPECT_EQ(check(103.1, 100, 0.01), Plausibility::kAtRoof);
  EXPECT_EQ(check(200, 100, 0.01), Plausibility::kSuperluminal);
}

TEST(RooflineReport, ATimeThatOnlyArithmeticForbidsIsACollapse) {
  const RooflineReport report{.bound_us = 100, .limiter = "matrix", .traffic_us = 20};
  const auto check = [&](double time_us) { return CheckPlausible(report, time_us, 0); };
  EXPECT_EQ(check(99), Plausibility::kAtRoof);
  EXPECT_EQ(check(50), Plausibility::kCollapse);
  EXPECT_EQ(check(19.9), Plausibility::kCollapse);
  EXPECT_EQ(check(19), Plausibility::kSuperluminal);
  for (const double time_us : {50.0, 19.0}) EXPECT_TRUE(Unexplained(check(time_us)));
  EXPECT_FALSE(Unexplained(check(99)));
  EXPECT_TRUE(Collapsed(report, 50, 0));
  EXPECT_FALSE(Collapsed(report, 99, 0));
  EXPECT_FALSE(Collapsed(report, 19, 0)) << "not even the traffic fits";
}

TEST(RooflineReport, AnOverrideExplainsACollapse) {
  const RooflineReport report{.bound_us = 20,
                              .limiter = "memory",
                              .traffic_us = 20,
                              .override_reason = "the sum makes it a matrix-vector product",
                              .written_us = 100};
  EXPECT_EQ(CheckPlausible(report, 50, 0), Plausibility::kNormal);
  EXPECT_TRUE(Collapsed(report, 50, 0));
  EXPECT_FALSE(Collapsed(report, 120, 0));
  EXPECT_EQ(CheckPlausible(report, 15, 0), Plausibility::kSuperluminal);
  EXPECT_FALSE(Collapsed(report, 15, 0));
}

TEST(RooflineReport, UncertaintyIsHalfTheInterval) {
  EXPECT_NEAR(Uncertainty({.value = 2, .low = 1.9, .high = 2.1}), 0.05, 1e-12);
  EXPECT_EQ(Uncertainty({}), 0);
}

TEST(RooflineReport, JsonGoesThereAndBack) {
  RooflineReport report = Example();
  SetFraction(240, &report);
  const Result<RooflineReport> back = ReadRoofline(ToJson(report));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(ToJson(*back), ToJson(report));
  report.calibrated_us.reset();
  const json::object document = ToJson(report);
  EXPECT_TRUE(document.at("calibrated_us").is_null());
  EXPECT_FALSE((*ReadRoofline(document)).calibrated_us.has_value());
}

TEST(RooflineReport, RefusesWhatNoBoundCanBe) {
  for (const double bad : {0.0, -1.0, 1e300, 1e-300, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    for (const char* member : {"bound_us", "calibrated_us"}) {
      json::object document = ToJson(Example());
      document[member] = bad;
      EXPECT_FALSE(ReadRoofline(document).ok()) << member << " " << bad;
    }
  }
  json::object document = ToJson(Example());
  document["fraction"] = 1.5;
  EXPECT_FALSE(ReadRoofline(document).ok());
  for (const char* member : {"bytes", "fusion_gain"}) {
    document = ToJson(Example());
    document[member] = -1;
    EXPECT_FALSE(ReadRoofline(document).ok());
    document.erase(member);  // As older documents.
    EXPECT_TRUE(ReadRoofline(document).ok());
  }
  document = ToJson(Example());
  document.erase("bound_us");
  EXPECT_FALSE(ReadRoofline(document).ok());
  document["bound_us"] = "100";
  EXPECT_FALSE(ReadRoofline(document).ok());
}

}  // namespace
}  // namespace assay
