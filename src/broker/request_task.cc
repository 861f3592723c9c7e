#include "broker/request_task.h"

#include "base/hash.h"
#include "broker/evaluation_options.h"

namespace assay {

Result<std::shared_ptr<const Task>> TaskOf(const TaskRegistry& registry,
                                           const JobRequest& request) {
  if (request.task_source.empty()) return registry.Find(request.task_id);
  Task task;
  task.id = request.task_id.empty() ? "source/" + Sha256Hex(request.task_source).substr(0, 16)
                                    : request.task_id;
  task.entry = request.entry;
  task.source = request.task_source;
  task.origin = "request";
  ASSAY_ASSIGN_OR_RETURN(task, MakeTask(std::move(task)));
  return std::shared_ptr<const Task>(std::make_shared<Task>(std::move(task)));
}

Status CheckRequest(const TaskRegistry& registry, const JobRequest& request) {
  Result<std::shared_ptr<const Task>> task = TaskOf(registry, request);
  if (!task.ok()) return task.error();
  Result<EvaluationOptions> options = ParseEvaluationOptions(request.options);
  if (!options.ok()) return options.error();
  return {};
}

}  // namespace assay
