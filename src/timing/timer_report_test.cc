#include "timing/timer_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_folder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

TimerReport Sample() {
  return {.uuid = "GPU-1234",
          .device = "NVIDIA H200",
          .driver = "580.65.06",
          .protocol = "assay.protocol/5",
          .floor_us = 2.25,
          .tick_us = 0.032,
          .points = {{2, 2.125}, {50, 49.75}, {1000, 1004}}};
}

TEST(TimerReport, ErrorsAreAllowedByOnePercentAndThreeTenths) {
  EXPECT_DOUBLE_EQ(AllowedErrorUs(2), 0.32);
  TimerReport report = Sample();
  EXPECT_TRUE(AllWithin(report));
  report.points[1].claimed_us = 49.1;
  EXPECT_FALSE(AllWithin(report));
}

TEST(TimerReport, ATimeHasTheErrorOfWhatIsAroundIt) {
  const std::vector<TimerPoint> points = Sample().points;
  EXPECT_EQ(ErrorAt({}, 10), 0);
  EXPECT_DOUBLE_EQ(ErrorAt(points, 1), 0.125);
  EXPECT_DOUBLE_EQ(ErrorAt(points, 2), 0.125);
  EXPECT_DOUBLE_EQ(ErrorAt(points, 10), 0.25);
  EXPECT_DOUBLE_EQ(ErrorAt(points, 500), 4);
  EXPECT_DOUBLE_EQ(ErrorAt(points, 2000), 8);
}

TEST(TimerReport, IsReadAsItWasWritten) {
  const test::TempFolder temp;
  const std::string folder = temp.path();
  EXPECT_EQ(LoadTimerReport(folder, "GPU-1234").error().code, ErrorCode::kNotFound);
  const Result<std::string> path = StoreTimerReport(folder, Sample());
  ASSERT_TRUE(path.ok()) << path.error().message;
  const Result<TimerReport> read = LoadTimerReport(folder, "GPU-1234");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(json::serialize(ToJson(*read)), json::serialize(ToJson(Sample())));
  EXPECT_EQ(LoadTimerReport(folder, "../GPU").error().code, ErrorCode::kInvalid);
}

TEST(TimerReport, OthersAreRefused) {
  const auto problem = [](const char* member, json::value value) {
    json::object document = ToJson(Sample());
    document[member] = std::move(value);
    const Result<TimerReport> read = ReadTimerReport(document);
    return read.ok() ? std::string("none") : read.error().message;
  };
  EXPECT_EQ(problem("device", "x"), "none");
  EXPECT_THAT(problem("schema", "assay.calibration/1"), HasSubstr("schema"));
  EXPECT_THAT(problem("uuid", "a/b"), HasSubstr("which device"));
  EXPECT_THAT(problem("floor_us", -1), HasSubstr("floor_us"));
  EXPECT_THAT(problem("tick_us", nullptr), HasSubstr("tick_us"));
  EXPECT_THAT(problem("points", json::array{}), HasSubstr("points"));
  EXPECT_THAT(problem("points", json::array{1}), HasSubstr("known_us"));
  EXPECT_THAT(problem("points", json::array{{{"known_us", 2.0}, {"claimed_us", 2.0}},
                                            {{"known_us", 1.0}, {"claimed_us", 1.0}}}),
              HasSubstr("ascend"));
  EXPECT_THAT(problem("points", json::array{{{"known_us", 2.0}, {"claimed_us", "2"}}}),
              HasSubstr("claimed_us"));
  TimerReport empty = Sample();
  empty.points.clear();
  EXPECT_FALSE(StoreTimerReport("/nowhere", empty).ok());
}

}  // namespace
}  // namespace assay
