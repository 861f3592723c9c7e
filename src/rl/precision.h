#pragma once

#include <span>
#include <vector>

#include "rl/batch.h"
#include "rl/token_state.h"

namespace assay::rl {

/// Two gates that drop whole samples (trajectories) whose engines disagree so much that something
/// is broken rather than off-policy: numerics of one engine, a wrong template, shifted tokens. Over
/// the sample's population tokens:
///
///     gate 1    |mean of (logp_train - logp_rollout)| > mean_limit
///     gate 2    a token whose logp_rollout - logp_top < gap_floor: the sampled token was nearly
///               impossible to the engine that is said to have sampled it
struct PrecisionOptions {
  double mean_limit = 0.01;
  double gap_floor = -15.0;
};

struct PrecisionFiltered {
  std::vector<uint8_t> gates;  ///< per row: bit 0 gate 1, bit 1 gate 2, of its trajectory
  /// precision_gate1_fraction, precision_gate2_fraction, precision_dropped_fraction (of
  /// trajectories with population tokens), precision_max_mean_gap, precision_min_top_gap
  Metrics metrics;
};

/// Marks the response tokens of dropped trajectories with kGroup. `logp_top` (the inference
/// engine's log-probability of its likeliest token) may be empty: gate 2 is off then. Fails with
/// kInvalid on lengths, limits that are NaN or of the wrong sign, and gaps that are NaN or
/// +infinity; `state` is then unchanged.
template <typename T>
Result<PrecisionFiltered> FilterByPrecision(const Index& index, const Tokens<T>& tokens,
                                            std::span<const T> logp_top,
                                            const PrecisionOptions& options,
                                            std::span<TokenState> state);

}  // namespace assay::rl
