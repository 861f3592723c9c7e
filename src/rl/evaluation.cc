#include "rl/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rl/batch.h"

namespace assay::rl {
namespace {

constexpr double kPi = 3.14159265358979323846;

Status CheckConfidence(double confidence) {
  if (confidence > 0 && confidence < 1) return {};
  return Err(ErrorCode::kInvalid, "confidence is {}; it must be between 0 and 1", confidence);
}

/// std::lgamma writes the sign to a global variable, from every thread.
double LogGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// log C(n, k) / 2^n.
double LogBinomialHalf(int64_t n, int64_t k) {
  const auto x = static_cast<double>(n);
  const auto y = static_cast<double>(k);
  return LogGamma(x + 1) - LogGamma(y + 1) - LogGamma(x - y + 1) - x * std::log(2.0);
}

}  // namespace

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

double NormalQuantile(double p) {
  if (p <= 0) return -HUGE_VAL;
  if (p >= 1) return HUGE_VAL;
  if (p > 0.5) return -NormalQuantile(1.0 - p);
  // A coarse start in the lower tail (Hastings' rational form), then Newton on log Phi, which is
  // concave: it converges from here in a few steps for every p.
  const double t = std::sqrt(-2.0 * std::log(p));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 5; ++i) {
    const double cdf = NormalCdf(x);
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * kPi);
    x -= (std::log(cdf) - std::log(p)) * cdf / density;
  }
  return x;
}

Result<double> PassAtK(int64_t n, int64_t c, int64_t k) {
  if (c < 0 || c > n || k < 1 || k > n) {
    return Err(
        ErrorCode::kInvalid,
        "pass@{} of {} passes in {} samples: needs 0 <= passes <= samples and 1 <= k <= samples", k,
        c, n);
  }
  // C(n - c, k) / C(n, k) is the same with c and k exchanged.
  const auto [factors, taken] = std::minmax(c, k);
  double miss = 1.0;
  for (int64_t i = 0; i < factors && miss > 0; ++i) {
    miss *= static_cast<double>(std::max<int64_t>(n - taken - i, 0)) / static_cast<double>(n - i);
  }
  return 1.0 - miss;
}

Result<double> MeanPassAtK(std::span<const int64_t> n, std::span<const int64_t> c, int64_t k) {
  ASSAY_RETURN_IF_ERROR(CheckSize("passes", c.size(), n.size()));
  if (n.empty()) return Err(ErrorCode::kInvalid, "no task");
  double sum = 0;
  for (size_t i = 0; i < n.size(); ++i) {
    ASSAY_ASSIGN_OR_RETURN(const double pass, PassAtK(n[i], c[i], k));
    sum += pass;
  }
  return sum / static_cast<double>(n.size());
}

Result<double> BestAtK(std::span<const double> values, int64_t k) {
  const auto n = static_cast<int64_t>(values.size());
  if (k < 1 || k > n) {
    return Err(ErrorCode::kInvalid, "best@{} of {} samples: needs 1 <= k <= samples", k, n);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) return Err(ErrorCode::kInvalid, "value {} is not a number", i);
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted, std::ranges::greater());
  // P(the i-th best is the best drawn) = C(n - 1 - i, k - 1) / C(n, k), built step by step.
  double probability = static_cast<double>(k) / static_cast<double>(n);
  double sum = 0;
  for (int64_t i = 0; i <= n - k; ++i) {
    sum += probability * sorted[static_cast<size_t>(i)];
    if (i < n - k) probability *= static_cast<double>(n - k - i) / static_cast<double>(n - 1 - i);
  }
  return sum;
}

Result<Interval> WilsonInterval(int64_t successes, int64_t trials, double confidence) {
  ASSAY_RETURN_IF_ERROR(CheckConfidence(confidence));
  if (successes < 0 || successes > trials) {
    return Err(ErrorCode::kInvalid, "{} successes in {} trials", successes, trials);
  }
  if (trials == 0) return Interval{0, 0, 1};
  const auto n = static_cast<double>(trials);
  const double p = static_cast<double>(successes) / n;
  const double z = NormalQuantile(0.5 + confidence / 2);
  const double z2 = z * z / n;
  const double center = (p + z2 / 2) / (1 + z2);
  const double half = z / (1 + z2) * std::sqrt(p * (1 - p) / n + z2 / (4 * n));
  // The bounds at 0 and n successes are 0 and 1; rounding must not leave a trace of it.
  return Interval{p, successes == 0 ? 0.0 : center - half,
                  successes == trials ? 1.0 : center + half};
}

Result<Interval> FastP(std::span<const uint8_t> correct, std::span<const double> speedup, double p,
                       bool inclusive, double confidence) {
  ASSAY_RETURN_IF_ERROR(CheckSize("speedup", speedup.size(), correct.size()));
  if (std::isnan(p)) return Err(ErrorCode::kInvalid, "p is nan; give the speedup to exceed");
  int64_t fast = 0;
  for (size_t i = 0; i < correct.size(); ++i) {
    if (correct[i] == 0) continue;
    if (std::isnan(speedup[i])) return Err(ErrorCode::kInvalid, "task {}: speedup is nan", i);
    fast += (inclusive ? speedup[i] >= p : speedup[i] > p) ? 1 : 0;
  }
  return WilsonInterval(fast, static_cast<int64_t>(correct.size()), confidence);
}

Result<McNemarResult> McNemar(int64_t only_a, int64_t only_b) {
  constexpr int64_t kMost = 1'000'000'000;
  if (only_a < 0 || only_b < 0 || only_a > kMost || only_b > kMost)
    return Err(ErrorCode::kInvalid, "counts of tasks are {} and {}; they must be in [0, {}]",
               only_a, only_b, kMost);
  const int64_t n = only_a + only_b;
  if (n == 0) return McNemarResult{};
  const int64_t k = std::min(only_a, only_b);
  double tail = 0;
  const double point = std::exp(LogBinomialHalf(n, k));
  // From the largest term down, until what follows cannot be seen in the sum.
  double term = point;
  for (int64_t i = k; i >= 0 && term > tail * 1e-18; --i) {
    tail += term;
    term *= static_cast<double>(i) / static_cast<double>(n - i + 1);
  }
  McNemarResult result;
  result.exact = std::min(1.0, 2.0 * tail);
  result.mid_p = only_a == only_b ? 1.0 - point / 2 : 2.0 * tail - point;
  return result;
}

Result<std::vector<double>> Holm(std::span<const double> p_values) {
  for (const double p : p_values) {
    if (!(p >= 0 && p <= 1)) return Err(ErrorCode::kInvalid, "p-value {} is not in [0, 1]", p);
  }
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double running = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const double scaled = static_cast<double>(order.size() - i) * p_values[order[i]];
    running = std::max(running, std::min(1.0, scaled));
    adjusted[order[i]] = running;
  }
  return adjusted;
}

}  // namespace assay::rl
