// The resampling half of evaluation.h.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "rl/batch.h"
#include "rl/evaluation.h"
#include "rl/random.h"

namespace assay::rl {
namespace {

Status CheckResampling(int resamples, double confidence) {
  if (resamples < 1)
    return Err(ErrorCode::kInvalid, "resamples is {}; it must be positive", resamples);
  if (!(confidence > 0 && confidence < 1)) {
    return Err(ErrorCode::kInvalid, "confidence is {}; it must be between 0 and 1", confidence);
  }
  return {};
}

Status CheckFinite(std::span<const double> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return Err(ErrorCode::kInvalid, "value {} is {}", i, values[i]);
  }
  return {};
}

/// Quantile of sorted values, type 7.
double SortedQuantile(std::span<const double> sorted, double q) {
  const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<size_t>(position);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (position - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sums of all sign choices of `values`, 2^n of them.
std::vector<double> SignedSums(std::span<const double> values) {
  std::vector<double> sums = {0.0};
  for (const double v : values) {
    const size_t n = sums.size();
    for (size_t i = 0; i < n; ++i) sums.push_back(sums[i] + v);
    for (size_t i = 0; i < n; ++i) sums[i] -= v;
  }
  return sums;
}

}  // namespace

Result<Interval> BcaMean(std::span<const double> values, int resamples, uint64_t seed,
                         double confidence) {
  ASSAY_RETURN_IF_ERROR(CheckResampling(resamples, confidence));
  ASSAY_RETURN_IF_ERROR(CheckFinite(values));
  if (values.empty()) return Err(ErrorCode::kInvalid, "no value");
  const double mean = Mean(values);
  const auto [low, high] = std::ranges::minmax(values);
  if (low == high) return Interval{low, low, low};

  Random random(seed);
  std::vector<double> means(static_cast<size_t>(resamples));
  for (double& m : means) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i) sum += values[random.Below(values.size())];
    m = sum / static_cast<double>(values.size());
  }
  std::ranges::sort(means);
  // Share of resamples below the mean, ties counted half: the bias of the median.
  const auto first = std::ranges::lower_bound(means, mean);
  const auto last = std::ranges::upper_bound(means, mean);
  const double below =
      static_cast<double>(first - means.begin()) + 0.5 * static_cast<double>(last - first);
  const double share = std::clamp(below / resamples, 0.5 / resamples, 1.0 - 0.5 / resamples);
  const double z0 = NormalQuantile(share);
  // Acceleration from the jackknife; for the mean the deletions' deviations are proportional to the
  // values' own.
  double square = 0;
  double cube = 0;
  for (const double v : values) {
    const double d = v - mean;
    square += d * d;
    cube += d * d * d;
  }
  const double acceleration = cube / (6.0 * std::pow(square, 1.5));
  const auto bound = [&](double alpha) {
    const double z = z0 + NormalQuantile(alpha);
    // Beyond its pole (one outlier, an extreme confidence) the correction turns round.
    if (acceleration * z >= 1.0) return z > 0 ? means.back() : means.front();
    return SortedQuantile(means, NormalCdf(z0 + z / (1.0 - acceleration * z)));
  };
  return Interval{mean, bound((1 - confidence) / 2), bound((1 + confidence) / 2)};
}

Result<Interval> BcaGeometricMean(std::span<const double> values, int resamples, uint64_t seed,
                                  double confidence) {
  std::vector<double> logs;
  for (const double value : values) {
    if (!(value > 0))
      return Err(ErrorCode::kInvalid, "a value is {}; a geometric mean needs positive ones", value);
    logs.push_back(std::log(value));
  }
  ASSAY_ASSIGN_OR_RETURN(const Interval interval, BcaMean(logs, resamples, seed, confidence));
  return Interval{std::exp(interval.value), std::exp(interval.low), std::exp(interval.high)};
}

Result<Interval> BootstrapMedian(std::span<const double> values, int resamples, uint64_t seed,
                                 double confidence) {
  ASSAY_RETURN_IF_ERROR(CheckResampling(resamples, confidence));
  ASSAY_RETURN_IF_ERROR(CheckFinite(values));
  if (values.empty()) return Err(ErrorCode::kInvalid, "no value");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  // A resample is drawn by ranks: its median is the value at the median rank.
  const size_t n = sorted.size();
  Random random(seed);
  std::vector<size_t> ranks(n);
  std::vector<double> medians(static_cast<size_t>(resamples));
  const auto median = [&](const auto& at) {
    return n % 2 == 1 ? at(n / 2) : 0.5 * (at(n / 2 - 1) + at(n / 2));
  };
  for (double& m : medians) {
    for (size_t& rank : ranks) rank = random.Below(n);
    std::ranges::sort(ranks);
    m = median([&](size_t i) { return sorted[ranks[i]]; });
  }
  std::ranges::sort(medians);
  return Interval{median([&](size_t i) { return sorted[i]; }),
                  SortedQuantile(medians, (1 - confidence) / 2),
                  SortedQuantile(medians, (1 + confidence) / 2)};
}

Result<double> SignFlip(std::span<const double> differences, int resamples, uint64_t seed) {
  ASSAY_RETURN_IF_ERROR(CheckResampling(resamples, 0.5));
  ASSAY_RETURN_IF_ERROR(CheckFinite(differences));
  const size_t n = differences.size();
  if (n == 0) return Err(ErrorCode::kInvalid, "no difference");
  double size = 0;
  double sum = 0;
  for (const double d : differences) {
    size += std::abs(d);
    sum += d;
  }
  // Sums in another order differ in the last bits; equal is equal all the same.
  const double observed = std::abs(sum) - 1e-12 * size;
  constexpr size_t kExactUpTo = 20;
  if (n <= kExactUpTo) {
    const std::vector<double> left = SignedSums(differences.first(n / 2));
    const std::vector<double> right = SignedSums(differences.subspan(n / 2));
    int64_t hits = 0;
    for (const double a : left) {
      for (const double b : right) hits += std::abs(a + b) >= observed ? 1 : 0;
    }
    return static_cast<double>(hits) / static_cast<double>(left.size() * right.size());
  }
  Random random(seed);
  int64_t hits = 0;
  for (int i = 0; i < resamples; ++i) {
    double flipped = 0;
    uint64_t bits = 0;
    for (size_t j = 0; j < n; ++j) {
      if (j % 64 == 0) bits = random.Next();
      flipped += (bits & 1U) != 0 ? differences[j] : -differences[j];
      bits >>= 1U;
    }
    hits += std::abs(flipped) >= observed ? 1 : 0;
  }
  return static_cast<double>(hits + 1) / (resamples + 1.0);
}

namespace {

struct Task {
  std::vector<double> a;
  std::vector<double> b;  // empty without a second arm
};

using Family = std::vector<Task>;

Status AddArm(const Arm& arm, std::map<int64_t, Task>& tasks, std::vector<double> Task::*values) {
  ASSAY_RETURN_IF_ERROR(CheckSize("value", arm.value.size(), arm.task.size()));
  ASSAY_RETURN_IF_ERROR(CheckFinite(arm.value));
  for (size_t i = 0; i < arm.task.size(); ++i) (tasks[arm.task[i]].*values).push_back(arm.value[i]);
  return {};
}

Result<std::vector<Family>> Families(const std::map<int64_t, Task>& tasks,
                                     std::span<const std::pair<int64_t, int64_t>> family_of) {
  const std::map<int64_t, int64_t> family(family_of.begin(), family_of.end());
  std::map<int64_t, Family> families;
  for (const auto& [id, task] : tasks) {
    int64_t of = id;
    if (!family.empty()) {
      const auto it = family.find(id);
      if (it == family.end()) return Err(ErrorCode::kInvalid, "task {} has no family", id);
      of = it->second;
    }
    families[of].push_back(task);
  }
  std::vector<Family> result;
  result.reserve(families.size());
  for (auto& [id, members] : families) result.push_back(std::move(members));
  return result;
}

double ResampledMean(std::span<const double> values, Random& random) {
  if (values.size() == 1) return values[0];
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += values[random.Below(values.size())];
  return sum / static_cast<double>(values.size());
}

Result<Interval> Hierarchical(const std::map<int64_t, Task>& tasks, bool two_arms,
                              std::span<const std::pair<int64_t, int64_t>> family_of, int resamples,
                              uint64_t seed, double confidence) {
  ASSAY_RETURN_IF_ERROR(CheckResampling(resamples, confidence));
  if (tasks.empty()) return Err(ErrorCode::kInvalid, "no sample");
  double observed = 0;
  for (const auto& [id, task] : tasks) {
    if (task.a.empty() || (two_arms && task.b.empty())) {
      return Err(ErrorCode::kInvalid, "task {} has samples in one arm only", id);
    }
    observed += Mean(task.a) - (two_arms ? Mean(task.b) : 0.0);
  }
  observed /= static_cast<double>(tasks.size());
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Family> families, Families(tasks, family_of));

  Random random(seed);
  std::vector<double> figures(static_cast<size_t>(resamples));
  for (double& figure : figures) {
    double sum = 0;
    double n = 0;
    for (size_t f = 0; f < families.size(); ++f) {
      const Family& family = families[random.Below(families.size())];
      for (size_t t = 0; t < family.size(); ++t) {
        const Task& task = family[random.Below(family.size())];
        sum += ResampledMean(task.a, random);
        if (two_arms) sum -= ResampledMean(task.b, random);
        n += 1;
      }
    }
    figure = sum / n;
  }
  std::ranges::sort(figures);
  return Interval{observed, SortedQuantile(figures, (1 - confidence) / 2),
                  SortedQuantile(figures, (1 + confidence) / 2)};
}

}  // namespace

Result<Interval> HierarchicalMean(const Arm& arm,
                                  std::span<const std::pair<int64_t, int64_t>> family_of,
                                  int resamples, uint64_t seed, double confidence) {
  std::map<int64_t, Task> tasks;
  ASSAY_RETURN_IF_ERROR(AddArm(arm, tasks, &Task::a));
  return Hierarchical(tasks, false, family_of, resamples, seed, confidence);
}

Result<Interval> HierarchicalDifference(const Arm& a, const Arm& b,
                                        std::span<const std::pair<int64_t, int64_t>> family_of,
                                        int resamples, uint64_t seed, double confidence) {
  std::map<int64_t, Task> tasks;
  ASSAY_RETURN_IF_ERROR(AddArm(a, tasks, &Task::a));
  ASSAY_RETURN_IF_ERROR(AddArm(b, tasks, &Task::b));
  return Hierarchical(tasks, true, family_of, resamples, seed, confidence);
}

}  // namespace assay::rl
