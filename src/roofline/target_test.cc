#include "roofline/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/temp_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

const DeviceFacts kH200{.name = "NVIDIA H200", .compute = 90, .multiprocessors = 132};
constexpr const char* kUuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";

json::object Document(const char* uuid, double copy_gbs) {
  return {
      {"schema", "assay.calibration/1"},
      {"card",
       {{"cpu", std::string_view(uuid) == "cpu"},
        {"name", "NVIDIA H200"},
        {"uuid", uuid},
        {"compute", 90},
        {"multiprocessors", 132},
        {"clock_ghz", 1.98},
        {"dram_gbs", 4916.7},
        {"l2_bytes", 62914560}}},
      {"bandwidth_gbs",
       {{"dram_copy", copy_gbs}, {"dram_read", 4400}, {"dram_write", 4400}, {"cache_copy", 7000}}},
      {"tflops", {{"fp32", 52}, {"tf32", 400}, {"bf16", 790}}},
      {"launch_us", 2.2}};
}

class TargetFolder : public testing::Test {
 protected:
  const test::TempFolder temp_;
  const std::string folder_ = temp_.path();
};

TEST_F(TargetFolder, AnUncalibratedCardHasItsTable) {
  const Result<RooflineTarget> target = TargetOf(kH200, kUuid, folder_);
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(target->card.name, "H200");
  EXPECT_FALSE(target->calibration);
}

TEST_F(TargetFolder, ACalibratedOneHasBoth) {
  ASSERT_TRUE(StoreCalibration(folder_, Document(kUuid, 4300)).ok());
  const Result<RooflineTarget> target = TargetOf(kH200, kUuid, folder_);
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(target->card.name, "H200");
  ASSERT_TRUE(target->calibration);
  EXPECT_EQ(target->calibration->launch_us, 2.2);
}

TEST_F(TargetFolder, FiguresThatCannotBeAreNoTargetToPayBy) {
  ASSERT_TRUE(StoreCalibration(folder_, Document(kUuid, 900)).ok());
  const Result<RooflineTarget> target = TargetOf(kH200, kUuid, folder_);
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(target.error().message, HasSubstr("dram_copy"));
}

TEST_F(TargetFolder, AProcessorMustBeCalibrated) {
  const Result<RooflineTarget> none = TargetOf({}, "cpu", folder_);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().message, HasSubstr("assay calibrate"));
  ASSERT_TRUE(StoreCalibration(folder_, Document("cpu", 4300)).ok());
  const Result<RooflineTarget> target = TargetOf({}, "cpu", folder_);
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_FALSE(target->card.datasheet);
}

TEST_F(TargetFolder, ACardThatNobodyKnowsSaysSo) {
  EXPECT_FALSE(TargetOf({.name = "Unheard-of 1", .compute = 90}, kUuid, folder_).ok());
  EXPECT_FALSE(TargetOf({}, kUuid, folder_).ok());
}

}  // namespace
}  // namespace assay
