#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay::rl {

/// Statistics with which evaluations are reported. All are deterministic: resampling draws from a
/// counter-based generator with the seed given.

/// A figure and its confidence interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Unbiased pass@k of one task: 1 - C(n - c, k) / C(n, k) for n samples of which c pass. With c the
/// number of samples that are correct and fast it is fast_p@k. Needs 0 <= c <= n, 1 <= k <= n.
Result<double> PassAtK(int64_t n, int64_t c, int64_t k);

/// Mean of PassAtK over tasks. Every task needs at least k samples.
Result<double> MeanPassAtK(std::span<const int64_t> n, std::span<const int64_t> c, int64_t k);

/// Expectation of the best of k samples drawn without replacement from `values`, by order
/// statistics.
Result<double> BestAtK(std::span<const double> values, int64_t k);

/// Wilson's score interval of a proportion; [0, 1] without trials.
Result<Interval> WilsonInterval(int64_t successes, int64_t trials, double confidence = 0.95);

/// fast_p: share of tasks that are correct with a speedup above p (`inclusive`: at least p), with
/// Wilson's interval. Incorrect tasks count as not fast whatever their speedup.
Result<Interval> FastP(std::span<const uint8_t> correct, std::span<const double> speedup, double p,
                       bool inclusive = false, double confidence = 0.95);

/// Bias-corrected and accelerated bootstrap of the mean of `values` (one per task). With identical
/// values, or one, the interval is the value.
Result<Interval> BcaMean(std::span<const double> values, int resamples = 10000, uint64_t seed = 0,
                         double confidence = 0.95);

/// The geometric mean with the interval of BcaMean on logarithms; values must be positive. For
/// speedups.
Result<Interval> BcaGeometricMean(std::span<const double> values, int resamples = 10000,
                                  uint64_t seed = 0, double confidence = 0.95);

/// Percentile bootstrap of the median.
Result<Interval> BootstrapMedian(std::span<const double> values, int resamples = 10000,
                                 uint64_t seed = 0, double confidence = 0.95);

struct McNemarResult {
  double exact = 1;  ///< two-sided binomial test on the discordant pairs
  double mid_p = 1;
};

/// Paired comparison of two proportions: `only_a` tasks that only A solves, `only_b` that only B
/// does.
Result<McNemarResult> McNemar(int64_t only_a, int64_t only_b);

/// Two-sided sign-flip permutation test that the mean of paired differences is 0: exact over all
/// 2^n signs up to n = 20, else with `resamples` random ones and p = (1 + hits) / (1 + resamples).
Result<double> SignFlip(std::span<const double> differences, int resamples = 100000,
                        uint64_t seed = 0);

/// Samples of one arm: value[i] belongs to task[i]. Any task ids.
struct Arm {
  std::span<const int64_t> task;
  std::span<const double> value;
};

/// Percentile bootstrap through the hierarchy family -> task -> sample of the mean over tasks of
/// the mean over samples. `family_of` gives (task, family) pairs; empty: every task is its own
/// family, so tasks are resampled.
Result<Interval> HierarchicalMean(const Arm& arm,
                                  std::span<const std::pair<int64_t, int64_t>> family_of,
                                  int resamples = 10000, uint64_t seed = 0,
                                  double confidence = 0.95);

/// The same of the difference a - b: families and tasks are resampled for both arms together,
/// samples for each on its own. Both arms must have the same tasks.
Result<Interval> HierarchicalDifference(const Arm& a, const Arm& b,
                                        std::span<const std::pair<int64_t, int64_t>> family_of,
                                        int resamples = 10000, uint64_t seed = 0,
                                        double confidence = 0.95);

/// Holm's step-down adjustment: p-values that control the family-wise error, in the input's order.
Result<std::vector<double>> Holm(std::span<const double> p_values);

/// Standard normal distribution function and its inverse (p in (0, 1)).
double NormalCdf(double x);
double NormalQuantile(double p);

}  // namespace assay::rl
