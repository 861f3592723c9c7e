#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace assay::rl {

/// Sequential test-time scaling: a conversation of M turns is continued for I iterations; each
/// keeps a window of K consecutive earlier turns in its context and adds M - K new ones.
struct ScalingOptions {
  int64_t turns = 3;       ///< M, per iteration
  int64_t iterations = 1;  ///< I
  int64_t remain = 2;      ///< K
};

/// M + (I - 1) (M - K), the turns of the whole run. kInvalid unless 0 <= K < M and I >= 1 (with K =
/// M an iteration would add nothing).
Result<int64_t> TotalTurns(const ScalingOptions& options);

enum class WindowMethod {
  kLast,  ///< the last K turns
  kBest,  ///< the K consecutive turns with the greatest sum of the metric; of equal ones the first
};
enum class WindowMetric {
  kReward,
  kPerformance,         ///< speedup
  kCoverage,            ///< time coverage
  kCoverageThenReward,  ///< sums of coverage; equal ones by sums of reward
};

/// "last", "best"; "reward", "performance", "time_coverage", "time_coverage_reward".
Result<WindowMethod> FindWindowMethod(std::string_view name);
Result<WindowMetric> FindWindowMetric(std::string_view name);

/// What is known of all turns so far, in the order in which they were made. A metric's spans must
/// be given where it is used.
struct History {
  std::span<const double> reward;
  std::span<const double> speedup;
  std::span<const double> coverage;
};

/// Turns [begin, end) of the history that stay in the context.
struct Window {
  int64_t begin = 0;
  int64_t end = 0;
};

/// All turns if there are no more than `remain`. kInvalid on remain < 0, spans that are missing or
/// differ in length, and NaN.
Result<Window> SelectWindow(int64_t turns, int64_t remain, WindowMethod method, WindowMetric metric,
                            const History& history);

}  // namespace assay::rl
