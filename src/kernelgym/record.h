#pragma once

#include <string>

#include "base/json.h"
#include "kernelgym/request.h"

namespace assay::kernelgym {

/// One task as a client knows it, without its code. Lives in the document store; the verdict lives
/// with the job.
struct TaskRecord {
  std::string owner;          ///< name of the key that sent it
  EvaluationRequest request;  ///< without codes and cases, which the job has
  std::string content;        ///< hash of everything that decides the result
  int64_t generation = 0;     ///< counts the judgements under this name
  std::string job_id;         ///< empty: refused without a judgement
  double submitted_at = 0;    ///< Unix time, seconds
  std::string refusal;        ///< why it was refused; empty: it was not
  std::string cases_source;   ///< kernel_simple: "inline", "cases_code", "kernel_code"
  int num_cases = 0;          ///< kernel_simple: 0 where only the cases' code knows
  std::string notes;          ///< what of the request was not followed and why; empty: nothing

  [[nodiscard]] const std::string& id() const { return request.task_id; }
};

json::object ToJson(const TaskRecord& record);
TaskRecord RecordFromJson(const json::object& document);

/// The members of a request that decide its result, hashed. Name and priority do not, and the
/// deadline only where it passes (see Tasks).
std::string ContentOf(const EvaluationRequest& request);

}  // namespace assay::kernelgym
