#include "worker/engine.h"

#include <algorithm>
#include <shared_mutex>
#include <thread>

#include "base/log.h"

namespace assay {
namespace {

// One judge that dies takes the lanes of all submissions with it: the second try may meet the
// repair of another one.
constexpr int kAttempts = 3;
constexpr std::chrono::milliseconds kBackoff{200};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Start(EngineOptions options) {
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, Device::Open(options.device));
  std::string secret = options.secret.empty() ? RandomBytes(32) : std::move(options.secret);
  const uint64_t memory = device->memory_bytes();
  return std::unique_ptr<Engine>(
      new Engine(std::move(device), std::move(secret), options.device.require_sandbox, memory));
}

Verdict Engine::Evaluate(Submission submission, const Progress& progress) {
  if (submission.id.empty()) submission.id = NewId("sub-");
  Verdict verdict = EvaluateOnce(submission, progress);
  if (verdict.error.kind == FailureKind::kDeviceMemory) {
    // Neither what the judge keeps for speed nor what a neighbour took beyond its share decides
    // whether one finds room.
    LogInfo("{}: the device's memory was short; judged again when those beside it have ended",
            submission.id);
    budget_.AwaitHolders([&] { return submission.cancelled && *submission.cancelled; });
    submission.frugal = true;
    submission.attempt = kAttempts;
    verdict = EvaluateOnce(submission, progress);
  }
  if (!Unexplained(verdict.plausibility)) return verdict;
  return Audit(submission, std::move(verdict), progress);
}

Verdict Engine::Audit(const Submission& submission, Verdict first, const Progress& progress) {
  LogWarn("{}: {:.4g} us is below the bound of {:.4g} us; measured again", submission.id,
          first.candidate_us.median, first.roofline->bound_us);
  {
    const std::shared_lock device(device_->lock());
    if (Status tried = device_->judge().TryPrecisions(*submission.task, device_->size(),
                                                      submission.modes.precision);
        !tried.ok())
      LogWarn("{}: the precisions cannot be tried: {}", submission.id, tried.error().message);
  }
  Submission again = submission;
  again.id += "/audit";  // Other hidden seeds.
  again.ghost = true;    // What is that fast may not do the work.
  Verdict second = EvaluateOnce(again, progress);
  const auto is = [&](Fault fault) { return second.fault == fault; };
  // No second opinion: the first stands, unpaid.
  if (is(Fault::kInfrastructure) || second.status == VerdictStatus::kCancelled) return first;
  Records records = std::move(second.records);
  if (second.correct && second.candidate_us.median < first.candidate_us.median) {
    std::optional<RooflineReport> bound = std::move(records.roofline);
    std::optional<GhostRecord> ghost = std::move(records.ghost);
    records = std::move(first.records);
    records.roofline = std::move(bound);
    records.ghost = std::move(ghost);
  }
  records.id = submission.id;
  records.flags.emplace_back("audited");
  return Decide(std::move(records));
}

Verdict Engine::EvaluateOnce(Submission submission, const Progress& progress) {
  for (int attempt = 1;; ++attempt) {
    Verdict verdict = [&] {
      Evaluation evaluation(device_.get(), &budget_, submission, secret_, require_sandbox_,
                            progress);
      return Decide(evaluation.Run());
    }();
    if (verdict.fault != Fault::kInfrastructure || attempt == kAttempts ||
        verdict.error.name == kBrokenReference)
      return verdict;
    LogWarn("{}: infrastructure fault, trying again: {}", submission.id, verdict.error.message);
    submission.frugal = true;
    ++submission.attempt;
    std::this_thread::sleep_for(kBackoff * attempt);
  }
}

}  // namespace assay
