#include "rl/turn_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace assay::rl {
namespace {

double Share(double part, double whole) { return whole == 0 ? 0.0 : part / whole; }

double Mean(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return Share(sum, static_cast<double>(values.size()));
}

/// A judged turn, as far as speed is concerned.
struct Judged {
  bool correct = false;
  double speedup = 0;  // 0 if not correct
};

void AddQuarters(const std::string& prefix, std::vector<double> values, Metrics* out) {
  static constexpr const char* kNames[] = {"top_25", "p25_50", "p50_75", "p75_100"};
  std::ranges::sort(values, std::ranges::greater());
  for (size_t q = 0; q < std::size(kNames); ++q) {
    const size_t begin = q * values.size() / 4;
    const size_t end = (q + 1) * values.size() / 4;
    out->emplace_back(prefix + kNames[q], Mean(std::span(values).subspan(begin, end - begin)));
  }
}

/// count, correctness_rate and SPEED of turn_metrics.h.
void AddSpeed(const std::string& prefix, std::span<const Judged> judged,
              std::span<const double> thresholds, Metrics* out) {
  std::vector<double> all;
  std::vector<double> correct;
  for (const Judged& j : judged) {
    all.push_back(j.speedup);
    if (j.correct) correct.push_back(j.speedup);
  }
  const auto n = static_cast<double>(judged.size());
  const auto right = static_cast<double>(correct.size());
  const auto extreme = [&](auto pick) { return correct.empty() ? 0.0 : *pick(correct); };
  out->emplace_back(prefix + "count", n);
  out->emplace_back(prefix + "correctness_rate", Share(right, n));
  out->emplace_back(prefix + "mean_performance", Mean(correct));
  out->emplace_back(prefix + "max_performance", extreme(std::ranges::max_element));
  out->emplace_back(prefix + "min_performance", extreme(std::ranges::min_element));
  out->emplace_back(prefix + "mean_performance_in_all", Mean(all));
  for (const double p : thresholds) {
    const auto fast = static_cast<double>(
        std::ranges::count_if(correct, [&](double speedup) { return speedup >= p; }));
    out->emplace_back(fmt::format("{}fast@{}", prefix, p), Share(fast, right));
    out->emplace_back(fmt::format("{}fast@{}_in_all", prefix, p), Share(fast, n));
  }
  AddQuarters(prefix + "performance_percentile/", correct, out);
  AddQuarters(prefix + "performance_percentile_in_all/", all, out);
}

class Report {
 public:
  Report(const Index& index, const Rows& rows, const TurnOutcomes& outcomes,
         const TurnMetricsOptions& options)
      : index_(index), rows_(rows), outcomes_(outcomes), options_(options) {}

  Metrics Run() {
    for (uint32_t row = 0; row < index_.rows(); ++row) {
      if (!index_.is_padding(row) && Valid(row)) by_turn_[rows_.turn[row]].push_back(row);
    }
    for (const auto& [turn, members] : by_turn_) AddTurn(turn, members);
    for (const auto& entry : by_turn_) {
      AddSamples(fmt::format("best_by_turn_{}/", entry.first),
                 [&](auto turns) { return BestUntil(turns, entry.first); });
    }
    AddSamples("final/", [&](auto turns) { return turns.empty() ? Judged{} : At(turns.back()); });
    if (!outcomes_.told_speedup.empty())
      AddSamples("selected/", [&](auto turns) { return Selected(turns); });
    AddImprovement();
    AddCounts();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool Abnormal(uint32_t row) const {
    return !outcomes_.abnormal.empty() && outcomes_.abnormal[row] != 0;
  }
  [[nodiscard]] bool Valid(uint32_t row) const { return options_.count_abnormal || !Abnormal(row); }
  [[nodiscard]] Judged At(uint32_t row) const {
    if (Abnormal(row) || outcomes_.correct[row] == 0) return {};
    return {true, outcomes_.speedup[row]};
  }

  /// The sample's turns that count, in order.
  [[nodiscard]] std::vector<uint32_t> TurnsOf(size_t trajectory) const {
    std::vector<uint32_t> turns;
    for (const uint32_t row : index_.turns_of(trajectory)) {
      if (!index_.is_padding(row) && Valid(row)) turns.push_back(row);
    }
    return turns;
  }

  [[nodiscard]] Judged BestUntil(std::span<const uint32_t> turns, int64_t last) const {
    Judged best;
    for (const uint32_t row : turns) {
      const Judged judged = At(row);
      if (rows_.turn[row] > last || !judged.correct) continue;
      if (!best.correct || judged.speedup > best.speedup) best = judged;
    }
    return best;
  }

  [[nodiscard]] Judged Selected(std::span<const uint32_t> turns) const {
    const auto chosen = std::ranges::max_element(
        turns, {}, [&](uint32_t row) { return outcomes_.told_speedup[row]; });
    return chosen == turns.end() ? Judged{} : At(*chosen);
  }

  /// `judge` makes one verdict of a sample's turns. Samples that have no turn yet (all of theirs
  /// were left out) are none.
  template <typename Judge>
  void AddSamples(const std::string& prefix, Judge judge) {
    std::vector<Judged> judged;
    for (size_t t = 0; t < index_.trajectories(); ++t) {
      const std::vector<uint32_t> turns = TurnsOf(t);
      if (!turns.empty()) judged.push_back(judge(std::span<const uint32_t>(turns)));
    }
    AddSpeed(prefix, judged, options_.thresholds, &out_);
  }

  void AddTurn(int64_t turn, std::span<const uint32_t> members) {
    const std::string prefix = fmt::format("turn_{}/", turn);
    const auto n = static_cast<double>(members.size());
    std::vector<Judged> judged;
    double compiled = 0;
    double reward = 0;
    for (const uint32_t row : members) {
      judged.push_back(At(row));
      if (!outcomes_.compiled.empty() && !Abnormal(row)) compiled += outcomes_.compiled[row] != 0;
      if (!rows_.reward.empty() && Kept(rows_.keep, row)) reward += rows_.reward[row];
    }
    AddSpeed(prefix, judged, options_.thresholds, &out_);
    if (!outcomes_.compiled.empty())
      out_.emplace_back(prefix + "compilation_rate", Share(compiled, n));
    if (!rows_.reward.empty()) out_.emplace_back(prefix + "mean_reward", Share(reward, n));
    AddCoverage(prefix, "time", outcomes_.time_coverage, members);
    AddCoverage(prefix, "num", outcomes_.number_coverage, members);
  }

  void AddCoverage(const std::string& prefix, const char* kind, std::span<const double> coverage,
                   std::span<const uint32_t> members) {
    if (coverage.empty()) return;
    std::vector<double> correct;
    std::vector<double> all;
    for (const uint32_t row : members) {
      all.push_back(At(row).correct ? coverage[row] : 0.0);
      if (At(row).correct) correct.push_back(coverage[row]);
    }
    const auto put = [&](const char* name, double value) {
      out_.emplace_back(fmt::format("{}{}_{}_coverage", prefix, name, kind), value);
    };
    put("mean", Mean(correct));
    put("max", correct.empty() ? 0.0 : std::ranges::max(correct));
    put("min", correct.empty() ? 0.0 : std::ranges::min(correct));
    out_.emplace_back(fmt::format("{}mean_{}_coverage_in_all", prefix, kind), Mean(all));
  }

  void AddImprovement() {
    double samples = 0;
    double first = 0;
    double last = 0;
    double improved = 0;
    double regressed = 0;
    for (size_t t = 0; t < index_.trajectories(); ++t) {
      const std::vector<uint32_t> turns = TurnsOf(t);
      if (turns.empty()) continue;
      const bool began = At(turns.front()).correct;
      const bool ended = At(turns.back()).correct;
      samples += 1;
      first += began ? 1 : 0;
      last += ended ? 1 : 0;
      improved += !began && ended ? 1 : 0;
      regressed += began && !ended ? 1 : 0;
    }
    out_.emplace_back("improvement/first_turn_correct_rate", Share(first, samples));
    out_.emplace_back("improvement/last_turn_correct_rate", Share(last, samples));
    out_.emplace_back("improvement/improved_samples", improved);
    out_.emplace_back("improvement/regressed_samples", regressed);
    out_.emplace_back("improvement/net_improvement", improved - regressed);
  }

  void AddCounts() {
    double actual = 0;
    double abnormal = 0;
    double timeouts = 0;
    double padding = 0;
    double voids = 0;
    double flagged = 0;
    double looking = 0;
    for (uint32_t row = 0; row < index_.rows(); ++row) {
      if (index_.is_padding(row)) {
        padding += 1;
        continue;
      }
      actual += 1;
      abnormal += Abnormal(row) ? 1 : 0;
      timeouts += !outcomes_.timeout.empty() && outcomes_.timeout[row] != 0 ? 1 : 0;
      voids += Kept(rows_.keep, row) ? 0 : 1;
      const bool is_flagged = !outcomes_.flagged.empty() && outcomes_.flagged[row] != 0;
      flagged += is_flagged ? 1 : 0;
      looking += is_flagged || At(row).correct ? 1 : 0;
    }
    std::vector<double> turns;
    for (size_t t = 0; t < index_.trajectories(); ++t) {
      const auto rows = index_.turns_of(t);
      const auto n = std::ranges::count_if(rows, [&](uint32_t r) { return !index_.is_padding(r); });
      if (n > 0) turns.push_back(static_cast<double>(n));
    }
    if (!outcomes_.flagged.empty()) {
      out_.emplace_back("hacking/rate", Share(flagged, actual));
      out_.emplace_back("hacking/rate_among_correct_looking", Share(flagged, looking));
    }
    out_.emplace_back("multiturn/num_turns_mean", Mean(turns));
    out_.emplace_back("multiturn/num_turns_min", turns.empty() ? 0.0 : std::ranges::min(turns));
    out_.emplace_back("multiturn/num_turns_max", turns.empty() ? 0.0 : std::ranges::max(turns));
    out_.emplace_back("multiturn/void_turn_rate", Share(voids, actual));
    out_.emplace_back("data/total_actual_turns", actual);
    out_.emplace_back("data/valid_turns", actual - abnormal);
    out_.emplace_back("data/valid_turns_rate", Share(actual - abnormal, actual));
    out_.emplace_back("data/filtered_abnormal_turns", options_.count_abnormal ? 0.0 : abnormal);
    out_.emplace_back("data/abnormal_turns_rate", Share(abnormal, actual));
    out_.emplace_back("data/total_timeout_turns", timeouts);
    out_.emplace_back("data/timeout_turns_rate", Share(timeouts, actual));
    out_.emplace_back("data/padding_turns", padding);
    out_.emplace_back("data/unique_samples", static_cast<double>(turns.size()));
  }

  const Index& index_;
  const Rows& rows_;
  const TurnOutcomes& outcomes_;
  const TurnMetricsOptions& options_;
  std::map<int64_t, std::vector<uint32_t>> by_turn_;
  Metrics out_;
};

Status CheckOutcomes(const TurnOutcomes& outcomes, size_t rows) {
  ASSAY_RETURN_IF_ERROR(CheckSize("correct", outcomes.correct.size(), rows));
  ASSAY_RETURN_IF_ERROR(CheckSize("speedup", outcomes.speedup.size(), rows));
  ASSAY_RETURN_IF_ERROR(CheckSize("compiled", outcomes.compiled.size(), rows, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("flagged", outcomes.flagged.size(), rows, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("abnormal", outcomes.abnormal.size(), rows, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("timeout", outcomes.timeout.size(), rows, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("time_coverage", outcomes.time_coverage.size(), rows, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("number_coverage", outcomes.number_coverage.size(), rows, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("told_speedup", outcomes.told_speedup.size(), rows, true));
  const std::pair<const char*, std::span<const double>> figures[] = {
      {"speedup", outcomes.speedup},
      {"time_coverage", outcomes.time_coverage},
      {"number_coverage", outcomes.number_coverage}};
  for (const auto& [name, values] : figures) {
    for (size_t row = 0; row < values.size(); ++row) {
      if (outcomes.correct[row] != 0 && !std::isfinite(values[row]))
        return Err(ErrorCode::kInvalid, "row {}: {} is {}", row, name, values[row]);
    }
  }
  for (size_t row = 0; row < outcomes.told_speedup.size(); ++row) {
    if (std::isnan(outcomes.told_speedup[row]))
      return Err(ErrorCode::kInvalid, "row {}: told_speedup is nan; failures were told as 0", row);
  }
  return {};
}

}  // namespace

Result<Metrics> TurnMetrics(const Index& index, const Rows& rows, const TurnOutcomes& outcomes,
                            const TurnMetricsOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckSize("turn", rows.turn.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("reward", rows.reward.size(), index.rows(), true));
  ASSAY_RETURN_IF_ERROR(CheckSize("keep", rows.keep.size(), index.rows(), true));
  ASSAY_RETURN_IF_ERROR(CheckOutcomes(outcomes, index.rows()));
  return Report(index, rows, outcomes, options).Run();
}

Result<Metrics> TurnSignal(const Index& index, const Rows& rows, const Advantages& advantages) {
  ASSAY_RETURN_IF_ERROR(CheckSize("turn", rows.turn.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("reward", rows.reward.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("keep", rows.keep.size(), index.rows(), true));
  ASSAY_RETURN_IF_ERROR(CheckSize("advantage", advantages.advantage.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("value", advantages.value.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("population", advantages.population.size(), index.rows()));
  struct Sums {
    double rows = 0, kept = 0, reward = 0, value = 0, advantage = 0;
    double members = 0, singles = 0, population = 0;
    uint32_t smallest = 0;
  };
  std::map<int64_t, Sums> turns;
  for (uint32_t row = 0; row < index.rows(); ++row) {
    if (index.is_padding(row)) continue;
    Sums& sums = turns[rows.turn[row]];
    sums.rows += 1;
    if (!Kept(rows.keep, row)) continue;
    sums.kept += 1;
    sums.reward += rows.reward[row];
    sums.value += advantages.value[row];
    sums.advantage += advantages.advantage[row];
    const uint32_t n = advantages.population[row];
    if (n == 0) continue;
    sums.members += 1;
    sums.singles += n == 1 ? 1 : 0;
    sums.population += n;
    sums.smallest = sums.smallest == 0 ? n : std::min(sums.smallest, n);
  }
  Metrics out;
  for (const auto& [turn, sums] : turns) {
    const std::string prefix = fmt::format("turn_{}/", turn);
    out.emplace_back(prefix + "rows", sums.rows);
    out.emplace_back(prefix + "kept_rows", sums.kept);
    out.emplace_back(prefix + "mean_reward", Share(sums.reward, sums.kept));
    out.emplace_back(prefix + "mean_return", Share(sums.value, sums.kept));
    out.emplace_back(prefix + "mean_advantage", Share(sums.advantage, sums.kept));
    out.emplace_back(prefix + "group_size_mean", Share(sums.population, sums.members));
    out.emplace_back(prefix + "group_size_min", sums.smallest);
    out.emplace_back(prefix + "single_fraction", Share(sums.singles, sums.members));
  }
  return out;
}

}  // namespace assay::rl
