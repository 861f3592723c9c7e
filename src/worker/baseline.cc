#include "worker/baseline.h"

#include "base/log.h"
#include "base/strings.h"

namespace assay {
namespace {

constexpr size_t kMaxReason = 400;

}  // namespace

void Baseline::Fail(const Outcome& outcome) {
  record_.unavailable =
      TruncateMiddle(CleanText(outcome.name + ": " + outcome.message), kMaxReason);
  record_.rounds.clear();
  LogInfo("the baseline {} is unavailable: {}", record_.name, record_.unavailable);
  session_.reset();
  lease_.Drop();  // in whatever state it is, it must not run on
  lease_ = {};
}

void Baseline::Finish() {
  if (!available() || session_ == nullptr) return;
  const bool fine = Passed(session_->Unload());
  session_.reset();
  if (!fine) lease_.Drop();
  lease_ = {};
}

void Baseline::Prepare(const LaneArena& arena, int outputs_fd, const Task& task,
                       const std::string& precision, uint64_t weights_seed, uint32_t slot) {
  Result<BaselineProcesses::Lease> lease = device_->baselines().Take(record_.name);
  if (!lease.ok()) return Fail(InfrastructureFailure(Stage::kLoad, lease.error()));
  lease_ = *std::move(lease);
  if (Outcome outcome = TryPrepare(arena, outputs_fd, task, precision, weights_seed, slot);
      !Passed(outcome))
    Fail(outcome);
}

Outcome Baseline::TryPrepare(const LaneArena& arena, int outputs_fd, const Task& task,
                             const std::string& precision, uint64_t weights_seed, uint32_t slot) {
  const BackgroundSet::Member background(&device_->background(), *lease_.get());
  session_ = std::make_unique<CandidateSession>(device_, lease_.get());
  session_->SetInterrupt(interrupted_);
  const BaselineRecipe recipe = RecipeOf(record_.name);
  CandidateSession::LoadOptions options;
  options.source = task.source;
  options.class_name = task.entry;
  options.size = device_->size();
  options.limit = Seconds(device_->limits().compile_s);
  options.precision = recipe.precision.empty() ? precision : recipe.precision;
  options.compile = recipe.compile;
  if (Outcome outcome = session_->Load(arena, outputs_fd, options); !Passed(outcome))
    return outcome;
  if (Outcome outcome = session_->Build(weights_seed, options.limit, nullptr); !Passed(outcome))
    return outcome;
  if (Outcome outcome = session_->BeginRounds(Stage::kCheck); !Passed(outcome)) return outcome;
  CandidateSession::RoundTime elapsed;
  if (Outcome outcome =
          session_->Round(Stage::kCheck, slot, 1, /*freeze=*/false, options.limit, &elapsed);
      !Passed(outcome))
    return outcome;
  LogDebug("the baseline {} took {:.1f} ms for its first call", record_.name, elapsed.us / 1e3);
  return session_->EndRounds(Stage::kCheck, nullptr);
}

}  // namespace assay
