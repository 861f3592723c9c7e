#pragma once

#include <span>

#include "rl/advantage.h"
#include "rl/batch.h"

namespace assay::rl {

/// What is known of every turn, for reports. One entry per row; empty where the comment allows it.
struct TurnOutcomes {
  std::span<const uint8_t> correct;        ///< correct and no integrity violation
  std::span<const double> speedup;         ///< read where correct
  std::span<const uint8_t> compiled = {};  ///< may be empty, as all that follow
  std::span<const uint8_t> flagged = {};   ///< an integrity violation or a decoy
  /// The turn has no verdict: no room was left, or the episode broke off.
  std::span<const uint8_t> abnormal = {};
  std::span<const uint8_t> timeout = {};
  std::span<const double> time_coverage = {};
  std::span<const double> number_coverage = {};
  /// The speedup that the model was told, 0 where it was told of a failure: what it could choose
  /// its best turn by.
  std::span<const double> told_speedup = {};
};

struct TurnMetricsOptions {
  std::span<const double> thresholds;  ///< p of fast@p, compared with >=
  /// Turns without a verdict are failures; otherwise they are left out of every denominator, which
  /// flatters late turns.
  bool count_abnormal = true;
};

/// A sample is a trajectory; k runs over the turn numbers in the batch. Padding takes part in
/// nothing but data/padding_turns.
///
///     turn_k/            count, correctness_rate, compilation_rate, mean_reward, SPEED, COVERAGE
///     best_by_turn_k/    count, correctness_rate, SPEED; of each sample's best correct turn <= k
///     final/             the same of each sample's last turn
///     selected/          the same of the turn with the greatest told_speedup, the first of equal
///                        ones (with told_speedup only)
///     improvement/       first_turn_correct_rate, last_turn_correct_rate, improved_samples,
///                        regressed_samples, net_improvement
///     hacking/           rate (flagged of all), rate_among_correct_looking (flagged of flagged or
///                        correct)                                            (with flagged only)
///     multiturn/         num_turns_mean, num_turns_min, num_turns_max, void_turn_rate (of turns)
///     data/              total_actual_turns, valid_turns, valid_turns_rate,
///                        filtered_abnormal_turns, abnormal_turns_rate, total_timeout_turns,
///                        timeout_turns_rate, padding_turns, unique_samples
///
///     SPEED     {mean,max,min}_performance over correct ones, mean_performance_in_all with wrong
///               ones as 0, fast@p of correct ones, fast@p_in_all (the usual fast_p),
///               performance_percentile[_in_all]/{top_25,p25_50,p50_75,p75_100}: means of quarters
///               in descending order
///     COVERAGE  {mean,max,min}_{time,num}_coverage, mean_{time,num}_coverage_in_all
///
/// Means of nothing are 0. Fails with kInvalid on lengths and on figures that are not finite where
/// they are read.
Result<Metrics> TurnMetrics(const Index& index, const Rows& rows, const TurnOutcomes& outcomes,
                            const TurnMetricsOptions& options);

/// The learning signal by turn: turn_k/{rows,kept_rows,mean_reward,mean_return,mean_advantage,
/// group_size_mean,group_size_min,single_fraction}; the last three over members.
Result<Metrics> TurnSignal(const Index& index, const Rows& rows, const Advantages& advantages);

}  // namespace assay::rl
