#pragma once

#include <optional>

#include "base/json.h"

namespace assay::kernelgym {

/// How much of the device's work a submission's own kernels do, from a verdict's `profile`.
struct Coverage {
  std::optional<double> time;   ///< share of device time, 0 to 1
  std::optional<double> count;  ///< share of the distinct kernels
  /// What the shares were computed from, where the profile tells.
  std::optional<int64_t> custom_kernels;
  std::optional<int64_t> total_kernels;
  std::optional<double> custom_us;
  std::optional<double> total_us;

  /// Kernels ran, and none was the submission's own.
  [[nodiscard]] bool none_own() const {
    if (custom_kernels && total_kernels) return *total_kernels > 0 && *custom_kernels == 0;
    return count && *count == 0;
  }
};

/// Nothing where the verdict has no profile.
std::optional<Coverage> ReadCoverage(const json::object& verdict);

/// Adds KernelGYM's coverage members to a result's metadata: numbers and the two sentences that
/// clients parse; without a profile, nulls and `coverage_note`, which says why.
void AddCoverage(const json::object& verdict, bool wanted, json::object* metadata);

}  // namespace assay::kernelgym
