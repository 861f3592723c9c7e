#include "broker/engine_runner.h"

#include <algorithm>

#include "base/hash.h"
#include "broker/evaluation_options.h"
#include "broker/request_task.h"

namespace assay {

Result<std::unique_ptr<EngineRunner>> EngineRunner::Start(
    Options options, std::shared_ptr<const TaskRegistry> registry) {
  std::string name = options.name.empty() ? options.engine.device.device : options.name;
  // Each job needs a candidate of its own.
  options.engine.device.limits.pool = std::max(options.engine.device.limits.pool, options.jobs);
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Start(std::move(options.engine)));
  // People want to know which device that was.
  if (name == "auto") name = GetString(engine->device().environment(), "device", name);
  return std::unique_ptr<EngineRunner>(
      new EngineRunner(std::move(engine), std::move(registry), std::move(name), options.jobs));
}

json::object EngineRunner::Describe() const {
  return {{"kind", "engine"}, {"environment", engine_->device().environment()}};
}

Result<json::object> EngineRunner::Run(const JobRequest& request, const Stage& stage,
                                       const CancelFlag& cancelled) {
  // Both were right when the job was accepted; a server that was started anew may have other tasks.
  Result<std::shared_ptr<const Task>> task = TaskOf(*registry_, request);
  Result<EvaluationOptions> options = ParseEvaluationOptions(request.options);
  if (!task.ok() || !options.ok())
    return UnjudgedVerdict(request, /*cancelled=*/false, "request",
                           task.ok() ? options.error().message : task.error().message);
  Submission submission;
  submission.id = request.id;
  submission.task = *task;
  submission.source = request.source;
  // The engine builds ModelNew; another name is bound to it behind the submission's last line.
  if (request.submission_entry != "ModelNew")
    submission.source += "\nModelNew = " + request.submission_entry + "\n";
  submission.time = options->time;
  submission.profile = options->profile;
  submission.ghost = options->ghost;
  submission.ncu = options->ncu;
  submission.sanitize = options->sanitize;
  submission.modes = options->modes;
  submission.trials = options->trials;
  submission.load_s = options->load_s;
  submission.compile_s = options->compile_s;
  submission.call_s = options->call_s;
  submission.timeout_s = request.timeout_s;
  submission.cancelled = cancelled;
  Verdict verdict = engine_->Evaluate(std::move(submission), stage);
  // Of what the client sent.
  verdict.records.submission_sha256 = Sha256Hex(request.source);
  return ToJson(verdict, /*full=*/true);
}

}  // namespace assay
