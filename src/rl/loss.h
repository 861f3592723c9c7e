#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "rl/batch.h"
#include "rl/token_state.h"

namespace assay::rl {

enum class LossKind {
  kPpo,        ///< clipped surrogate with dual clip
  kGspo,       ///< the ratio of a row is the geometric mean of its tokens'
  kReinforce,  ///< -A w log p, w a constant
};

/// How token losses l with mask m become one number; a sequence is a row, that is a turn.
enum class Aggregation {
  kTokenMean,            ///< sum l m / sum m
  kSeqMeanTokenSum,      ///< mean over rows with tokens of sum_j l m
  kSeqMeanTokenMean,     ///< mean over rows with tokens of the row's mean
  kSeqMeanTokenSumNorm,  ///< sum l m / norm_length (Dr. GRPO)
  kSeqSumNoNorm,         ///< sum l m
};

/// Estimators of KL(policy || reference) per token, with delta = log p - log p_ref.
enum class KlKind {
  kDelta,     ///< delta
  kAbsolute,  ///< |delta|
  kSquare,    ///< delta^2 / 2
  kLowVar,    ///< e^-delta + delta - 1, limited to [-10, 10]
};

/// "ppo", "gspo", "reinforce".
Result<LossKind> FindLossKind(std::string_view name);
/// "token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm",
/// "seq-sum-no-norm".
Result<Aggregation> FindAggregation(std::string_view name);
/// "kl", "abs", "mse", "low_var_kl".
Result<KlKind> FindKlKind(std::string_view name);

struct LossOptions {
  LossKind kind = LossKind::kPpo;
  double clip_low = 0.2;
  double clip_high = 0.28;
  /// Where A < 0 a token's loss is at most -A * dual_clip; > 1, or 0: off.
  double dual_clip = 3.0;
  Aggregation aggregation = Aggregation::kSeqMeanTokenSum;
  double scale = 1.0;        ///< the aggregate is divided by it
  double norm_length = 0.0;  ///< of kSeqMeanTokenSumNorm; 0: the longest row
  /// Leaves out trained tokens whose entropy is at most this quantile of theirs (type 7); 0: off.
  double entropy_quantile = 0.0;
  /// A token with old probability below it and A < 0 has loss 0 but still counts in means; 0: off.
  double risk_probability = 0.0;
  double kl_coefficient = 0.0;  ///< adds it times the aggregate of the KL estimator
  KlKind kl_kind = KlKind::kLowVar;
  double entropy_coefficient = 0.0;  ///< subtracts it times the aggregate of the entropy
};

/// Token arrays of one length; row i owns [offsets[i], offsets[i + 1]).
template <typename T>
struct LossInputs {
  std::span<const int64_t> offsets;
  std::span<const TokenState> state;      ///< tokens with kTrained count
  std::span<const T> logp;                ///< current policy
  std::span<const T> logp_old;            ///< not read by kReinforce (may be empty there)
  std::span<const double> row_advantage;  ///< one of the two advantages
  std::span<const T> token_advantage;
  std::span<const T> weights;         ///< importance weights, constants; may be empty
  std::span<const T> entropy;         ///< for entropy_quantile and entropy_coefficient
  std::span<const T> logp_reference;  ///< for kl_coefficient
};

struct Loss {
  double value = 0;
  /// pg_loss, kl_loss, entropy_loss (its aggregate), ppo_kl, clip_fraction, clip_fraction_upper,
  /// clip_fraction_lower, clip_fraction_dual, trained_tokens, trained_rows,
  /// entropy_filtered_fraction, risk_fraction
  Metrics metrics;
};

/// The policy loss and its gradients with respect to `logp` and to `entropy` (0 for tokens that are
/// not trained; an empty span: not wanted). With q = exp(logp - logp_old), limited to
/// exp(+-20), kPpo's token loss is
///
///     max(-A q, -A clip(q, 1 - clip_low, 1 + clip_high)),   at most -A dual_clip where A < 0,
///
/// then filters, weights, aggregation and scale, in this order. kGspo uses the row's first trained
/// token's advantage, clips without dual clip, and takes the mean over rows, without weights,
/// aggregation and scale. Gradients are one-sided at the kinks as automatic differentiation of
/// max, min and clip gives them. Deterministic; sums are in double. A figure of a trained token
/// that is not a number makes the loss one: it is not hidden.
template <typename T>
Result<Loss> PolicyLoss(const LossInputs<T>& inputs, const LossOptions& options,
                        std::span<T> gradient, std::span<T> entropy_gradient = {});

/// Sum of the KL estimator over each row's response tokens that are not void: `reward - beta *
/// this` is the KL penalty in the reward.
template <typename T>
Result<std::vector<double>> KlPerRow(std::span<const int64_t> offsets,
                                     std::span<const TokenState> state, std::span<const T> logp,
                                     std::span<const T> logp_reference, KlKind kind);

}  // namespace assay::rl
