#include "kernelgym/coverage.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace assay::kernelgym {
namespace {

std::optional<double> Number(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double number = GetDouble(object, key);
  return std::isfinite(number) && number >= 0 ? std::optional(number) : std::nullopt;
}

std::optional<int64_t> Whole(const json::object& object, std::string_view key) {
  const std::optional<double> number = Number(object, key);
  return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
}

template <typename T>
json::value OrNull(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

}  // namespace

std::optional<Coverage> ReadCoverage(const json::object& verdict) {
  const json::object& profile = GetObject(verdict, "profile");
  Coverage coverage;
  coverage.time = Number(profile, "coverage_time");
  coverage.count = Number(profile, "coverage_count");
  coverage.custom_kernels = Whole(profile, "custom_kernels");
  coverage.total_kernels = Whole(profile, "total_kernels");
  coverage.custom_us = Number(profile, "custom_us");
  coverage.total_us = Number(profile, "total_us");
  if (!coverage.time && !coverage.count) return std::nullopt;
  return coverage;
}

void AddCoverage(const json::object& verdict, bool wanted, json::object* metadata) {
  json::object& out = *metadata;
  const std::optional<Coverage> coverage = ReadCoverage(verdict);
  if (!coverage || !wanted) {
    out["num_coverage"] = nullptr;
    out["time_coverage"] = nullptr;
    out["coverage_note"] = wanted ? "this verdict has no profile, so no coverage is known"
                                  : "profiling was switched off by enable_profiling";
    return;
  }
  out["num_coverage"] = OrNull(coverage->count);
  out["time_coverage"] = OrNull(coverage->time);
  if (coverage->custom_kernels && coverage->total_kernels) {
    out["num_custom_kernels"] = *coverage->custom_kernels;
    out["num_total_kernels"] = *coverage->total_kernels;
    out["triton_kernel_coverage"] = fmt::format(
        "Run {} custom kernels / Total {} kernels, Coverage: {:.2f}%", *coverage->custom_kernels,
        *coverage->total_kernels, 100 * coverage->count.value_or(0));
  }
  if (coverage->custom_us && coverage->total_us) {
    out["custom_kernel_cuda_time_in_profiling_us"] = *coverage->custom_us;
    out["total_kernel_run_time_in_profiling_us"] = *coverage->total_us;
    out["custom_kernel_cuda_time_coverage"] =
        fmt::format("Custom kernel CUDA time: {:.2f}us / Total time: {:.2f}us, Coverage: {:.2f}%",
                    *coverage->custom_us, *coverage->total_us, 100 * coverage->time.value_or(0));
  }
}

}  // namespace assay::kernelgym
