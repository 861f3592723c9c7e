#include "rl/token_state.h"

#include "rl/parallel.h"

namespace assay::rl {

void RejectRows(std::span<const int64_t> offsets, std::span<const TokenState> reasons,
                bool population_only, std::span<TokenState> state) {
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const TokenState why = reasons[row];
      if (why == 0) continue;
      const auto excluded = static_cast<TokenState>(population_only ? kVoid : 0);
      for (int64_t j = offsets[row]; j < offsets[row + 1]; ++j) {
        TokenState& token = state[static_cast<size_t>(j)];
        const bool hit = token != 0 && (token & excluded) == 0;
        token = hit ? static_cast<TokenState>((token & ~kTrained) | why) : token;
      }
    }
  });
}

void RejectVoid(std::span<const int64_t> offsets, std::span<const uint8_t> keep,
                std::span<TokenState> state) {
  if (keep.empty()) return;
  std::vector<TokenState> reasons(keep.size());
  for (size_t row = 0; row < keep.size(); ++row) reasons[row] = keep[row] == 0 ? kVoid : 0;
  RejectRows(offsets, reasons, false, state);
}

RowCounts CountTokens(std::span<const int64_t> offsets, std::span<const TokenState> state) {
  const size_t rows = offsets.size() - 1;
  RowCounts counts{std::vector<int64_t>(rows), std::vector<int64_t>(rows)};
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      int64_t trained = 0;
      int64_t response = 0;
      for (int64_t j = offsets[row]; j < offsets[row + 1]; ++j) {
        const TokenState token = state[static_cast<size_t>(j)];
        trained += token & kTrained;
        response += token != 0 ? 1 : 0;
      }
      counts.trained[row] = trained;
      counts.response[row] = response;
    }
  });
  return counts;
}

}  // namespace assay::rl
