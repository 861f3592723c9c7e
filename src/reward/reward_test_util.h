#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace assay::test {

/// What a test wants of a verdict; times in microseconds.
struct Case {
  std::string status = "correct";
  double candidate = 100;
  double reference = 200;
  double interval = 0;  ///< half its width, relative
  std::optional<double> bound = 50.0;
  std::optional<double> calibrated = {};
  std::optional<double> coverage_time = 1.0;
  std::optional<double> coverage_count = 1.0;
  std::optional<double> over_compile = 1.5;
  std::optional<bool> compiled = {};
  json::array flags = {};
};

inline json::object RatioJson(double value, double interval) {
  return {{"value", value}, {"low", value / (1 + interval)}, {"high", value * (1 + interval)}};
}

/// The part of an `assay.verdict/1` document that rewards read.
inline json::object VerdictOf(const Case& wanted) {
  const std::string& status = wanted.status;
  const bool correct = status == "correct";
  json::object verdict{{"schema", "assay.verdict/1"}, {"status", status}, {"correct", correct}};
  verdict["fault"] = correct || status == "cancelled" ? "none"
                     : status == "rejected_cheat"     ? "integrity"
                     : status == "infra_error"        ? "infrastructure"
                                                      : "candidate";
  verdict["compiled"] =
      wanted.compiled.value_or(status != "invalid_submission" && status != "compile_error");
  verdict["flags"] = wanted.flags;
  json::object timing{{"candidate_us", nullptr},
                      {"reference_us", nullptr},
                      {"speedup", nullptr},
                      {"meaningful", true},
                      {"note", nullptr}};
  if (correct) {
    timing["candidate_us"] = json::object{{"median", wanted.candidate}};
    timing["reference_us"] = json::object{{"median", wanted.reference}};
    timing["speedup"] = RatioJson(wanted.reference / wanted.candidate, wanted.interval);
    if (wanted.over_compile)
      timing["baselines"] = json::object{{"compile", RatioJson(*wanted.over_compile, 0)}};
  }
  verdict["timing"] = timing;
  if (wanted.bound) {
    verdict["roofline"] = json::object{
        {"bound_us", *wanted.bound}, {"calibrated_us", nullptr}, {"fraction", 0},
        {"limiter", "memory"},       {"precision", ""},          {"source", "datasheet"}};
    if (wanted.calibrated) verdict["roofline"].as_object()["calibrated_us"] = *wanted.calibrated;
  }
  json::object profile;
  if (wanted.coverage_time) profile["coverage_time"] = *wanted.coverage_time;
  if (wanted.coverage_count) profile["coverage_count"] = *wanted.coverage_count;
  if (!profile.empty()) verdict["profile"] = profile;
  return verdict;
}

}  // namespace assay::test
