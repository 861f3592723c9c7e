#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::rl {

/// One byte per token says whether the optimiser sees it and, if not, every reason why.
///
///     0                   not a response token (padding, prompt, tool output): never counted
///     kTrained            trained
///     an OR of Reason     a response token that somebody took out of training
///
/// A plain 0/1 mask is a valid input, so a caller's uint8 mask can be edited in place and
/// `state & kTrained` is the mask to train with.
using TokenState = uint8_t;

inline constexpr TokenState kTrained = 1;

/// Why a token is not trained. Bits add up: a token may be rejected for several reasons, and each
/// rule is counted on its own.
enum Reason : TokenState {
  kMismatch = 1U << 1U,  ///< likelihood ratio outside [lower, upper] at the chosen level
  kVeto = 1U << 2U,      ///< a token that the training engine finds nearly impossible
  kBand = 1U << 3U,      ///< token ratio outside the band (masked alone, whatever the level above)
  kCoverage = 1U << 4U,  ///< correct, but too little of the time is in the submission's own kernels
  kVoid = 1U << 5U,      ///< its turn is void: it failed after an earlier turn had scored
  kGroup = 1U << 6U,     ///< its group or its sample was filtered out
  kOther = 1U << 7U,     ///< the caller's own rule
};

/// Response tokens over which likelihood ratios are taken: all but those of void turns, whether or
/// not another rule has rejected them already. This makes the rules commute.
constexpr bool InPopulation(TokenState state) { return state != 0 && (state & kVoid) == 0; }

/// Takes a response token out of training for `reasons`; padding stays padding.
constexpr TokenState Rejected(TokenState state, TokenState reasons) {
  if (state == 0 || reasons == 0) return state;
  return static_cast<TokenState>((state & ~kTrained) | reasons);
}

/// Adds `reasons[row]` to every response token of the row (and to population tokens only, when
/// `population_only`). `offsets` has rows + 1 entries.
void RejectRows(std::span<const int64_t> offsets, std::span<const TokenState> reasons,
                bool population_only, std::span<TokenState> state);

/// Marks every token of rows with keep = 0 as void. An empty `keep` marks nothing.
void RejectVoid(std::span<const int64_t> offsets, std::span<const uint8_t> keep,
                std::span<TokenState> state);

/// How many tokens of each row are trained, and how many are response tokens at all.
struct RowCounts {
  std::vector<int64_t> trained;
  std::vector<int64_t> response;
};
RowCounts CountTokens(std::span<const int64_t> offsets, std::span<const TokenState> state);

}  // namespace assay::rl
