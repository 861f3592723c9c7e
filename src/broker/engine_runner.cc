#include "broker/engine_runner.h"

#include <algorithm>

#include "base/hash.h"
#include "broker/evaluation_options.h"
#include "broker/request_task.h"

namespace assay {
namespace {

// What Check() judges. It goes the whole way of a submission, the timing too.
constexpr const char* kCheckTask = R"(
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(64, 64)]

def get_init_inputs():
    return []
)";
constexpr const char* kCheckSource = R"(
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
)";

/// What bounds are computed for: the card's peaks, and the hash of its calibration's figures, so
/// that results can be compared.
json::object RooflineJson(const RooflineTarget& target) {
  const Card& card = target.card;
  constexpr const char* kNames[kPrecisions] = {"fp64", "fp64_matrix", "fp32", "tf32",
                                               "fp16", "int8",        "fp8"};
  json::object tflops;
  for (int i = 0; i < kPrecisions; ++i)
    if (card.rates[i] > 0) tflops[kNames[i]] = PeakFlops(card, static_cast<Precision>(i)) / 1e12;
  json::object out{{"card", card.name},
                   {"published", card.datasheet},
                   {"dram_gbs", card.dram_gbs},
                   {"tflops", std::move(tflops)},
                   {"calibration_sha256", nullptr}};
  if (target.calibration) {
    const Calibration& own = *target.calibration;
    out["calibration_sha256"] = Sha256Hex(json::serialize(json::value_from(
        std::vector{own.best_gbs, own.best_tflops, own.bandwidth_gbs, own.tflops})));
  }
  return out;
}

/// A fault of the device or of what serves it, which another runner may not have.
bool IsRunnersFault(const Verdict& verdict) {
  return verdict.fault == Fault::kInfrastructure && verdict.error.name != kBrokenReference;
}

}  // namespace

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
  Device& device = engine_->device();
  json::object out{{"kind", "engine"},
                   {"environment", device.environment()},
                   {"warm", device.pool().warm()},
                   {"roofline", nullptr}};
  if (const RooflineTarget* target = device.roofline()) out["roofline"] = RooflineJson(*target);
  return out;
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
  if (IsRunnersFault(verdict))
    return Err(ErrorCode::kInternal, "{}: {}", verdict.error.name, verdict.error.message);
  // Of what the client sent.
  verdict.records.submission_sha256 = Sha256Hex(request.source);
  return ToJson(verdict, /*full=*/true);
}

Status EngineRunner::Check(const CancelFlag& cancelled) {
  Task task;
  task.id = "assay/runner-check";
  task.source = kCheckTask;
  task.origin = "the runner";
  Submission submission;
  ASSAY_ASSIGN_OR_RETURN(task, MakeTask(std::move(task)));
  submission.task = std::make_shared<const Task>(std::move(task));
  submission.source = kCheckSource;
  submission.cancelled = cancelled;
  const Verdict verdict = engine_->Evaluate(std::move(submission));
  if (verdict.correct) return {};
  return Err(ErrorCode::kUnavailable, "a submission that is right is judged {}: {}",
             ToString(verdict.status), verdict.error.message);
}

}  // namespace assay
