#include "kernelgym/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/strings.h"
#include "kernelgym/coverage.h"
#include "kernelgym/shapes.h"

namespace assay::kernelgym {
namespace {

constexpr double kNotMeasured = -1;
constexpr size_t kTerseMessage = 300;

/// What KernelGYM calls a verdict. The first row that fits decides; an empty `kind` fits every
/// kind, and `compiled` either (-1), no (0) or yes (1).
struct Row {
  std::string_view status;  ///< the verdict's
  std::string_view kind;    ///< of its error
  int compiled;
  bool completed;  ///< "completed", else "failed"
  std::string_view code;
  std::string_view prefix;  ///< of error_message; clients match it
  Origin origin;
};

constexpr std::array kRows = {
    Row{"correct", "", -1, true, "", "", Origin::kNone},
    Row{"incorrect", "", -1, true, kCorrectnessError, "Kernel produced incorrect results",
        Origin::kSubmission},
    Row{"invalid_submission", "syntax_error", -1, false, kCompilationError,
        "Kernel compilation failed: Syntax error in kernel code", Origin::kSubmission},
    Row{"invalid_submission", "", -1, false, kValidationError, "Kernel code validation failed",
        Origin::kSubmission},
    Row{"compile_error", "", -1, false, kCompilationError, "Kernel compilation failed",
        Origin::kSubmission},
    Row{"runtime_error", "", 0, false, kCompilationError, "Kernel compilation failed",
        Origin::kSubmission},
    Row{"runtime_error", "", 1, true, kRuntimeError, "Kernel execution failed",
        Origin::kSubmission},
    Row{"out_of_memory", "", 0, false, kResourceError, "Kernel compilation failed",
        Origin::kSubmission},
    Row{"out_of_memory", "", 1, true, kResourceError, "Kernel execution failed",
        Origin::kSubmission},
    Row{"timeout", "", -1, false, kTimeoutError, "Kernel evaluation failed: timeout",
        Origin::kSubmission},
    Row{"rejected_cheat", "", -1, true, kValidationError,
        "Kernel evaluation failed: integrity violation", Origin::kIntegrity},
    Row{"cancelled", "", -1, false, kSystemError, "Task cancelled", Origin::kClient},
    Row{"infra_error", "", -1, false, kSystemError,
        "Kernel evaluation failed: infrastructure fault", Origin::kInfrastructure},
};

constexpr Row kReferenceRow = {
    "infra_error",     "", -1, false, kValidationError, "Reference code validation failed",
    Origin::kReference};

/// A reference that could not be loaded, run or timed. The engine counts it as an infrastructure
/// fault, since its own tasks work; here the client sent it. The device's own faults stay faults.
bool ReferenceFailed(const json::object& error) {
  if (GetString(error, "kind") != "infrastructure") return false;
  if (GetString(error, "name") == "reference") return true;
  const std::string message = GetString(error, "message");
  return message.starts_with("the judge could not do 'examine': ") &&
         message.find("CUDA") == std::string::npos &&
         message.find("OutOfMemory") == std::string::npos;
}

const Row& FindRow(const json::object& verdict) {
  const std::string status = GetString(verdict, "status");
  const json::object& error = GetObject(verdict, "error");
  const std::string kind = GetString(error, "kind");
  const int compiled = GetBool(verdict, "compiled") ? 1 : 0;
  if (status == "infra_error" && ReferenceFailed(error)) return kReferenceRow;
  const auto* row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& candidate) {
    return candidate.status == status && (candidate.kind.empty() || candidate.kind == kind) &&
           (candidate.compiled < 0 || candidate.compiled == compiled);
  });
  // No verdict, or one of a later version: not judged, as far as this protocol knows.
  return row == kRows.end() ? kRows.back() : *row;
}

bool HasFlag(const json::object& verdict, std::string_view name) {
  for (const json::value& flag : GetArray(verdict, "flags"))
    if (flag.is_string() && flag.get_string() == name) return true;
  return false;
}

/// A submission whose result does not come from a kernel of its own. What the device was seen
/// running goes before what the text looks like.
bool IsDecoy(const json::object& verdict) {
  if (const std::optional<Coverage> coverage = ReadCoverage(verdict)) return coverage->none_own();
  for (const std::string_view flag : {"decoy", "S2.no_kernel", "S2.decoy"})
    if (HasFlag(verdict, flag)) return true;
  return false;
}

std::string Describe(const json::object& error, bool terse) {
  const std::string name = GetString(error, "name");
  std::string text = GetString(error, "message");
  // The names of mismatches and deadlines are codes for programs.
  const std::string kind = GetString(error, "kind");
  const bool named = kind == "exception" || kind == "crash" || kind == "compile_error";
  if (named && !name.empty() && !text.starts_with(name))
    text = text.empty() ? name : name + ": " + text;
  if (const int64_t line = GetInt(error, "line"); line > 0)
    text += fmt::format(" (line {} of the submission)", line);
  return terse ? TruncateMiddle(text.substr(0, text.find('\n')), kTerseMessage) : text;
}

/// With the verdict's six significant digits; dividing would add noise behind them.
double Milliseconds(double us) {
  return std::strtod(fmt::format("{:.6g}", us / 1e3).c_str(), nullptr);
}

double MedianMs(const json::object& timing, std::string_view side) {
  const double us = GetDouble(GetObject(timing, side), "median");
  return us > 0 ? Milliseconds(us) : kNotMeasured;
}

json::value InMilliseconds(const json::object& summary) {
  json::object out;
  for (const char* key : {"median", "p20", "p80", "min"})
    out[key] = Milliseconds(GetDouble(summary, key));
  out["num_trials"] = GetInt(summary, "n");
  return out;
}

void AddErrorDetails(const json::object& error, const Row& row, bool terse, json::object* out) {
  const std::string text = Describe(error, terse);
  const std::string name = GetString(error, "name");
  if (row.code == kCompilationError) {
    (*out)["compilation_error"] = text;
    (*out)["compilation_error_name"] = name;
  } else if (row.code == kRuntimeError || row.code == kResourceError || row.code == kTimeoutError) {
    (*out)["runtime_error"] = text;
    (*out)["runtime_error_name"] = name;
  } else if (row.code == kCorrectnessError) {
    (*out)["correctness_issue"] = name == "shape" ? "Output shape mismatch: " + text
                                  : name.empty() || name == "values" ? "Output mismatch"
                                                                     : "Output mismatch: " + text;
  } else if (row.code == kValidationError) {
    (*out)["validation_error"] = text;
  } else {
    (*out)["error"] = text;
  }
  if (const int64_t line = GetInt(error, "line"); line > 0) (*out)["error_line"] = line;
}

void AddCorrectness(const json::object& verdict, json::object* out) {
  const json::object& checks = GetObject(verdict, "correctness");
  const int64_t trials = GetInt(checks, "trials");
  if (trials <= 0) return;
  (*out)["correctness_trials"] = fmt::format("({} / {})", GetInt(checks, "passed"), trials);
  if (GetString(verdict, "status") != "incorrect") return;
  if (const json::value* error = checks.if_contains("max_abs_err"); error && error->is_number())
    (*out)["max_difference"] = {fmt::format("{:.6f}", GetDouble(checks, "max_abs_err"))};
}

void AddTiming(const json::object& timing, json::object* out) {
  if (!GetObject(timing, "candidate_us").empty())
    (*out)["runtime_stats"] = InMilliseconds(GetObject(timing, "candidate_us"));
  if (!GetObject(timing, "reference_us").empty())
    (*out)["reference_runtime_stats"] = InMilliseconds(GetObject(timing, "reference_us"));
  if (!GetObject(timing, "speedup").empty())
    (*out)["speedup_interval"] = GetObject(timing, "speedup");
  const std::string note = GetString(timing, "note");
  if (!note.empty()) (*out)["timing_note"] = note;
}

json::object Metadata(const TaskRecord& record, const Job& job, const Row& row) {
  const json::object& verdict = job.verdict;
  const EvaluationRequest& request = record.request;
  const json::object& environment = GetObject(verdict, "environment");
  const std::string gpu = GetString(environment, "gpu", GetString(environment, "cpu", "cpu"));
  json::object out = {{"hardware", gpu},
                      {"gpu_name", gpu},
                      {"device", GetString(environment, "device", job.worker)},
                      {"backend", request.backend},
                      {"num_correct_trials", request.num_correct_trials},
                      {"num_perf_trials", request.num_perf_trials}};
  AddCorrectness(verdict, &out);
  if (const json::object& error = GetObject(verdict, "error"); !error.empty())
    AddErrorDetails(error, row, !request.verbose_errors.value_or(true), &out);
  AddTiming(GetObject(verdict, "timing"), &out);
  AddCoverage(verdict, request.enable_profiling.value_or(true), &out);
  if (request.simple()) {
    out["cases_source"] = record.cases_source;
    out["num_cases"] = record.num_cases > 0 ? json::value(record.num_cases) : json::value(nullptr);
  } else {
    out["reference_backend"] = request.reference_backend.value_or("pytorch");
    out["reference_task_id"] = record.id() + "_ref";
    out["kernel_task_id"] = record.id() + "_kernel";
  }
  if (request.use_reference_cache) {
    // The reference is measured beside every submission, on the same inputs and clocks; a time from
    // another day would make the ratio worse and save nothing.
    out["cached"] = false;
    out["uuid"] = request.uuid.value_or("");
    out["cache_type"] = request.is_valid ? "validation" : "regular";
  }
  if (!record.notes.empty()) out["notes"] = record.notes;
  out["feedback"] = GetString(verdict, "feedback");
  out["error_origin"] = ToString(row.origin);
  out["assay"] = {{"job_id", job.request->id},
                  {"status", GetString(verdict, "status")},
                  {"fault", GetString(verdict, "fault")},
                  {"stage", GetString(verdict, "stage")},
                  {"flags", GetArray(verdict, "flags")},
                  {"phases_ms", GetObject(verdict, "phases_ms")},
                  {"deliveries", job.deliveries},
                  {"protocol", GetString(verdict, "protocol")}};
  return out;
}

template <typename T>
json::value OrNull(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

json::value OrNull(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

}  // namespace

std::string_view ToString(Origin origin) {
  switch (origin) {
    case Origin::kNone:
      return "none";
    case Origin::kSubmission:
      return "submission";
    case Origin::kIntegrity:
      return "integrity";
    case Origin::kReference:
      return "reference";
    case Origin::kRequest:
      return "request";
    case Origin::kInfrastructure:
      return "infrastructure";
    case Origin::kClient:
      return "client";
  }
  return "none";
}

Outcome Translate(const TaskRecord& record, const Job& job, bool timeout_status) {
  const json::object& verdict = job.verdict;
  const Row& row = FindRow(verdict);
  Outcome out;
  out.origin = row.origin;
  out.error_code = row.code;
  out.status = row.completed ? "completed" : "failed";
  if (timeout_status && row.code == kTimeoutError) out.status = "timeout";
  out.metadata = Metadata(record, job, row);
  if (!row.prefix.empty()) {
    const std::string text =
        Describe(GetObject(verdict, "error"), !record.request.verbose_errors.value_or(true));
    out.error_message = std::string(row.prefix);
    if (!text.empty() && row.origin != Origin::kClient) out.error_message += ": " + text;
  }
  const bool judged = row.origin != Origin::kInfrastructure && row.origin != Origin::kClient;
  if (!judged) return out;

  // A failure in Triton's compiler at the first call is a failure to compile, however late.
  out.compiled = row.code != kCompilationError && GetBool(verdict, "compiled");
  out.correct = GetBool(verdict, "correct");
  out.kernel_ms = kNotMeasured;
  out.reference_ms = kNotMeasured;
  out.speedup = 0.0;
  out.decoy = row.origin == Origin::kIntegrity;
  if (!*out.correct) return out;
  const json::object& timing = GetObject(verdict, "timing");
  if (GetBool(timing, "meaningful")) {
    out.kernel_ms = MedianMs(timing, "candidate_us");
    out.reference_ms = MedianMs(timing, "reference_us");
    out.speedup = GetDouble(GetObject(timing, "speedup"), "value");
  }
  out.decoy = record.request.wants_decoy_check() && IsDecoy(verdict);
  out.metadata["speedup_valid"] = *out.speedup > 0 && !*out.decoy;
  if (*out.decoy) out.speedup = 0.0;
  return out;
}

Outcome Refused(const TaskRecord& record) {
  Outcome out;
  out.status = "failed";
  out.compiled = false;
  out.correct = false;
  out.decoy = false;
  out.kernel_ms = kNotMeasured;
  out.reference_ms = kNotMeasured;
  out.speedup = 0.0;
  out.error_message = record.refusal;
  out.error_code = kValidationError;
  out.origin = Origin::kRequest;
  out.metadata = {{"validation_error", record.refusal},
                  {"error_origin", ToString(out.origin)},
                  {"backend", record.request.backend}};
  return out;
}

json::object EvaluationAnswer(const TaskRecord& record, const Job* job, const Outcome& outcome) {
  const double finished = job != nullptr ? job->finished_at : record.submitted_at;
  const double started = job != nullptr ? job->started_at : record.submitted_at;
  return {{"task_id", record.id()},
          {"status", outcome.status},
          {"compiled", OrNull(outcome.compiled)},
          {"correctness", OrNull(outcome.correct)},
          {"decoy_kernel", OrNull(outcome.decoy)},
          {"reference_runtime", OrNull(outcome.reference_ms)},
          {"kernel_runtime", OrNull(outcome.kernel_ms)},
          {"speedup", OrNull(outcome.speedup)},
          {"metadata", outcome.metadata},
          {"error_message", OrNull(outcome.error_message)},
          {"error_code", OrNull(outcome.error_code)},
          {"submitted_at", Timestamp(record.submitted_at)},
          {"completed_at", Timestamp(finished)},
          {"processing_time", started > 0 && finished >= started ? json::value(finished - started)
                                                                 : json::value(nullptr)},
          {"error_origin", ToString(outcome.origin)}};
}

json::object WorkflowAnswer(const TaskRecord& record, const Job* job, const Outcome& outcome) {
  const json::object whole = EvaluationAnswer(record, job, outcome);
  json::object result = {{"task_id", record.id()}, {"base_task_id", record.id()}};
  for (const char* key : {"compiled", "correctness", "decoy_kernel", "kernel_runtime"})
    result[key] = whole.at(key);
  if (!record.request.simple()) {
    result["reference_runtime"] = whole.at("reference_runtime");
    result["speedup"] = whole.at("speedup");
  }
  for (const char* key : {"metadata", "error_message", "error_code"}) result[key] = whole.at(key);
  return {{"task_id", record.id()},
          {"status", whole.at("status")},
          {"result", std::move(result)},
          {"error_message", whole.at("error_message")},
          {"error_code", whole.at("error_code")},
          {"submitted_at", whole.at("submitted_at")},
          {"completed_at", whole.at("completed_at")},
          {"error_origin", whole.at("error_origin")}};
}

Outcome PartOf(const Outcome& outcome, Part part) {
  Outcome out = outcome;
  if (part == Part::kKernel) {
    out.reference_ms.reset();
    out.speedup.reset();
  } else if (part == Part::kReference) {
    out.compiled.reset();
    out.correct.reset();
    out.decoy.reset();
    out.kernel_ms.reset();
    out.speedup.reset();
  }
  return out;
}

}  // namespace assay::kernelgym
