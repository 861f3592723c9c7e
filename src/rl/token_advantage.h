#pragma once

#include <span>
#include <string_view>

#include "rl/batch.h"
#include "rl/token_state.h"

namespace assay::rl {

/// Estimators that give each token its own advantage. Recursions run over population tokens (gaps,
/// void turns' tokens and padding are skipped and carry nothing); statistics are taken over trained
/// tokens; tokens that are not trained receive 0. A row is its own episode. All fail with kInvalid
/// on lengths, and on an advantage or return of a population token that is not finite (the outputs
/// are then unspecified).

/// Rewards of tokens: the row's reward falls on its last population token, plus each token's own
/// (may be empty).
template <typename T>
struct TokenRewards {
  std::span<const double> row;
  std::span<const T> token;
};

/// Generalised advantage estimation: delta_j = r_j + gamma V_(j+1) - V_j,
/// A_j = delta_j + gamma lambda A_(j+1), returns = A + V. With turn returns for row rewards it is
/// the episodic form (egae). `whiten` subtracts the mean and divides by sqrt(variance + 1e-8).
template <typename T>
Status GeneralizedAdvantages(std::span<const int64_t> offsets, std::span<const TokenState> state,
                             const TokenRewards<T>& rewards, std::span<const T> values,
                             double gamma, double lambda, bool whiten, std::span<T> advantage,
                             std::span<T> returns);

/// REINFORCE++: discounted sums of the token rewards to come, whitened over the batch.
template <typename T>
Status ReinforcePlusPlus(std::span<const int64_t> offsets, std::span<const TokenState> state,
                         const TokenRewards<T>& rewards, double gamma, std::span<T> advantage,
                         std::span<T> returns);

/// The weight w of a token in the optimal baselines, 1 - 2 pi + sum over the vocabulary of pi^2:
/// the squared norm of the score with respect to the logits.
struct ScoreNormOptions {
  bool uniform_weight = false;      ///< w = 1
  bool uniform_cumulative = false;  ///< w = 1 / tokens of the row
};

/// Writes w for population tokens and 0 elsewhere, times importance_weights^2 if those are given.
/// `logp_old` and `sum_pi_squared` may be empty with a uniform option.
template <typename T>
Status ScoreNorms(std::span<const int64_t> offsets, std::span<const TokenState> state,
                  std::span<const T> logp_old, std::span<const T> sum_pi_squared,
                  std::span<const T> importance_weights, const ScoreNormOptions& options,
                  std::span<T> weight);

/// Sum of a token array over each row.
template <typename T>
std::vector<double> SumPerRow(std::span<const int64_t> offsets, std::span<const T> values);

/// Optimal baseline per (group, turn) and token position: with W_j the sum of w over the
/// trajectory's tokens up to and including this one, A_j = G - sum(G W_j) / (sum(W_j) + 1e-8) over
/// kept rows that have a population token at position j. A (group, turn) with one kept row has
/// baseline 0; rows that are not kept get 0. `value` is G per row.
template <typename T>
Status TokenOptimalBaseline(const Index& index, std::span<const uint8_t> keep,
                            std::span<const double> value, std::span<const int64_t> offsets,
                            std::span<const TokenState> state, std::span<const T> weight,
                            std::span<T> advantage);

}  // namespace assay::rl
