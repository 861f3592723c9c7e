#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "roofline/report.h"
#include "timing/statistics.h"
#include "verdict/verdict.h"

namespace assay::reward {

/// Measured times, in microseconds per call.
struct Times {
  double candidate_us = 0;
  double reference_us = 0;
  Ratio speedup;  ///< paired, with its interval
};

/// What rewards read of a verdict, checked: every number is finite and within reason.
struct Facts {
  VerdictStatus status = VerdictStatus::kInfraError;
  bool compiled = false;
  bool correct = false;
  bool void_task = false;  ///< a trivial program passes the task
  bool decoy = false;      ///< the submission's own kernels take almost no time
  /// The following only of correct submissions.
  std::optional<Times> times;
  std::string untimed;  ///< why there are no times
  std::optional<RooflineReport> roofline;
  std::optional<double> coverage_time;  ///< share of GPU time in the submission's own kernels
  std::optional<double> coverage_count;
  std::optional<Ratio> over_compile;  ///< speedup over torch.compile
};

/// Reads an `assay.verdict/1` document that may come from anywhere. kInvalid: it is none, or it
/// contradicts itself (a status and a fault that do not go together, an interval that does not hold
/// its value), or holds numbers that no measurement gives.
Result<Facts> ReadVerdict(const json::object& verdict);

}  // namespace assay::reward
