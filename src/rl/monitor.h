#pragma once

#include <array>
#include <span>

#include "rl/advantage.h"
#include "rl/batch.h"
#include "rl/token_state.h"

namespace assay::rl {

/// What the rejections did to the learning signal. Names:
///
///     response_tokens, trained_tokens, trained_fraction
///     rejected_fraction/{mismatch,veto,band,coverage,void,group,other}
///                            of response tokens; one with two reasons counts in both
///     advantage_sum          sum of A over trained tokens: far from 0 means that rejection removed
///                            one sign more than the other
///     advantage_sum_before   the same over all response tokens of turns that are not void
///     advantage_mean, positive_fraction    over trained tokens
///     single_fraction        turns that were compared with nobody, of all members
///     population_mean, population_min
Result<Metrics> SignalMetrics(std::span<const int64_t> offsets, std::span<const TokenState> state,
                              const Advantages& advantages);

/// What correctness and speed the rejected and the kept rows have. A row is rejected if it has
/// response tokens, none of them is trained, and a token carries one of `reasons`; it is kept if a
/// token is trained; other rows are left out. `outcomes` needs correct and speedup. Names:
///
///     {masked,non_masked}/{count,correct_count,incorrect_count,correct_rate,mean_performance,
///                          max_performance,min_performance,mean_performance_in_all,
///                          fast@p,fast@p_in_all}
///     {correct,incorrect,fast@p}/mask_rate       rejected rows of that kind / rows of that kind
///     fast@p_in_all/mask_rate                    rejected rows of that kind / all rows
///     overall_mask_rate
///
/// Performance is the speedup; means, maxima and fast@p are over correct rows, _in_all over all
/// rows with incorrect ones as 0; p runs over `thresholds`, compared with >=. Fails with kInvalid
/// on lengths and where a correct row's speedup is not finite.
Result<Metrics> RejectionQuality(std::span<const int64_t> offsets,
                                 std::span<const TokenState> state, const Outcomes& outcomes,
                                 TokenState reasons, std::span<const double> thresholds);

/// Mismatch by position in the row and by the probability that the rollout engine gave the token:
/// where an engine pair disagrees tells why. Bucket b of kBuckets holds positions
/// [2^b - 1, 2^(b+1) - 1), and probabilities [b, b + 1) / kBuckets.
struct MismatchProfile {
  static constexpr size_t kBuckets = 16;
  struct Bucket {
    int64_t n = 0;
    double sum_log = 0;           ///< of log rho
    double sum_absolute_log = 0;  ///< of |log rho|
  };
  std::array<Bucket, kBuckets> by_position;
  std::array<Bucket, kBuckets> by_probability;
};

/// Over population tokens. Fails with kInvalid on lengths and on a log-ratio that is NaN.
template <typename T>
Result<MismatchProfile> ProfileMismatch(const Tokens<T>& tokens, std::span<const TokenState> state);

}  // namespace assay::rl
