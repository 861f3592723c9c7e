#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "rl/batch.h"
#include "rl/token_state.h"

namespace assay::rl {

/// Aggregated log-ratios are limited to +-kSafety before they are exponentiated.
inline constexpr double kSafety = 20.0;

/// Over what the log-ratio log rho = logp_train - logp_rollout is aggregated. Only population
/// tokens (see token_state.h) count; without any, the ratio is 1.
enum class Level {
  kToken,          ///< each token's own
  kTurn,           ///< sum over the row
  kTurnGeometric,  ///< mean over the row
  kSequence,       ///< sum over all rows of the trajectory
  kGeometric,      ///< mean over all tokens of all rows of the trajectory
};

/// "token", "turn", "turn_geo", "sequence", "geometric".
Result<Level> FindLevel(std::string_view name);

/// How far a rejection reaches from the token or turn that caused it.
enum class Scope {
  kToken,       ///< that token
  kTurn,        ///< its turn
  kSuffix,      ///< its turn and all later turns: what follows was conditioned on it
  kTrajectory,  ///< all turns
};

/// "token", "turn", "suffix", "trajectory".
Result<Scope> FindScope(std::string_view name);

/// Keep where lower <= exp(log weight) <= upper, both inclusive.
struct Rejection {
  Level level = Level::kGeometric;
  double lower = 0.999;
  double upper = 1.001;
  /// Absent: what the level covers (token, turn, turn, trajectory, trajectory).
  std::optional<Scope> scope;
};

/// Truncated importance weights min(exp(log weight), upper); kToken, kTurn and kSequence only.
struct Importance {
  Level level = Level::kToken;
  double upper = 2.0;
};

struct MismatchOptions {
  std::optional<Rejection> rejection;
  std::optional<Importance> importance;
  /// Rejects where a token has log rho < log(veto) (strict); 0: off.
  double veto = 0.0;
  Scope veto_scope = Scope::kTurn;
  /// Masks single tokens with rho outside [band_lower, band_upper]; 0 and infinity: off.
  double band_lower = 0.0;
  double band_upper = 0.0;
};

/// Applies rejection, veto and band to `state` (bits kMismatch, kVeto, kBand), all decided on the
/// population before any of them, and returns the metrics of rl-mismatch (names without prefix):
///
///     training_ppl, training_log_ppl, rollout_ppl, rollout_log_ppl, kl, k3_kl, log_ppl_diff,
///     log_ppl_abs_diff, log_ppl_diff_max, log_ppl_diff_min, ppl_ratio, chi2_token, chi2_seq
///     rollout_rs_*, rollout_rs_masked_fraction, rollout_rs_seq_masked_fraction   (with rejection)
///     rollout_is_*                                                               (with importance)
///     rollout_is_veto_fraction, rollout_is_catastrophic_token_fraction (0 when off)
///     rollout_band_masked_fraction                                               (with a band)
///
/// where * is mean, max, min, std, eff_sample_size, ratio_fraction_high, ratio_fraction_low,
/// seq_mean, seq_std, seq_max, seq_min, seq_max_deviation, seq_fraction_high, seq_fraction_low.
/// Means are over population tokens; seq_ and *_ppl figures are over rows with at least one. std
/// and eff_sample_size use weights limited to [lower, upper] (IS: [1/upper, upper]);
/// eff_sample_size is E[w]^2 / E[w^2], in (0, 1]. max and min of aggregated levels come from
/// unlimited logs.
///
/// `weights` receives the importance weight of each population token and 0 elsewhere; its length is
/// the number of tokens if importance is set, else 0.
///
/// Fails with kInvalid on lengths, bounds, on turn levels in a batch where every trajectory has one
/// row (there they are the sequence levels), and if a population token's log-ratio is NaN or
/// +infinity (-infinity is what the veto is for); `state` is then unchanged.
template <typename T>
Result<Metrics> CorrectMismatch(const Index& index, const Tokens<T>& tokens,
                                const MismatchOptions& options, std::span<TokenState> state,
                                std::span<T> weights);

/// Population log-ratios aggregated at `level` (not kToken), one per row, unlimited; 0 for rows
/// whose level covers no token.
template <typename T>
Result<std::vector<double>> LogRatios(const Index& index, const Tokens<T>& tokens,
                                      std::span<const TokenState> state, Level level);

/// [lower, upper] = exp(-+q), q the `1 - rate` quantile of |log ratio| over trajectories (or rows,
/// at turn levels) with population tokens: rejecting outside it drops about `rate` of them.
template <typename T>
Result<Rejection> RejectionForRate(const Index& index, const Tokens<T>& tokens,
                                   std::span<const TokenState> state, Level level, double rate);

}  // namespace assay::rl
