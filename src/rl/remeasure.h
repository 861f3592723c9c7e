#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace assay::rl {

/// One evaluation of a submission that was evaluated several times.
struct Measurement {
  bool valid = true;  ///< false: an infrastructure fault; it counts for nothing
  bool correct = false;
  std::optional<double> speedup;
};

/// What several evaluations of one submission say together.
enum class RemeasurePolicy {
  kReplace,  ///< the last valid one, a failure included (as published)
  kMinimum,  ///< correct if most valid ones are; the smallest speedup of the correct ones
  kMedian,   ///< the same with the median; the smallest if they spread wider than `spread`
};

/// "replace", "minimum", "median".
Result<RemeasurePolicy> FindRemeasurePolicy(std::string_view name);

struct RemeasureOptions {
  double suspicious = 3.0;  ///< speedups above it are measured again
  RemeasurePolicy policy = RemeasurePolicy::kMedian;
  int runs = 3;         ///< evaluations wanted of a suspicious one, the first included
  double spread = 0.1;  ///< (largest - smallest) / median of speedups that agree
};

struct Remeasured {
  Measurement result;    ///< not valid if no evaluation was
  int used = 0;          ///< valid evaluations
  double spread = 0;     ///< (largest - smallest) / median of the correct ones' speedups
  bool agreed = true;    ///< all valid ones have one verdict, and the spread is within the limit
  int still_wanted = 0;  ///< further evaluations to make; 0: the result is final
};

/// Joins the evaluations of a submission, first one first. A first one that is not suspicious is
/// final. Fails with kInvalid without evaluations, on runs < 1, and on speedups of correct ones
/// that are not finite and positive.
Result<Remeasured> JoinMeasurements(std::span<const Measurement> runs,
                                    const RemeasureOptions& options);

}  // namespace assay::rl
