#include "profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace assay {
namespace {

using ::testing::HasSubstr;

json::object Kernel() {
  return {{"name", "relu"},       {"own", true},          {"calls", 4},      {"us", 40.0},
          {"grid", {1024, 1, 1}}, {"block", {128, 1, 1}}, {"registers", 32}, {"static_shared", 0},
          {"dynamic_shared", 48}, {"stream", 7}};
}

json::object Report() {
  return {{"calls", 4},
          {"own_us", 40.0},
          {"library_us", 30.0},
          {"unknown_us", 10.0},
          {"copy_us", 20.0},
          {"own_launches", 4},
          {"library_launches", 4},
          {"unknown_launches", 4},
          {"copies", 4},
          {"own_kernels", 1},
          {"other_kernels", 3},
          {"busy_us", 90.0},
          {"span_us", 130.0},
          {"dropped", 0},
          {"left_out", 0},
          {"kernels", json::array{Kernel()}}};
}

std::string Problem(const json::object& report) {
  const Result<Profile> read = ReadProfile(report);
  if (read.ok()) return "none";
  EXPECT_EQ(read.error().code, ErrorCode::kProtocol);
  return read.error().message;
}

std::string ProblemWith(const char* member, json::value value) {
  json::object report = Report();
  report[member] = std::move(value);
  return Problem(report);
}

std::string KernelProblem(const char* member, json::value value) {
  json::object kernel = Kernel();
  kernel[member] = std::move(value);
  return ProblemWith("kernels", json::array{std::move(kernel)});
}

TEST(Profile, CoverageIsAShareOfAllThatTheDeviceDid) {
  const Result<Profile> profile = ReadProfile(Report());
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_DOUBLE_EQ(*CoverageTime(*profile), 0.4);
  EXPECT_DOUBLE_EQ(*CoverageCount(*profile), 0.25);
  const json::object out = ToJson(
      *profile,
      {.required_bytes = 22.5e6, .required_flops = 45e6, .peak_gbs = 4000, .peak_tflops = 0});
  EXPECT_DOUBLE_EQ(GetDouble(out, "coverage_time"), 0.4);
  EXPECT_DOUBLE_EQ(GetDouble(out, "custom_us"), 10);
  EXPECT_DOUBLE_EQ(GetDouble(out, "total_us"), 25);
  EXPECT_DOUBLE_EQ(GetDouble(out, "host_gap_us"), 10);
  EXPECT_DOUBLE_EQ(GetDouble(out, "bandwidth_gbs"), 1000);
  EXPECT_DOUBLE_EQ(GetDouble(out, "bandwidth_fraction"), 0.25);
  EXPECT_DOUBLE_EQ(GetDouble(out, "tflops"), 2);
  EXPECT_TRUE(out.at("tflops_fraction").is_null()) << "no peak is known";
  EXPECT_EQ(GetInt(out, "total_kernels"), 4);
  EXPECT_THAT(ProfileText(*profile), HasSubstr("own kernels take 40 % of the device's 25 us"));
}

TEST(Profile, OfNothingThereIsNoCoverage) {
  json::object report = Report();
  for (auto& [key, value] : report)
    if (value.is_number() && key != "calls") value = 0;
  report["kernels"] = json::array{};
  const Result<Profile> profile = ReadProfile(report);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  EXPECT_FALSE(CoverageTime(*profile));
  EXPECT_FALSE(CoverageCount(*profile));
  EXPECT_TRUE(ToJson(*profile, {}).at("coverage_time").is_null());
  EXPECT_EQ(ProfileText(*profile), "the device did nothing");
}

TEST(Profile, WithoutOneEveryFigureIsNull) {
  const json::object none = NoProfileJson("no libcupti");
  EXPECT_EQ(GetString(none, "note"), "no libcupti");
  EXPECT_TRUE(GetArray(none, "kernels").empty());
  for (const auto& [key, value] : none)
    EXPECT_TRUE(value.is_null() || key == "note" || key == "kernels") << std::string_view(key);
}

TEST(Profile, WhatNoDeviceGivesIsRefused) {
  EXPECT_EQ(Problem(Report()), "none");
  EXPECT_THAT(Problem({}), HasSubstr("'calls'"));
  for (const auto& [key, value] : Report())
    for (const json::value& wrong :
         {json::value(nullptr), json::value("1"), json::value(-1), json::value(1e300),
          json::value(std::numeric_limits<int64_t>::max()), json::value(json::object{})})
      EXPECT_NE(ProblemWith(std::string(key).c_str(), wrong), "none")
          << std::string_view(key) << " " << json::serialize(wrong);
  EXPECT_NE(ProblemWith("calls", 0), "none");
  EXPECT_NE(ProblemWith("own_us", std::numeric_limits<double>::quiet_NaN()), "none");
  for (const auto& [key, value] : Kernel()) {
    if (key == "name" || key == "own") continue;
    for (const json::value& wrong : {json::value(nullptr), json::value(-1), json::value(1e300),
                                     json::value(json::array{1, 1, -1}), json::value("x")})
      EXPECT_NE(KernelProblem(std::string(key).c_str(), wrong), "none")
          << std::string_view(key) << " " << json::serialize(wrong);
  }
  EXPECT_NE(KernelProblem("grid", json::array{1, 1}), "none");
  EXPECT_NE(ProblemWith("kernels", json::array{1}), "none");
  EXPECT_NE(ProblemWith("kernels", json::array(kMaxProfiledKernels + 1, Kernel())), "none");
}

TEST(Profile, ContradictionsAreRefused) {
  EXPECT_THAT(KernelProblem("us", 41.0), HasSubstr("'kernels'"));
  EXPECT_THAT(KernelProblem("own", false), HasSubstr("none")) << "others have 40 us too";
  json::object kernel = Kernel();
  kernel["calls"] = 13;
  EXPECT_THAT(ProblemWith("kernels", json::array{kernel}), HasSubstr("'kernels'"));
  EXPECT_THAT(ProblemWith("busy_us", 131.0), HasSubstr("'busy_us'"));
  EXPECT_THAT(ProblemWith("own_kernels", 0), HasSubstr("'own_launches'"));
  EXPECT_THAT(ProblemWith("own_kernels", 5), HasSubstr("'own_launches'"));
  EXPECT_THAT(ProblemWith("other_kernels", 13), HasSubstr("'other_kernels'"));
  json::object report = Report();
  report["own_launches"] = 0;
  report["own_kernels"] = 0;
  EXPECT_THAT(Problem(report), HasSubstr("'own_launches'"));
}

TEST(Profile, NamesAreCleanAndBounded) {
  json::object report = Report();
  report["kernels"].as_array()[0].as_object()["name"] =
      "a\x1b[2Jb\nc\td" + std::string(100'000, 'k');
  const Result<Profile> profile = ReadProfile(report);
  ASSERT_TRUE(profile.ok());
  const std::string& name = profile->kernels[0].name;
  EXPECT_LE(name.size(), 240u);
  EXPECT_TRUE(name.starts_with("ab c d")) << name;
}

/// A value that a hostile process could send.
json::value Garbage(std::mt19937* random, int depth) {
  switch ((*random)() % (depth > 0 ? 10 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return (*random)() % 2 == 0;
    case 2:
      return static_cast<int64_t>((*random)()) * ((*random)() % 2 == 0 ? 1 : -1);
    case 3:
      return std::ldexp(static_cast<double>((*random)()),
                        static_cast<int>((*random)() % 2000) - 1000);
    case 4:
      return json::string(std::string((*random)() % 50, static_cast<char>((*random)() % 128)));
    case 5:
    case 6:
    case 7:
      return static_cast<int64_t>((*random)() % 100);
    case 8: {
      json::array array;
      for (unsigned n = (*random)() % 4; n > 0; --n) array.push_back(Garbage(random, depth - 1));
      return array;
    }
    default: {
      json::object object;
      for (const char* key : {"name", "us", "grid", "calls"})
        if ((*random)() % 2 == 0) object[key] = Garbage(random, depth - 1);
      return object;
    }
  }
}

TEST(Profile, WhateverIsSentACoverageIsAShare) {
  std::mt19937 random(11);
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    json::object report = Report();
    for (auto& [key, value] : report) {
      if (random() % 6 == 0) value = Garbage(&random, 3);
      if (value.is_array() && !value.get_array().empty() && value.get_array()[0].is_object())
        for (auto& [name, member] : value.get_array()[0].get_object())
          if (random() % 12 == 0) member = Garbage(&random, 2);
    }
    const Result<Profile> profile = ReadProfile(report);
    if (!profile.ok()) continue;
    ++accepted;
    for (const std::optional<double> share : {CoverageTime(*profile), CoverageCount(*profile)}) {
      if (!share) continue;
      EXPECT_GE(*share, 0);
      EXPECT_LE(*share, 1);
    }
    const json::object out = ToJson(*profile, {1e9, 1e9, 4800, 60});
    EXPECT_LT(json::serialize(out).size(), 64u << 10);
    EXPECT_GE(GetDouble(out, "host_gap_us"), 0);
  }
  EXPECT_GT(accepted, 100) << "the garbage is too coarse to pass a check";
}

}  // namespace
}  // namespace assay
