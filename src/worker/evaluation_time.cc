// The timing: pairs of processes side by side, and what else is timed beside them.

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <shared_mutex>

#include "worker/evaluation.h"

namespace assay {
namespace {

/// Moves the rounds of a pair of processes behind those of the pairs before.
void Append(TimingRecord* pair, TimingRecord* all) {
  const auto move = [](auto* from, auto* to) {
    to->insert(to->end(), std::make_move_iterator(from->begin()),
               std::make_move_iterator(from->end()));
    from->clear();
  };
  all->pairs.push_back(static_cast<int>(pair->candidate.size()));
  move(&pair->candidate, &all->candidate);
  move(&pair->reference, &all->reference);
  move(&pair->clocks, &all->clocks);
  all->rounds_discarded += pair->rounds_discarded;
  all->measured = pair->measured;
  all->meaningful = pair->meaningful;
  all->method = pair->method;
}

/// What a round's inputs and outputs may take together to be found in the cache.
uint64_t CacheRoom(uint64_t l2_bytes) {
  constexpr uint64_t kUsual = 8ull << 20;
  if (l2_bytes > 0) return l2_bytes / 2;
  const long host = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return (host > 0 ? static_cast<uint64_t>(host) : kUsual) / 2;
}

}  // namespace

/// Compiles what is timed beside the reference, before the device is taken for the timing.
Outcome Evaluation::PrepareBaselines() {
  slot_ = 0;
  if (Outcome outcome = Fill(seeds_.Next("trial", 1), kNativeFamily); !Passed(outcome))
    return outcome;
  const TimePoint begin = Clock::now();
  const std::vector<std::string>& names = submission_.modes.baselines;
  for (size_t i = 0; i < names.size() && !Cancelled(); ++i) {
    baselines_.push_back(std::make_unique<Baseline>(device_, names[i], [this](Stage stage) {
      return Cancelled() ? CancelledFailure(stage) : Outcome{};
    }));
    baselines_.back()->Prepare(arena_, arena_.baseline_outputs[i].get(), *submission_.task,
                               shape_.precision, weights_seed_, slot_);
  }
  leased_at_ += Clock::now() - begin;  // that time was not the submission's
  return {};
}

/// The reference's process loads the task, before the device is taken for the timing.
Outcome Evaluation::LoadReference(CandidateSession* reference) {
  const double limit_s = device_->limits().compile_s;
  CandidateSession::LoadOptions options;
  options.source = submission_.task->source;
  options.class_name = submission_.task->entry;
  options.size = device_->size();
  options.precision = shape_.precision;
  options.limit = Seconds(limit_s);
  Outcome outcome = reference->Load(arena_, arena_.reference_outputs.get(), options);
  if (Passed(outcome)) outcome = reference->Build(weights_seed_, Seconds(limit_s), nullptr);
  if (Passed(outcome)) return {};
  device_->DropReference();
  return InfrastructureFailure(
      Stage::kTime, Err(ErrorCode::kInternal, "the reference cannot be timed: {}: {}", outcome.name,
                        outcome.message));
}

Outcome Evaluation::Time() {
  records_.timing.baseline = submission_.modes.baseline;
  Outcome outcome = TimePair();
  if (!records_.timing.meaningful) records_.flags.emplace_back("triton_interpreter");
  const bool more = submission_.modes.processes > 1 && records_.timing.meaningful;
  if (Passed(outcome) && !more) EndBaselines();
  return outcome;
}

/// Further pairs of fresh processes.
Outcome Evaluation::TimeMore() {
  Outcome outcome;
  for (int pair = 1; pair < submission_.modes.processes && Passed(outcome); ++pair) {
    if (Cancelled()) return CancelledFailure(Stage::kTime);
    outcome = LoadAgain();
    if (Passed(outcome)) outcome = TimePair();
  }
  if (Passed(outcome)) EndBaselines();
  return outcome;
}

/// The submission in a fresh process, as far as it was when the first one was timed: it has been
/// called, so it has compiled, and was right. With new weights, for their seed is that of a random
/// submission's draws too, and those of the process before would come again.
Outcome Evaluation::LoadAgain() {
  const TimePoint begin = Clock::now();
  if (const Status leased = LeaseAnother(); !leased.ok())
    return InfrastructureFailure(Stage::kTime, leased.error());
  {
    const std::shared_lock device(device_->lock());
    // What the process before may have written there, for this one to find.
    if (const Status erased = device_->judge().EraseOutputs(lane_); !erased.ok())
      return InfrastructureFailure(Stage::kTime, erased.error());
  }
  leased_at_ += Clock::now() - begin;  // that time was not the submission's
  if (Outcome outcome = Load(); !Passed(outcome)) return outcome;
  if (Outcome outcome = NewWeights(); !Passed(outcome)) return outcome;
  if (Outcome outcome = Fill(seeds_.Next("trial", 1), kNativeFamily); !Passed(outcome))
    return outcome;
  if (Outcome outcome = Calls(/*first=*/true, 1); !Passed(outcome)) return outcome;
  return shape_.draws > 0 ? Outcome{} : VerifyCall(/*native=*/false);
}

/// Not after a failure: then a baseline may be inside its rounds, and is ended with this.
void Evaluation::EndBaselines() {
  const std::shared_lock device(device_->lock());
  for (const std::unique_ptr<Baseline>& baseline : baselines_) {
    baseline->Finish();
    records_.timing.baselines.push_back(baseline->record());
  }
}

/// Times the submission's process and the reference's side by side. The reference's is a fresh one
/// where the submission's is not the first.
Outcome Evaluation::TimePair() {
  const TimePoint asked = Clock::now();
  std::unique_lock turn(device_->reference_turn());
  std::optional<CandidateSession> reference;
  TimePoint loaded;
  {
    const std::shared_lock device(device_->lock());
    if (!records_.timing.pairs.empty()) device_->DropReference();
    if (Status status = device_->EnsureReference(records_.lint.uses_streams); !status.ok())
      return InfrastructureFailure(Stage::kTime, status.error());
    reference.emplace(device_, device_->reference());
    loaded = Clock::now();
    if (Outcome outcome = LoadReference(&*reference); !Passed(outcome)) return outcome;
  }
  const Duration loading = Clock::now() - loaded;
  std::vector<Baseline*> baselines;
  for (const std::unique_ptr<Baseline>& baseline : baselines_) baselines.push_back(baseline.get());
  const TimingSession::Plan plan = PlanTiming();
  TimingSession session(device_, session_.get(), &*reference, baselines, &seeds_, plan);
  TimingRecord record;
  Outcome outcome;
  {
    const bool first = records_.timing.pairs.empty();
    const Device::Exclusive exclusive(device_, &background_);
    if (first)
      records_.phases_ms.emplace_back("time_wait",
                                      MillisecondsSince(asked) - Milliseconds(loading).count());
    outcome = session.Run(&record, &records_.correctness, &records_.flags);
    Append(&record, &records_.timing);
    if (first && Passed(outcome) && !plan.interpreted) ProbeMemory();
    // After a failure the reference may still be inside its rounds, and stopped.
    if (!Passed(outcome)) device_->DropReference();
    StopCandidate(Passed(outcome));
  }
  {
    const std::shared_lock device(device_->lock());
    if (Passed(outcome) && !Passed(reference->Unload())) device_->DropReference();
  }
  turn.unlock();
  // In pieces, between which others may time.
  while (Passed(outcome) && session.set_aside() > 0) {
    if (Cancelled()) return CancelledFailure(Stage::kTime);
    const std::shared_lock device(device_->lock());
    outcome = session.VerifyKept(&record, &records_.correctness, &records_.flags);
  }
  records_.timing.rounds_verified += record.rounds_verified;
  return outcome;
}

TimingSession::Plan Evaluation::PlanTiming() const {
  TimingSession::Plan plan;
  plan.lane = lane_;
  plan.host_arena = device_->cuda() ? nullptr : &arena_;
  plan.slots = slots_;
  plan.outputs = shape_.outputs;
  plan.calls = calls_;
  plan.reference_us = shape_.reference_us;
  plan.call_s = limits_.call_s;
  plan.writes_inputs = shape_.writes_inputs;
  plan.interpreted = !device_->cuda() && records_.lint.uses_triton;
  // A stream of the submission's own need not wait for what its round waits for.
  plan.hold = !records_.lint.uses_streams;
  plan.statistical = shape_.draws > 0;
  plan.rare = !plan.statistical && shape_.Admits(kRareFamily);
  plan.warm = submission_.modes.warm_cache;
  if (plan.warm)
    plan.most_calls = static_cast<uint32_t>(
        std::clamp<uint64_t>(CacheRoom(device_->judge().l2_bytes()) /
                                 std::max<uint64_t>(1, shape_.input_bytes + shape_.output_bytes),
                             1, slots_));
  return plan;
}

/// It must not run through the timings of others until it is destroyed.
void Evaluation::StopCandidate(bool sound) {
  if (!sound || !candidate_.process->Freeze(DeadlineIn(Seconds(device_->limits().stop_s))).ok())
    candidate_.process->Kill();
}

}  // namespace assay
