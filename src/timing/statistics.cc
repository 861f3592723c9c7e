#include "timing/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/result.h"

namespace assay {
namespace {

// Enough that the 2.5 % point rests on 50 resamples; more moves the interval by less than its own
// third digit.
constexpr int kResamples = 2000;
constexpr uint64_t kBootstrapSeed = 0x41535341595F3031;

// Half of an interval, on the log scale, at the most: its ends stay numbers, whatever the times
// are.
constexpr double kWidest = 50;

/// Student's t: 97.5 % quantile for 1, 2, ... degrees of freedom.
constexpr std::array kStudent = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131};

/// Quantile of samples that are in order.
double SortedQuantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  // Interpolating between equal values must not leave them (nor turn inf into NaN).
  if (fraction == 0 || sorted[below] == sorted[above]) return sorted[below];
  return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

std::vector<double> Sorted(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

/// SplitMix64: a counter through a mixing function, the same on every platform.
class Generator {
 public:
  /// Uniform in [0, n). The bias of n / 2^32 is far below what 2,000 resamples resolve.
  uint32_t Below(uint32_t n) {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30u)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27u)) * 0x94D049BB133111EB;
    z ^= z >> 31u;
    return static_cast<uint32_t>(((z >> 32u) * n) >> 32u);
  }

 private:
  uint64_t state_ = kBootstrapSeed;
};

/// Median of the resample that takes sorted[i] counts[i] times.
double CountedMedian(std::span<const double> sorted, std::span<const uint32_t> counts) {
  const size_t n = sorted.size();
  const size_t lower_rank = (n - 1) / 2;
  const size_t upper_rank = n / 2;
  size_t seen = 0;
  size_t i = 0;
  while (seen + counts[i] <= lower_rank) seen += counts[i++];
  const double lower = sorted[i];
  while (seen + counts[i] <= upper_rank) seen += counts[i++];
  return lower == sorted[i] ? lower : lower + (sorted[i] - lower) / 2;
}

/// Half of Student's 95 % interval of the mean of log(samples / scale), of 2 to 16 samples.
double StudentHalf(std::span<const double> samples, double scale) {
  const auto n = static_cast<double>(samples.size());
  double sum = 0;
  double squares = 0;
  for (const double sample : samples) {
    const double log = std::log(sample / scale);
    sum += log;
    squares += log * log;
  }
  const double variance = std::max(0.0, squares - sum * sum / n) / (n - 1);
  return std::min(kWidest, kStudent[samples.size() - 2] * std::sqrt(variance / n));
}

}  // namespace

double Quantile(std::span<const double> samples, double q) {
  ASSAY_CHECK(!samples.empty());
  ASSAY_CHECK(q >= 0 && q <= 1);
  return SortedQuantile(Sorted(samples), q);
}

Summary Summarize(std::span<const double> samples) {
  ASSAY_CHECK(!samples.empty());
  const std::vector<double> sorted = Sorted(samples);
  return {.median = SortedQuantile(sorted, 0.5),
          .p20 = SortedQuantile(sorted, 0.2),
          .p80 = SortedQuantile(sorted, 0.8),
          .min = sorted.front(),
          .n = static_cast<int>(sorted.size())};
}

namespace {

/// reference[i] / candidate[i].
std::vector<double> RatiosOf(std::span<const double> reference, std::span<const double> candidate) {
  ASSAY_CHECK(!reference.empty());
  ASSAY_CHECK(reference.size() == candidate.size());
  const size_t n = reference.size();
  std::vector<double> ratios(n);
  for (size_t i = 0; i < n; ++i) {
    ASSAY_CHECK(std::isfinite(reference[i]) && reference[i] > 0);
    ASSAY_CHECK(std::isfinite(candidate[i]) && candidate[i] > 0);
    ratios[i] = reference[i] / candidate[i];
  }
  return ratios;
}

Ratio Resampled(std::span<const double> unsorted) {
  const std::vector<double> ratios = Sorted(unsorted);
  const size_t n = ratios.size();
  const double value = SortedQuantile(ratios, 0.5);
  if (n == 1) return {value, value, value};

  // A resample's median depends only on how often each round was drawn, so it needs no sorting.
  Generator generator;
  std::vector<double> medians(kResamples);
  std::vector<uint32_t> counts(n);
  for (double& median : medians) {
    std::fill(counts.begin(), counts.end(), 0);
    for (size_t i = 0; i < n; ++i) ++counts[generator.Below(static_cast<uint32_t>(n))];
    median = CountedMedian(ratios, counts);
  }
  std::sort(medians.begin(), medians.end());
  return {.value = value,
          .low = std::min(value, SortedQuantile(medians, 0.025)),
          .high = std::max(value, SortedQuantile(medians, 0.975))};
}

}  // namespace

Ratio ResampledRatio(std::span<const double> reference, std::span<const double> candidate) {
  return Resampled(RatiosOf(reference, candidate));
}

Ratio PairedRatio(std::span<const double> reference, std::span<const double> candidate) {
  const std::vector<double> ratios = RatiosOf(reference, candidate);
  Ratio ratio = Resampled(ratios);
  if (ratios.size() == 1 || ratios.size() > kStudent.size() + 1) return ratio;
  const double half = StudentHalf(ratios, ratio.value);
  ratio.low = std::min(ratio.low, ratio.value * std::exp(-half));
  ratio.high = std::max(ratio.high, ratio.value * std::exp(half));
  return ratio;
}

Ratio RatioOverPairs(std::span<const double> reference, std::span<const double> candidate,
                     std::span<const int> rounds) {
  ASSAY_CHECK(!rounds.empty() && rounds.size() <= kStudent.size() + 1);
  if (rounds.size() == 1) return PairedRatio(reference, candidate);
  std::vector<double> ratios;
  double logs = 0;
  size_t at = 0;
  for (const int count : rounds) {
    const auto size = static_cast<size_t>(count);
    ASSAY_CHECK(count > 0 && at + size <= reference.size());
    ratios.push_back(PairedRatio(reference.subspan(at, size), candidate.subspan(at, size)).value);
    logs += std::log(ratios.back());
    at += size;
  }
  ASSAY_CHECK(at == reference.size());
  const double value = std::exp(logs / static_cast<double>(ratios.size()));
  const double half = StudentHalf(ratios, value);
  return {value, value * std::exp(-half), value * std::exp(half)};
}

}  // namespace assay
