#include "kernelgym/service.h"
#include "kernelgym/shapes.h"

namespace assay::kernelgym {
namespace {

/// How far a running task is, by the stage it is in. For progress bars.
double Progress(const Job& job) {
  if (job.state == JobState::kQueued) return 0;
  if (job.state == JobState::kDone) return 1;
  if (job.stage == "lint") return 0.05;
  if (job.stage == "prepare") return 0.1;
  if (job.stage == "load") return 0.3;
  if (job.stage == "check") return 0.5;
  if (job.stage == "time") return 0.8;
  return 0.05;
}

std::string_view StateName(const Job& job) {
  return job.state == JobState::kQueued ? "pending" : "processing";
}

json::value OrNull(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

http::Response NotFound(const std::string& name) {
  return Detail(404, "Task " + name + " not found");
}

}  // namespace

void Service::TaskStatus(const http::Request& request, const http::Reply& reply) {
  const std::string name(request.Captured("task_id"));
  const std::optional<Tasks::Found> found = tasks_.Find(request.who.key_name, name);
  if (!found) return reply(NotFound(name));
  json::object body = {{"task_id", name},
                       {"status", ""},
                       {"progress", nullptr},
                       {"estimated_completion", nullptr},
                       {"queue_position", nullptr},
                       {"assigned_device", nullptr},
                       {"submitted_at", Timestamp(found->record.submitted_at)},
                       {"started_at", nullptr},
                       {"completed_at", nullptr},
                       {"error_message", nullptr},
                       {"error_code", nullptr},
                       {"error_origin", nullptr}};
  if (found->job) {
    const Job& job = *found->job;
    body["progress"] = Progress(job);
    body["assigned_device"] = OrNull(job.worker);
    body["started_at"] = Timestamp(job.started_at);
    body["completed_at"] = Timestamp(job.finished_at);
    if (job.state == JobState::kQueued)
      body["estimated_completion"] = Timestamp(Now() + context_.jobs->Depth().drain_estimate_s);
  }
  if (!found->finished()) {
    body["status"] = StateName(*found->job);
    return reply(http::Response::Json(body));
  }
  const Outcome outcome = tasks_.OutcomeOf(found->record, found->job.get());
  body["status"] = outcome.status;
  body["error_message"] = OrNull(outcome.error_message);
  body["error_code"] = OrNull(outcome.error_code);
  body["error_origin"] = ToString(outcome.origin);
  reply(http::Response::Json(body));
}

http::Response Service::ResultOf(const http::Request& request, Form form) {
  const std::string name(request.Captured("task_id"));
  std::optional<Tasks::Found> found = tasks_.Find(request.who.key_name, name);
  if (!found || !found->finished()) return NotFound(name);
  const Job* job = found->job.get();
  if (found->part == Part::kWhole) return Answer(found->record, job, form);
  const Outcome outcome = PartOf(tasks_.OutcomeOf(found->record, job), found->part);
  const std::string base = found->record.id();
  found->record.request.task_id = name;
  json::object body = form(found->record, job, outcome);
  if (json::value* result = body.if_contains("result"); result != nullptr && result->is_object()) {
    json::object& fields = result->get_object();
    fields["base_task_id"] = base;
    // A half has only its own members.
    const bool kernel = found->part == Part::kKernel;
    for (const char* key : {"compiled", "correctness", "decoy_kernel", "kernel_runtime"})
      if (!kernel) fields.erase(key);
    if (kernel) fields.erase("reference_runtime");
    fields.erase("speedup");
  }
  return http::Response::Json(body);
}

void Service::Results(const http::Request& request, const http::Reply& reply) {
  reply(ResultOf(request, EvaluationAnswer));
}

void Service::WorkflowResults(const http::Request& request, const http::Reply& reply) {
  reply(ResultOf(request, WorkflowAnswer));
}

void Service::CancelTask(const http::Request& request, const http::Reply& reply) {
  const std::string name(request.Captured("task_id"));
  const std::optional<Tasks::Found> found = tasks_.Find(request.who.key_name, name);
  if (!found || found->finished())
    return reply(Detail(404, "Task " + name + " not found or cannot be cancelled"));
  context_.jobs->CancelThen(found->record.job_id, [name, reply](const Status& status) {
    if (!status.ok())
      return reply(Detail(500, "Failed to cancel task: " + status.error().message, kSystemError));
    reply(http::Response::Json({{"message", "Task " + name + " cancelled successfully"}}));
  });
}

}  // namespace assay::kernelgym
