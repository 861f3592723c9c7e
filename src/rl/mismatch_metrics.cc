#include "rl/mismatch_metrics.h"

#include <limits>
#include <numeric>

namespace assay::rl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Mean, unbiased deviation and range of one figure over rows.
struct RowFigures {
  std::vector<double> values;

  [[nodiscard]] double Mean() const {
    return Share(std::accumulate(values.begin(), values.end(), 0.0),
                 static_cast<double>(values.size()));
  }
  [[nodiscard]] double Std() const {
    if (values.size() < 2) return 0.0;
    const double mean = Mean();
    double sum = 0;
    for (const double v : values) sum += (v - mean) * (v - mean);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
  }
  [[nodiscard]] double Max() const { return values.empty() ? 0.0 : std::ranges::max(values); }
  [[nodiscard]] double Min() const { return values.empty() ? 0.0 : std::ranges::min(values); }
  template <typename Predicate>
  [[nodiscard]] double ShareOf(Predicate predicate) const {
    return Share(static_cast<double>(std::ranges::count_if(values, predicate)),
                 static_cast<double>(values.size()));
  }
};

/// Sums over all population tokens, and one mean weight per row that has any.
struct WeightSums {
  double n = 0;
  double w = 0;
  double limited = 0;
  double limited2 = 0;
  double above = 0;
  double below = 0;
  double max_log = -kInfinity;
  double min_log = kInfinity;
  RowFigures row_means;
};

WeightSums SumWeights(const Index& index, std::span<const RowScan> scans, Level level, int set,
                      double lower, double upper) {
  WeightSums sums;
  const std::vector<double> log_weight =
      level == Level::kToken ? std::vector<double>() : AggregateRows(index, scans, level);
  for (size_t row = 0; row < scans.size(); ++row) {
    const RowScan& scan = scans[row];
    if (scan.n == 0) continue;
    const auto n = static_cast<double>(scan.n);
    sums.n += n;
    if (level == Level::kToken) {
      const RowScan::Limited& limited = scan.limited[set];
      sums.w += scan.sum_rho;
      sums.limited += limited.sum;
      sums.limited2 += limited.sum2;
      sums.above += static_cast<double>(limited.above);
      sums.below += static_cast<double>(limited.below);
      sums.max_log = std::max(sums.max_log, std::clamp(scan.max_log, -kSafety, kSafety));
      sums.min_log = std::min(sums.min_log, std::clamp(scan.min_log, -kSafety, kSafety));
      sums.row_means.values.push_back(scan.sum_rho / n);
      continue;
    }
    const double w = LimitedWeight(log_weight[row]);
    // Not std::clamp: an upper bound below 1 has its inverse above it.
    const double limited = std::min(std::max(w, lower), upper);
    sums.w += n * w;
    sums.limited += n * limited;
    sums.limited2 += n * limited * limited;
    sums.above += w > upper ? n : 0;
    sums.below += w < lower ? n : 0;
    sums.max_log = std::max(sums.max_log, log_weight[row]);
    sums.min_log = std::min(sums.min_log, log_weight[row]);
    sums.row_means.values.push_back(w);
  }
  return sums;
}

}  // namespace

std::vector<double> AggregateRows(const Index& index, std::span<const RowScan> scans, Level level) {
  std::vector<double> log_weight(scans.size(), 0.0);
  const auto mean = [](double sum, int64_t n) {
    return n == 0 ? 0.0 : sum / static_cast<double>(n);
  };
  if (IsTurnLevel(level)) {
    for (size_t row = 0; row < scans.size(); ++row) {
      log_weight[row] =
          level == Level::kTurn ? scans[row].sum_log : mean(scans[row].sum_log, scans[row].n);
    }
    return log_weight;
  }
  for (size_t t = 0; t < index.trajectories(); ++t) {
    double sum = 0;
    int64_t n = 0;
    for (const uint32_t row : index.turns_of(t)) {
      sum += scans[row].sum_log;
      n += scans[row].n;
    }
    const double weight = level == Level::kSequence ? sum : mean(sum, n);
    for (const uint32_t row : index.turns_of(t)) log_weight[row] = weight;
  }
  return log_weight;
}

void AddWeightMetrics(const std::string& prefix, const Index& index, std::span<const RowScan> scans,
                      Level level, int set, double lower, double upper, Metrics& out) {
  const WeightSums sums = SumWeights(index, scans, level, set, lower, upper);
  const auto add = [&](const char* name, double value) { out.emplace_back(prefix + name, value); };
  const double limited_mean = Share(sums.limited, sums.n);
  const double limited_square = Share(sums.limited2, sums.n);
  const bool any = sums.n > 0;
  add("mean", Share(sums.w, sums.n));
  add("max", any ? std::exp(sums.max_log) : 0.0);
  add("min", any ? std::exp(sums.min_log) : 0.0);
  add("std", std::sqrt(std::max(0.0, limited_square - limited_mean * limited_mean)));
  add("eff_sample_size", Share(limited_mean * limited_mean, limited_square));
  add("ratio_fraction_high", Share(sums.above, sums.n));
  add("ratio_fraction_low", Share(sums.below, sums.n));
  const RowFigures& rows = sums.row_means;
  add("seq_mean", rows.Mean());
  add("seq_std", rows.Std());
  add("seq_max", rows.Max());
  add("seq_min", rows.Min());
  add("seq_max_deviation",
      rows.values.empty() ? 0.0 : std::max(std::abs(rows.Max() - 1.0), std::abs(rows.Min() - 1.0)));
  add("seq_fraction_high", rows.ShareOf([&](double w) { return w > upper; }));
  add("seq_fraction_low", rows.ShareOf([&](double w) { return w < lower; }));
}

void AddDivergenceMetrics(std::span<const RowScan> scans, Metrics& out) {
  double n = 0;
  double sum_log = 0;
  double sum_rho = 0;
  double sum_rho2 = 0;
  RowFigures train_nll;
  RowFigures rollout_nll;
  RowFigures train_ppl;
  RowFigures rollout_ppl;
  RowFigures difference;
  RowFigures absolute;
  RowFigures ratio;
  RowFigures sequence_square;
  for (const RowScan& scan : scans) {
    if (scan.n == 0) continue;
    const auto tokens = static_cast<double>(scan.n);
    n += tokens;
    sum_log += scan.sum_log;
    sum_rho += scan.sum_rho;
    sum_rho2 += scan.sum_rho2;
    const double train = -scan.sum_train / tokens;
    const double rollout = -scan.sum_rollout / tokens;
    train_nll.values.push_back(train);
    rollout_nll.values.push_back(rollout);
    train_ppl.values.push_back(std::exp(train));
    rollout_ppl.values.push_back(std::exp(rollout));
    const double gap = train - rollout;
    difference.values.push_back(gap);
    absolute.values.push_back(std::abs(gap));
    ratio.values.push_back(std::exp(gap));
    const double rho = LimitedWeight(scan.sum_log);
    sequence_square.values.push_back(rho * rho);
  }
  const bool any = n > 0;
  out.emplace_back("training_ppl", train_ppl.Mean());
  out.emplace_back("training_log_ppl", train_nll.Mean());
  out.emplace_back("rollout_ppl", rollout_ppl.Mean());
  out.emplace_back("rollout_log_ppl", rollout_nll.Mean());
  out.emplace_back("kl", -Share(sum_log, n));
  out.emplace_back("k3_kl", any ? (sum_rho - sum_log) / n - 1.0 : 0.0);
  out.emplace_back("log_ppl_diff", difference.Mean());
  out.emplace_back("log_ppl_abs_diff", absolute.Mean());
  out.emplace_back("log_ppl_diff_max", difference.Max());
  out.emplace_back("log_ppl_diff_min", difference.Min());
  out.emplace_back("ppl_ratio", ratio.Mean());
  out.emplace_back("chi2_token", any ? sum_rho2 / n - 1.0 : 0.0);
  out.emplace_back("chi2_seq", any ? sequence_square.Mean() - 1.0 : 0.0);
}

}  // namespace assay::rl
