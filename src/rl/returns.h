#pragma once

#include <span>
#include <string_view>

#include "rl/batch.h"

namespace assay::rl {

/// What a turn is credited with. r_t is the reward of turn t of T, 0 where the turn is void; k runs
/// over the later turns of the same trajectory, and powers count turns, not turn numbers.
enum class ReturnKind {
  kRewardToGo,  ///< sum over k >= t of gamma^(k-t) r_k (Kevin's "sum" and Dr. Kernel's return)
  kMaxToGo,     ///< max over k >= t of gamma^(k-t) r_k (Kevin's "max")
  kBestDelta,   ///< reward-to-go of the increments max(0, best_t - best_(t-1)), best_0 = 0
  kFirst,  ///< gamma^(f-t) r_f up to the first turn f with r_f > 0, 0 after it: what led to the
           ///< first success is credited, what refined it is not
  kLast,   ///< gamma^(T-t) r_T
  kBest,   ///< max over all turns of r, the same for each turn
  kNone,   ///< r_t
};

/// "reward_to_go" (also "kevin"), "max_to_go", "best_delta", "first", "last", "max",
/// "none".
Result<ReturnKind> FindReturnKind(std::string_view name);

struct ReturnOptions {
  ReturnKind kind = ReturnKind::kRewardToGo;
  double gamma = 1.0;  ///< in [0, 1]
  /// Potential-based shaping first: r'_1 = r_1, r'_t = r_t - r_(t-1).
  bool shaping = false;
  /// With shaping, multiply r_T by (1 - gamma) beforehand, so that discounted sums keep their
  /// optimum.
  bool unbiased_shaping = true;
};

/// The return of every row, in reward's unit. Padding rows (which come before turn 1) receive the
/// value that follows from reward 0, as in engines that pad on the left; nobody should use it.
Status Returns(const Index& index, const Rows& rows, const ReturnOptions& options,
               std::span<double> out);

/// The void-turn rule: a turn that does not score (reward <= 0) after an earlier turn of its
/// trajectory has scored is void: it is removed rather than punished. Writes keep = 0 for void
/// turns, for padding, and for all turns of a trajectory of which a row has `failed` set (the
/// episode broke off through no fault of the policy); 1 otherwise. With `mask_void_turn` off only
/// the latter two. `failed` may be empty.
Status VoidTurns(const Index& index, std::span<const double> reward,
                 std::span<const uint8_t> failed, bool mask_void_turn, std::span<uint8_t> keep);

}  // namespace assay::rl
