#include "rl/remeasure.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::rl {
namespace {

double Median(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

Status Check(std::span<const Measurement> runs, const RemeasureOptions& options) {
  if (runs.empty()) return Err(ErrorCode::kInvalid, "there is no evaluation to judge by");
  if (options.runs < 1)
    return Err(ErrorCode::kInvalid, "runs is {}; it must be >= 1", options.runs);
  for (const Measurement& run : runs) {
    // A failure may be reported with a speedup of 0.
    if (run.valid && run.correct && run.speedup &&
        !(std::isfinite(*run.speedup) && *run.speedup > 0))
      return Err(ErrorCode::kInvalid, "a speedup is {}; it must be positive", *run.speedup);
  }
  return {};
}

}  // namespace

Result<RemeasurePolicy> FindRemeasurePolicy(std::string_view name) {
  if (name == "replace") return RemeasurePolicy::kReplace;
  if (name == "minimum") return RemeasurePolicy::kMinimum;
  if (name == "median") return RemeasurePolicy::kMedian;
  return Err(ErrorCode::kInvalid, "no policy '{}'; use replace, minimum or median", name);
}

Result<Remeasured> JoinMeasurements(std::span<const Measurement> runs,
                                    const RemeasureOptions& options) {
  ASSAY_RETURN_IF_ERROR(Check(runs, options));
  Remeasured out;
  out.result.valid = false;
  std::vector<double> speedups;
  int correct = 0;
  const Measurement* last = nullptr;
  for (const Measurement& run : runs) {
    if (!run.valid) continue;
    ++out.used;
    last = &run;
    if (!run.correct) continue;
    ++correct;
    if (run.speedup) speedups.push_back(*run.speedup);
  }
  if (last == nullptr) {
    out.still_wanted = 1;
    return out;
  }
  std::ranges::sort(speedups);
  if (!speedups.empty()) {
    out.spread = (speedups.back() - speedups.front()) / Median(speedups);
  }
  out.agreed = (correct == 0 || correct == out.used) && out.spread <= options.spread;

  out.result.valid = true;
  if (options.policy == RemeasurePolicy::kReplace) {
    out.result = *last;
  } else {
    out.result.correct = 2 * correct > out.used;
    if (out.result.correct && !speedups.empty()) {
      const bool middle = options.policy == RemeasurePolicy::kMedian && out.agreed;
      out.result.speedup = middle ? Median(speedups) : speedups.front();
    }
  }
  const bool suspicious = !speedups.empty() && speedups.back() > options.suspicious;
  const int wanted = options.policy == RemeasurePolicy::kReplace ? 2 : options.runs;
  if (suspicious) out.still_wanted = std::max(0, wanted - out.used);
  return out;
}

}  // namespace assay::rl
