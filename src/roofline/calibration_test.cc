#include "roofline/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "base/temp_folder.h"

namespace assay {
namespace {

using testing::HasSubstr;

json::object H200() {
  return {{"schema", "assay.calibration/1"},
          {"card",
           {{"cpu", false},
            {"name", "NVIDIA H200"},
            {"uuid", "GPU-01234567-89ab-cdef-0123-456789abcdef"},
            {"compute", 90},
            {"multiprocessors", 132},
            {"clock_ghz", 1.98},
            {"dram_gbs", 4916.7},
            {"l2_bytes", 62914560},
            {"driver", "13000"},
            {"torch", "2.11.0"}}},
          {"quick", false},
          {"bandwidth_gbs",
           {{"dram_copy", 4300}, {"dram_read", 4500}, {"dram_write", 4400}, {"cache_copy", 7000}}},
          {"tflops",
           {{"fp64", 60},
            {"fp32", 52},
            {"tf32", 400},
            {"bf16", 790},
            {"fp16", 780},
            {"int8", nullptr}}},
          {"launch_us", 2.2}};
}

json::object With(json::object document, const char* group, const char* name,
                  const json::value& value) {
  if (name == nullptr) {
    document[group] = value;
  } else {
    document[group].as_object()[name] = value;
  }
  return document;
}

class Folder : public testing::Test {
 protected:
  const test::TempFolder temp_;
  const std::string folder_ = temp_.path();
};

using CalibrationFolderTest = Folder;

TEST(Calibration, IsRead) {
  const Result<Calibration> calibration = ReadCalibration(H200());
  ASSERT_TRUE(calibration.ok()) << calibration.error().message;
  EXPECT_EQ(calibration->bandwidth_gbs.at("dram_copy"), 4300);
  EXPECT_EQ(calibration->tflops.count("int8"), 0U) << "null: the card cannot";
  EXPECT_EQ(calibration->launch_us, 2.2);
  EXPECT_EQ(calibration->best_gbs, calibration->bandwidth_gbs);
}

TEST(Calibration, BadDocumentsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const json::object bad[] = {
      {},
      With(H200(), "schema", nullptr, "assay.calibration/2"),
      With(H200(), "card", "uuid", ""),
      With(H200(), "card", "uuid", "../../etc/passwd"),
      With(H200(), "bandwidth_gbs", "dram_copy", 0),
      With(H200(), "bandwidth_gbs", "dram_copy", nullptr),
      With(H200(), "bandwidth_gbs", "dram_read", -1),
      With(H200(), "bandwidth_gbs", "dram_write", "fast"),
      With(H200(), "bandwidth_gbs", "cache_copy", nan),
      With(H200(), "tflops", "fp32", nullptr),
      With(H200(), "tflops", "bf16", 1e300),
      With(H200(), "launch_us", nullptr, 0),
      With(H200(), "launch_us", nullptr, nullptr),
  };
  for (const json::object& document : bad)
    EXPECT_FALSE(ReadCalibration(document).ok()) << json::serialize(document);
}

TEST(Calibration, ImplausibleFiguresAreNamed) {
  const Card card = *FindCard("H200");
  EXPECT_TRUE(Implausible(*ReadCalibration(H200()), card).empty());
  const std::tuple<const char*, const char*, double> wrong[] = {
      {"bandwidth_gbs", "dram_copy", 5100},
      {"bandwidth_gbs", "dram_copy", 3000},
      {"bandwidth_gbs", "dram_write", 9000},
      {"bandwidth_gbs", "cache_copy", 30000},
      {"tflops", "bf16", 1979},
      {"tflops", "bf16", 400},
      {"tflops", "fp32", 20},
      {"tflops", "tf32", 600}};
  for (const auto& [group, name, value] : wrong) {
    const std::vector<std::string> problems =
        Implausible(*ReadCalibration(With(H200(), group, name, value)), card);
    ASSERT_EQ(problems.size(), 1U) << name << " " << value;
    EXPECT_THAT(problems[0], HasSubstr(name));
  }
  EXPECT_EQ(Implausible(*ReadCalibration(With(H200(), "launch_us", nullptr, 40)), card).size(), 1U);
}

TEST_F(CalibrationFolderTest, BestFiguresOnlyGoUp) {
  ASSERT_TRUE(StoreCalibration(folder_, H200()).ok());
  json::object slower = With(H200(), "bandwidth_gbs", "dram_copy", 4000);
  slower = With(slower, "tflops", "bf16", 800);
  ASSERT_TRUE(StoreCalibration(folder_, slower).ok());
  const Result<Calibration> stored =
      LoadCalibration(folder_, "GPU-01234567-89ab-cdef-0123-456789abcdef");
  ASSERT_TRUE(stored.ok()) << stored.error().message;
  EXPECT_EQ(stored->bandwidth_gbs.at("dram_copy"), 4000);
  EXPECT_EQ(stored->best_gbs.at("dram_copy"), 4300);
  EXPECT_EQ(stored->tflops.at("bf16"), 800);
  EXPECT_EQ(stored->best_tflops.at("bf16"), 800);
}

TEST_F(CalibrationFolderTest, AMissingOneSaysWhatToDo) {
  const Result<Calibration> missing = LoadCalibration(folder_, "GPU-1");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("assay calibrate"));
  EXPECT_EQ(LoadCalibration(folder_, "../x").error().code, ErrorCode::kInvalid);
}

TEST(Calibration, AProcessorIsACardWithHeadroom) {
  json::object document = H200();
  document["card"] = json::object{{"cpu", true}, {"name", "a processor"}, {"uuid", "cpu"}};
  document["bandwidth_gbs"] =
      json::object{{"dram_copy", 20}, {"dram_read", 25}, {"dram_write", 15}, {"cache_copy", 60}};
  document["tflops"] = json::object{{"fp64", 0.05}, {"fp32", 0.1}, {"bf16", 0.01}};
  const Result<Calibration> calibration = ReadCalibration(document);
  ASSERT_TRUE(calibration.ok());
  const Card card = ProcessorCard(*calibration);
  EXPECT_EQ(card.dram_gbs, 120);
  EXPECT_DOUBLE_EQ(PeakFlops(card, Precision::kFp32), 0.2e12);
  EXPECT_DOUBLE_EQ(PeakFlops(card, Precision::kFp16), 0.2e12) << "computed in single";
  EXPECT_EQ(PeakFlops(card, Precision::kTf32), 0);
  EXPECT_TRUE(Implausible(*calibration, card).empty());
}

}  // namespace
}  // namespace assay
