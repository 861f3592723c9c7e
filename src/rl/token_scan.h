#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rl/batch.h"
#include "rl/token_state.h"

namespace assay::rl {

/// Bounds that a scan compares each token's ratio rho with.
struct ScanBounds {
  double clamp_lower[2] = {0, 0};  ///< two sets of token-level weights (rejection, importance)
  double clamp_upper[2] = {0, 0};
  double log_veto = -std::numeric_limits<double>::infinity();
  double band_lower = 0;
  double band_upper = std::numeric_limits<double>::infinity();
};

/// Everything that one pass over a row's population tokens learns. rho = exp(log rho limited to
/// +-kSafety); sums are in double whatever the tokens' type.
struct RowScan {
  int64_t n = 0;
  double sum_log = 0;
  double sum_train = 0;
  double sum_rollout = 0;
  double sum_rho = 0;
  double sum_rho2 = 0;
  double min_log = 0;  ///< of rows without tokens: +infinity
  double max_log = 0;  ///< of rows without tokens: -infinity
  int64_t catastrophic = 0;
  int64_t outside_band = 0;
  struct Limited {
    double sum = 0;   ///< of rho limited to the bounds
    double sum2 = 0;  ///< of its square
    int64_t above = 0;
    int64_t below = 0;
  } limited[2];
};

/// Scans all rows, in parallel. `token_weights`: how many of the two limited sets to fill (0 to 2).
template <typename T>
std::vector<RowScan> ScanRows(const Tokens<T>& tokens, std::span<const TokenState> state,
                              const ScanBounds& bounds, int token_weights);

/// Adds kMismatch to population tokens with rho outside the first clamp bounds (if `mismatch`),
/// kBand to those outside the band, kVeto to those below the veto (if `veto`).
template <typename T>
void RejectTokens(const Tokens<T>& tokens, const ScanBounds& bounds, bool mismatch, bool veto,
                  std::span<TokenState> state);

/// Writes min(rho, upper) for population tokens and 0 elsewhere.
template <typename T>
void TokenWeights(const Tokens<T>& tokens, std::span<const TokenState> state, double upper,
                  std::span<T> weights);

}  // namespace assay::rl
