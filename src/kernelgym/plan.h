#pragma once

#include <string>
#include <vector>

#include "broker/jobs.h"
#include "kernelgym/record.h"

namespace assay::kernelgym {

/// What a plan needs to know of this service.
struct PlanOptions {
  std::vector<std::string> devices;  ///< that there are; empty: unknown
};

/// How a request is judged: a job for the engine, or a reason that it cannot be.
struct Plan {
  JobRequest job;            ///< without owner and idempotency
  std::string refusal;       ///< told to the client as a validation failure; empty: judge it
  std::string cases_source;  ///< see TaskRecord
  int num_cases = 0;
  std::string notes;
};

/// Pure; never runs anything of the request.
///
///   kernelbench    the reference is the task; class `entry`, the submission's `entry` + "New"
///   kernel_simple  a task is made of the cases: their inputs are what get_inputs() gives, their
///                  outputs what the reference answers; the submission is run over all of them in
///                  one call. Cases inside kernel_code are cut out (see ExtractCases).
Plan MakePlan(const EvaluationRequest& request, const PlanOptions& options);

/// "" or why `code` does not define the class `entry`, as far as its text shows; `what` is
/// "Reference" or "Kernel".
std::string CheckClass(std::string_view what, const std::string& code, const std::string& entry);

/// The submission's class under kernel_simple: the default "Model" means "ModelNew" where that is
/// what the code defines.
std::string EntryOfSimple(const EvaluationRequest& request);

}  // namespace assay::kernelgym
