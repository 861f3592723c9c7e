#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "rl/mismatch.h"
#include "rl/token_scan.h"

namespace assay::rl {

constexpr bool IsTurnLevel(Level level) {
  return level == Level::kTurn || level == Level::kTurnGeometric;
}

/// exp of an aggregated log weight limited to +-kSafety.
inline double LimitedWeight(double log_weight) {
  return std::exp(std::clamp(log_weight, -kSafety, kSafety));
}

inline double Share(double part, double whole) { return whole == 0 ? 0.0 : part / whole; }

/// One log weight per row at a level other than kToken, broadcast over what the level covers.
std::vector<double> AggregateRows(const Index& index, std::span<const RowScan> scans, Level level);

/// Adds mean, max, min, … of the weights at `level` (see mismatch.h) under `prefix`. `set` says
/// which of the scans' two limited sets holds the token weights.
void AddWeightMetrics(const std::string& prefix, const Index& index, std::span<const RowScan> scans,
                      Level level, int set, double lower, double upper, Metrics& out);

/// Adds training_ppl … chi2_seq.
void AddDivergenceMetrics(std::span<const RowScan> scans, Metrics& out);

}  // namespace assay::rl
