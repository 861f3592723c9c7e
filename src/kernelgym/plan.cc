#include "kernelgym/plan.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "kernelgym/case_code.h"
#include "kernelgym/harness.h"
#include "task/python_names.h"
#include "task/task.h"

namespace assay::kernelgym {
namespace {

constexpr const char* kNoOutputs =
    "Kernel code validation failed: kernel_simple needs expected outputs, since the time of a "
    "kernel that may be wrong means nothing: give `cases` or `cases_code` with outputs, define "
    "get_cases() in kernel_code, or use the workflow kernelbench with a reference";

constexpr double kCompiledCall = 180;  ///< seconds

bool WantsCompiledReference(const EvaluationRequest& request) {
  const std::string name = ToLower(request.reference_backend.value_or(""));
  return name == "torch_compile" || name == "torch-compile" || name == "compile";
}

void Note(std::string_view text, std::string* notes) {
  if (!notes->empty()) *notes += "; ";
  *notes += text;
}

/// "" or why `resources` cannot be had: one submission is judged on one GPU.
std::string CheckResources(const json::object& resources) {
  const json::value* gpus = resources.if_contains("gpus");
  if (gpus == nullptr || gpus->is_null()) return "";
  if (!gpus->is_int64() || gpus->get_int64() < 1)
    return "resources.gpus must be an integer of at least 1";
  if (gpus->get_int64() > 1)
    return fmt::format("resources.gpus is {}: a submission is judged on one GPU",
                       gpus->get_int64());
  return "";
}

std::string CheckRequest(const EvaluationRequest& request) {
  if (!IsIdentifier(request.entry_point))
    return fmt::format("entry_point '{}' is not the name of a class",
                       CleanText(request.entry_point));
  if (request.use_reference_cache && request.uuid.value_or("").empty())
    return "use_reference_cache needs a uuid";
  return request.resources ? CheckResources(*request.resources) : "";
}

void AddNotes(const EvaluationRequest& request, const PlanOptions& options, std::string* notes) {
  if (!request.run_correctness.value_or(true))
    Note("run_correctness=false was not followed: only checked submissions are reported on", notes);
  if (request.device_preference && !request.device_preference->empty() &&
      options.devices != std::vector<std::string>{*request.device_preference})
    Note(
        fmt::format("device_preference '{}' was not followed: the device that is free first judges",
                    TruncateMiddle(CleanText(*request.device_preference), 100)),
        notes);
}

void PlanKernelBench(const EvaluationRequest& request, Plan* plan) {
  const std::string& reference = *request.reference_code;
  const std::string submission_entry = request.entry_point + "New";
  plan->refusal = CheckClass("Reference", reference, request.entry_point);
  if (plan->refusal.empty())
    plan->refusal = CheckClass("Kernel", request.kernel_code, submission_entry);
  if (!plan->refusal.empty()) return;
  plan->job.entry = request.entry_point;
  plan->job.submission_entry = submission_entry;
  plan->job.source = request.kernel_code;
  plan->job.task_source =
      ReferenceSource(reference, request.entry_point, WantsCompiledReference(request));
  Task task;
  task.id = "kernelgym/reference";
  task.entry = request.entry_point;
  task.source = plan->job.task_source;
  const Result<Task> made = MakeTask(std::move(task));
  if (!made.ok()) plan->refusal = "Reference code validation failed: " + made.error().message;
}

/// The numbers that say when two results are equal are the engine's; a case's own are not used.
bool GivesTolerances(const json::array& cases) {
  return std::any_of(cases.begin(), cases.end(), [](const json::value& item) {
    return item.is_object() &&
           (item.get_object().contains("rtol") || item.get_object().contains("atol"));
  });
}

/// "" or why inline cases cannot be judged.
std::string CheckCases(const json::array& cases) {
  if (cases.empty()) return "Kernel code validation failed: `cases` is empty";
  for (size_t i = 0; i < cases.size(); ++i) {
    const json::value& item = cases[i];
    if (!item.is_object())
      return fmt::format(
          "Kernel code validation failed: case {} has no outputs: a case is an object with "
          "`inputs` "
          "and `outputs`",
          i);
    const json::object& object = item.get_object();
    if (!object.contains("inputs") && !object.contains("input"))
      return fmt::format("Kernel code validation failed: case {} has no `inputs`", i);
    if (!object.contains("outputs") && !object.contains("output"))
      return fmt::format("Kernel code validation failed: case {} has no `outputs`", i);
  }
  return "";
}

/// Finds the cases and makes the task's source of them.
void PlanCases(const EvaluationRequest& request, Plan* plan) {
  if (request.cases) {
    plan->cases_source = "inline";
    plan->num_cases = static_cast<int>(request.cases->size());
    plan->refusal = CheckCases(*request.cases);
    if (GivesTolerances(*request.cases))
      Note("rtol and atol of the cases were not used: the engine's numeric rule decides",
           &plan->notes);
    Note(
        "the inputs of inline cases are the same in every call, so a submission could remember "
        "its results: give cases_code that draws them for a time to rely on",
        &plan->notes);
    plan->job.task_source = CasesSource(CasesFromJson(*request.cases), false);
    return;
  }
  const bool from_requester = request.cases_code && !Trim(*request.cases_code).empty();
  const std::string& code = from_requester ? *request.cases_code : request.kernel_code;
  plan->cases_source = from_requester ? "cases_code" : "kernel_code";
  const Result<PythonNames> names = ScanPythonNames(code);
  if (!names.ok() || !names->Binds("get_cases")) {
    plan->refusal =
        names.ok() ? kNoOutputs
                   : fmt::format("{} was not read: {}", plan->cases_source, names.error().message);
    return;
  }
  if (from_requester) {
    plan->job.task_source = CasesSource(code, false);
    return;
  }
  Result<std::string> cases = ExtractCases(code);
  if (!cases.ok()) {
    plan->refusal = "Kernel code validation failed: " + cases.error().message;
    return;
  }
  Note("the submission wrote its own expected outputs: correctness says that it agrees with itself",
       &plan->notes);
  plan->job.task_source = CasesSource(*std::move(cases), true);
}

void PlanSimple(const EvaluationRequest& request, Plan* plan) {
  const std::string entry = EntryOfSimple(request);
  plan->refusal = CheckClass("Kernel", request.kernel_code, entry);
  if (!plan->refusal.empty()) return;
  PlanCases(request, plan);
  if (!plan->refusal.empty()) return;
  plan->job.entry = kCasesReference;
  plan->job.submission_entry = entry;
  plan->job.source =
      CasesSubmission(request.kernel_code, entry, plan->cases_source != "cases_code");
}

}  // namespace

std::string CheckClass(std::string_view what, const std::string& code, const std::string& entry) {
  const Result<PythonNames> names = ScanPythonNames(code);
  if (!names.ok()) return fmt::format("{} code validation failed: {}", what, names.error().message);
  if (names->Binds(entry)) return "";
  return fmt::format("{} code validation failed: Code must contain a '{}' class", what, entry);
}

std::string EntryOfSimple(const EvaluationRequest& request) {
  if (request.entry_point != "Model") return request.entry_point;
  const Result<PythonNames> names = ScanPythonNames(request.kernel_code);
  return names.ok() && names->Binds("ModelNew") ? "ModelNew" : "Model";
}

Plan MakePlan(const EvaluationRequest& request, const PlanOptions& options) {
  Plan plan;
  plan.refusal = CheckRequest(request);
  if (!plan.refusal.empty()) return plan;
  AddNotes(request, options, &plan.notes);
  if (request.simple())
    PlanSimple(request, &plan);
  else
    PlanKernelBench(request, &plan);
  plan.job.priority = request.priority == "high" ? 1 : request.priority == "low" ? -1 : 0;
  plan.job.timeout_s = request.timeout;
  plan.job.options = {{"trials", request.num_correct_trials}, {"time", request.wants_time()}};
  if (request.enable_profiling.value_or(true)) plan.job.options["profile"] = true;
  // torch.compile works at the reference's first call, which no deadline of a call foresees.
  if (!request.simple() && WantsCompiledReference(request))
    plan.job.options["call_timeout_s"] = kCompiledCall;
  return plan;
}

}  // namespace assay::kernelgym
