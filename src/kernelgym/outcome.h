#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "broker/jobs.h"
#include "kernelgym/record.h"

namespace assay::kernelgym {

/// Whose doing an outcome is. KernelGYM has no such field, so its clients punish a model for a
/// broken GPU; here it stands in every answer as `error_origin`.
enum class Origin {
  kNone,
  kSubmission,
  kIntegrity,
  kReference,
  kRequest,
  kInfrastructure,
  kClient
};

std::string_view ToString(Origin origin);

/// A finished task in KernelGYM's terms.
struct Outcome {
  std::string status = "completed";
  std::optional<bool> compiled;  ///< nothing: not judged, so neither right nor wrong
  std::optional<bool> correct;
  std::optional<bool> decoy;
  std::optional<double> kernel_ms;  ///< -1: not measured
  std::optional<double> reference_ms;
  std::optional<double> speedup;  ///< 0: no valid ratio
  std::string error_message;      ///< empty: none
  std::string error_code;
  Origin origin = Origin::kNone;
  json::object metadata;

  /// Not judged for no fault of the client's: never a reward.
  [[nodiscard]] bool infrastructure() const { return origin == Origin::kInfrastructure; }
};

/// Translates a finished job's verdict. Pure. The rows (see the table in outcome.cc and
/// docs/kernelgym-compatibility.md) are told apart by the verdict's status, the kind of its error
/// and whether it compiled, never by text. `timeout_status`: say "timeout" instead of "failed"
/// where a deadline passed.
Outcome Translate(const TaskRecord& record, const Job& job, bool timeout_status);

/// The outcome of a task that was refused without a judgement.
Outcome Refused(const TaskRecord& record);

/// GET /results and POST /evaluate: KernelGYM's fourteen members and `error_origin`.
json::object EvaluationAnswer(const TaskRecord& record, const Job* job, const Outcome& outcome);
/// GET /workflow/results and POST /workflow/submit.
json::object WorkflowAnswer(const TaskRecord& record, const Job* job, const Outcome& outcome);

/// The two halves of a kernelbench task, known to clients as `<id>_kernel` and `<id>_ref`.
enum class Part { kWhole, kKernel, kReference };
/// The outcome as that part's client sees it: the reference's half knows no kernel and the other
/// way round.
Outcome PartOf(const Outcome& outcome, Part part);

}  // namespace assay::kernelgym
