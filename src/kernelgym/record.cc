#include "kernelgym/record.h"

#include "base/hash.h"

namespace assay::kernelgym {
namespace {

template <typename T>
void PutIf(json::object* out, std::string_view key, const std::optional<T>& value) {
  if (value) (*out)[key] = *value;
}

/// All members but the codes and cases, under the names of the protocol.
json::object WithoutCode(const EvaluationRequest& request) {
  json::object out = {{"task_id", request.task_id},
                      {"toolkit", request.toolkit},
                      {"backend_adapter", request.backend_adapter},
                      {"backend", request.backend},
                      {"num_correct_trials", request.num_correct_trials},
                      {"num_perf_trials", request.num_perf_trials},
                      {"num_warmup", request.num_warmup},
                      {"timeout", request.timeout},
                      {"priority", request.priority},
                      {"entry_point", request.entry_point},
                      {"use_reference_cache", request.use_reference_cache},
                      {"is_valid", request.is_valid},
                      {"workflow", request.workflow}};
  PutIf(&out, "device_preference", request.device_preference);
  PutIf(&out, "reference_backend", request.reference_backend);
  PutIf(&out, "uuid", request.uuid);
  PutIf(&out, "verbose_errors", request.verbose_errors);
  PutIf(&out, "enable_profiling", request.enable_profiling);
  PutIf(&out, "enable_triton_detection", request.enable_triton_detection);
  PutIf(&out, "measure_performance", request.measure_performance);
  PutIf(&out, "run_correctness", request.run_correctness);
  PutIf(&out, "run_triton_detection", request.run_triton_detection);
  PutIf(&out, "run_performance", request.run_performance);
  PutIf(&out, "detect_decoy_kernel", request.detect_decoy_kernel);
  PutIf(&out, "resources", request.resources);
  return out;
}

}  // namespace

json::object ToJson(const TaskRecord& record) {
  return {{"owner", record.owner},         {"request", WithoutCode(record.request)},
          {"content", record.content},     {"generation", record.generation},
          {"job_id", record.job_id},       {"submitted_at", record.submitted_at},
          {"refusal", record.refusal},     {"cases_source", record.cases_source},
          {"num_cases", record.num_cases}, {"notes", record.notes}};
}

TaskRecord RecordFromJson(const json::object& document) {
  TaskRecord record;
  record.owner = GetString(document, "owner");
  std::vector<Issue> missing_code;
  record.request = ReadEvaluation(GetObject(document, "request"), {}, &missing_code);
  record.content = GetString(document, "content");
  record.generation = GetInt(document, "generation");
  record.job_id = GetString(document, "job_id");
  record.submitted_at = GetDouble(document, "submitted_at");
  record.refusal = GetString(document, "refusal");
  record.cases_source = GetString(document, "cases_source");
  record.num_cases = static_cast<int>(GetInt(document, "num_cases"));
  record.notes = GetString(document, "notes");
  return record;
}

std::string ContentOf(const EvaluationRequest& request) {
  json::object content = WithoutCode(request);
  for (const char* key : {"task_id", "priority", "timeout"}) content.erase(key);
  content["kernel_code"] = request.kernel_code;
  PutIf(&content, "reference_code", request.reference_code);
  PutIf(&content, "cases_code", request.cases_code);
  PutIf(&content, "cases", request.cases);
  return Sha256Hex(json::serialize(content));
}

}  // namespace assay::kernelgym
