#include "rl/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "rl/parallel.h"

namespace assay::rl {
namespace {

constexpr std::array<std::pair<Reason, const char*>, 7> kReasons = {{{kMismatch, "mismatch"},
                                                                     {kVeto, "veto"},
                                                                     {kBand, "band"},
                                                                     {kCoverage, "coverage"},
                                                                     {kVoid, "void"},
                                                                     {kGroup, "group"},
                                                                     {kOther, "other"}}};

double Share(double part, double whole) { return whole == 0 ? 0.0 : part / whole; }

/// How often each state occurs in a row. Long runs of one state are the rule, so eight equal bytes
/// are counted at once.
struct Histogram {
  std::array<uint64_t, 256> count = {};

  void Add(const TokenState* state, size_t n) {
    size_t j = 0;
    for (; j + 8 <= n; j += 8) {
      uint64_t eight;
      std::memcpy(&eight, state + j, sizeof(eight));
      if (eight == state[j] * 0x0101010101010101ULL) {
        count[state[j]] += 8;
      } else {
        for (size_t k = 0; k < 8; ++k) ++count[state[j + k]];
      }
    }
    for (; j < n; ++j) ++count[state[j]];
  }
};

struct RowTally {
  int64_t response = 0;
  int64_t trained = 0;
  int64_t population = 0;
  std::array<int64_t, kReasons.size()> rejected = {};
};

std::vector<RowTally> Tally(std::span<const int64_t> offsets, std::span<const TokenState> state) {
  std::vector<RowTally> rows(offsets.size() - 1);
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      Histogram histogram;
      histogram.Add(state.data() + offsets[row],
                    static_cast<size_t>(offsets[row + 1] - offsets[row]));
      RowTally& tally = rows[row];
      for (size_t s = 1; s < histogram.count.size(); ++s) {
        const auto n = static_cast<int64_t>(histogram.count[s]);
        if (n == 0) continue;
        tally.response += n;
        if ((s & kTrained) != 0) tally.trained += n;
        if ((s & kVoid) == 0) tally.population += n;
        for (size_t r = 0; r < kReasons.size(); ++r) {
          if ((s & kReasons[r].first) != 0) tally.rejected[r] += n;
        }
      }
    }
  });
  return rows;
}

}  // namespace

Result<Metrics> SignalMetrics(std::span<const int64_t> offsets, std::span<const TokenState> state,
                              const Advantages& advantages) {
  const size_t rows = advantages.advantage.size();
  ASSAY_RETURN_IF_ERROR(CheckOffsets(offsets, rows, state.size()));
  RowTally total;
  double before = 0;
  double after = 0;
  double positive = 0;
  double members = 0;
  double singles = 0;
  double population = 0;
  uint32_t smallest = 0;
  const std::vector<RowTally> tallies = Tally(offsets, state);
  for (size_t row = 0; row < rows; ++row) {
    const RowTally& tally = tallies[row];
    const double advantage = advantages.advantage[row];
    total.response += tally.response;
    total.trained += tally.trained;
    for (size_t r = 0; r < kReasons.size(); ++r) total.rejected[r] += tally.rejected[r];
    // A row without tokens must not turn an infinite advantage into nan.
    if (tally.population > 0) before += advantage * static_cast<double>(tally.population);
    if (tally.trained > 0) after += advantage * static_cast<double>(tally.trained);
    if (advantage > 0) positive += static_cast<double>(tally.trained);
    const uint32_t n = advantages.population[row];
    if (n == 0) continue;
    members += 1;
    singles += n == 1 ? 1 : 0;
    population += n;
    smallest = smallest == 0 ? n : std::min(smallest, n);
  }
  const auto response = static_cast<double>(total.response);
  const auto trained = static_cast<double>(total.trained);
  Metrics out = {{"response_tokens", response},
                 {"trained_tokens", trained},
                 {"trained_fraction", Share(trained, response)}};
  for (size_t r = 0; r < kReasons.size(); ++r) {
    out.emplace_back(fmt::format("rejected_fraction/{}", kReasons[r].second),
                     Share(static_cast<double>(total.rejected[r]), response));
  }
  out.emplace_back("advantage_sum", after);
  out.emplace_back("advantage_sum_before", before);
  out.emplace_back("advantage_mean", Share(after, trained));
  out.emplace_back("positive_fraction", Share(positive, trained));
  out.emplace_back("single_fraction", Share(singles, members));
  out.emplace_back("population_mean", Share(population, members));
  out.emplace_back("population_min", smallest);
  return out;
}

namespace {

struct Kind {
  double n = 0;
  double correct = 0;
  double speedup = 0;
  double fastest = 0;
  double slowest = 0;
  std::vector<double> fast;  // per threshold

  void Add(bool is_correct, double s, std::span<const double> thresholds) {
    n += 1;
    if (!is_correct) return;
    fastest = correct == 0 ? s : std::max(fastest, s);
    slowest = correct == 0 ? s : std::min(slowest, s);
    correct += 1;
    speedup += s;
    for (size_t i = 0; i < thresholds.size(); ++i) fast[i] += s >= thresholds[i] ? 1 : 0;
  }
};

void KindMetrics(const std::string& prefix, const Kind& kind, std::span<const double> thresholds,
                 Metrics& out) {
  out.emplace_back(prefix + "count", kind.n);
  out.emplace_back(prefix + "correct_count", kind.correct);
  out.emplace_back(prefix + "incorrect_count", kind.n - kind.correct);
  out.emplace_back(prefix + "correct_rate", Share(kind.correct, kind.n));
  out.emplace_back(prefix + "mean_performance", Share(kind.speedup, kind.correct));
  out.emplace_back(prefix + "max_performance", kind.fastest);
  out.emplace_back(prefix + "min_performance", kind.slowest);
  out.emplace_back(prefix + "mean_performance_in_all", Share(kind.speedup, kind.n));
  for (size_t i = 0; i < thresholds.size(); ++i) {
    out.emplace_back(fmt::format("{}fast@{}", prefix, thresholds[i]),
                     Share(kind.fast[i], kind.correct));
    out.emplace_back(fmt::format("{}fast@{}_in_all", prefix, thresholds[i]),
                     Share(kind.fast[i], kind.n));
  }
}

}  // namespace

Result<Metrics> RejectionQuality(std::span<const int64_t> offsets,
                                 std::span<const TokenState> state, const Outcomes& outcomes,
                                 TokenState reasons, std::span<const double> thresholds) {
  const size_t rows = outcomes.correct.size();
  ASSAY_RETURN_IF_ERROR(CheckOffsets(offsets, rows, state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("speedup", outcomes.speedup.size(), rows));
  for (size_t row = 0; row < rows; ++row) {
    if (outcomes.correct[row] != 0 && !std::isfinite(outcomes.speedup[row]))
      return Err(ErrorCode::kInvalid, "row {}: speedup is {}", row, outcomes.speedup[row]);
  }
  Kind masked;
  Kind kept;
  masked.fast.resize(thresholds.size());
  kept.fast.resize(thresholds.size());
  const std::vector<RowTally> tallies = Tally(offsets, state);
  for (size_t row = 0; row < rows; ++row) {
    const RowTally& tally = tallies[row];
    bool caused = false;
    for (size_t r = 0; r < kReasons.size(); ++r) {
      caused = caused || (tally.rejected[r] > 0 && (reasons & kReasons[r].first) != 0);
    }
    if (tally.trained == 0 && !caused) continue;
    Kind& kind = tally.trained > 0 ? kept : masked;
    kind.Add(outcomes.correct[row] != 0, outcomes.speedup[row], thresholds);
  }
  Metrics out;
  KindMetrics("masked/", masked, thresholds, out);
  KindMetrics("non_masked/", kept, thresholds, out);
  const double all = masked.n + kept.n;
  out.emplace_back("correct/mask_rate", Share(masked.correct, masked.correct + kept.correct));
  out.emplace_back("incorrect/mask_rate",
                   Share(masked.n - masked.correct, all - masked.correct - kept.correct));
  for (size_t i = 0; i < thresholds.size(); ++i) {
    out.emplace_back(fmt::format("fast@{}/mask_rate", thresholds[i]),
                     Share(masked.fast[i], masked.fast[i] + kept.fast[i]));
    out.emplace_back(fmt::format("fast@{}_in_all/mask_rate", thresholds[i]),
                     Share(masked.fast[i], all));
  }
  out.emplace_back("overall_mask_rate", Share(masked.n, all));
  return out;
}

template <typename T>
Result<MismatchProfile> ProfileMismatch(const Tokens<T>& tokens,
                                        std::span<const TokenState> state) {
  if (tokens.offsets.empty())
    return Err(ErrorCode::kInvalid, "offsets is empty; it needs rows + 1 entries");
  ASSAY_RETURN_IF_ERROR(CheckOffsets(tokens.offsets, tokens.offsets.size() - 1, state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_train", tokens.logp_train.size(), state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_rollout", tokens.logp_rollout.size(), state.size()));
  constexpr size_t kLast = MismatchProfile::kBuckets - 1;
  MismatchProfile profile;
  for (size_t row = 0; row + 1 < tokens.offsets.size(); ++row) {
    uint64_t position = 0;
    for (auto j = static_cast<size_t>(tokens.offsets[row]);
         j < static_cast<size_t>(tokens.offsets[row + 1]); ++j) {
      if (state[j] == 0) continue;
      ++position;
      if (!InPopulation(state[j])) continue;
      const auto rollout = static_cast<double>(tokens.logp_rollout[j]);
      const double log_rho = static_cast<double>(tokens.logp_train[j]) - rollout;
      if (std::isnan(log_rho)) {
        return Err(ErrorCode::kInvalid, "row {}: a response token's log-ratio is not a number",
                   row);
      }
      const auto by_position = static_cast<size_t>(std::bit_width(position) - 1);
      const double scaled = std::exp(std::min(rollout, 0.0)) * MismatchProfile::kBuckets;
      for (MismatchProfile::Bucket* bucket :
           {&profile.by_position[std::min(by_position, kLast)],
            &profile.by_probability[std::min(static_cast<size_t>(scaled), kLast)]}) {
        ++bucket->n;
        bucket->sum_log += log_rho;
        bucket->sum_absolute_log += std::abs(log_rho);
      }
    }
  }
  return profile;
}

template Result<MismatchProfile> ProfileMismatch<float>(const Tokens<float>&,
                                                        std::span<const TokenState>);
template Result<MismatchProfile> ProfileMismatch<double>(const Tokens<double>&,
                                                         std::span<const TokenState>);

}  // namespace assay::rl
