#include "rl/scaling.h"

#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "rl/batch.h"

namespace assay::rl {
namespace {

/// The metric of every turn: a first and a second criterion (empty: none).
Result<std::pair<std::span<const double>, std::span<const double>>> Criteria(
    int64_t turns, WindowMetric metric, const History& history) {
  std::span<const double> first = history.reward;
  std::span<const double> second;
  const char* name = "reward";
  if (metric == WindowMetric::kPerformance) {
    std::tie(first, name) = std::pair(history.speedup, "speedup");
  } else if (metric != WindowMetric::kReward) {
    std::tie(first, name) = std::pair(history.coverage, "coverage");
  }
  ASSAY_RETURN_IF_ERROR(CheckSize(name, first.size(), static_cast<size_t>(turns)));
  if (metric == WindowMetric::kCoverageThenReward) {
    second = history.reward;
    ASSAY_RETURN_IF_ERROR(CheckSize("reward", second.size(), static_cast<size_t>(turns)));
  }
  for (const auto& values : {first, second}) {
    for (size_t t = 0; t < values.size(); ++t) {
      if (std::isnan(values[t])) return Err(ErrorCode::kInvalid, "turn {}: the metric is nan", t);
    }
  }
  return std::pair(first, second);
}

double Sum(std::span<const double> values, int64_t begin, int64_t n) {
  if (values.empty()) return 0.0;
  const auto part = values.subspan(static_cast<size_t>(begin), static_cast<size_t>(n));
  return std::accumulate(part.begin(), part.end(), 0.0);
}

}  // namespace

Result<int64_t> TotalTurns(const ScalingOptions& options) {
  if (options.iterations < 1 || options.remain < 0 || options.remain >= options.turns) {
    return Err(ErrorCode::kInvalid,
               "{} turns, {} iterations, {} remain: at least one iteration, and fewer turns must "
               "remain than an iteration has",
               options.turns, options.iterations, options.remain);
  }
  int64_t total = 0;
  if (__builtin_mul_overflow(options.iterations - 1, options.turns - options.remain, &total) ||
      __builtin_add_overflow(total, options.turns, &total)) {
    return Err(ErrorCode::kInvalid, "{} iterations of {} turns are more than can be counted",
               options.iterations, options.turns);
  }
  return total;
}

Result<WindowMethod> FindWindowMethod(std::string_view name) {
  if (name == "last") return WindowMethod::kLast;
  if (name == "best") return WindowMethod::kBest;
  return Err(ErrorCode::kInvalid, "no method '{}'; use last or best", name);
}

Result<WindowMetric> FindWindowMetric(std::string_view name) {
  if (name == "reward") return WindowMetric::kReward;
  if (name == "performance") return WindowMetric::kPerformance;
  if (name == "time_coverage") return WindowMetric::kCoverage;
  if (name == "time_coverage_reward") return WindowMetric::kCoverageThenReward;
  return Err(ErrorCode::kInvalid,
             "no metric '{}'; use reward, performance, time_coverage or time_coverage_reward",
             name);
}

Result<Window> SelectWindow(int64_t turns, int64_t remain, WindowMethod method, WindowMetric metric,
                            const History& history) {
  if (turns < 0 || remain < 0)
    return Err(ErrorCode::kInvalid, "turns is {} and remain is {}; both must be >= 0", turns,
               remain);
  if (turns <= remain) return Window{0, turns};
  if (method == WindowMethod::kLast) return Window{turns - remain, turns};
  ASSAY_ASSIGN_OR_RETURN(const auto criteria, Criteria(turns, metric, history));
  int64_t best = 0;
  std::pair<double, double> most;
  for (int64_t begin = 0; begin + remain <= turns; ++begin) {
    // Summed anew for each window: a running sum would let rounding decide between equal ones.
    const std::pair sums(Sum(criteria.first, begin, remain), Sum(criteria.second, begin, remain));
    if (begin == 0 || sums > most) std::tie(best, most) = std::pair(begin, sums);
  }
  return Window{best, best + remain};
}

}  // namespace assay::rl
