#include "worker/timing_session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"

namespace assay {
namespace {

/// The outcome of the reference's own operations is never the candidate's fault.
Outcome AsInfrastructure(Outcome outcome) {
  if (Passed(outcome)) return outcome;
  outcome.message =
      fmt::format("the reference failed while it was timed: {}: {}", outcome.name, outcome.message);
  outcome.kind = FailureKind::kInfrastructure;
  outcome.name = "reference";
  return outcome;
}

}  // namespace

Seconds TimingSession::RoundLimit() const {
  return Seconds(std::max(plan_.call_s, device_->limits().call_factor * plan_.reference_us * 1e-6 *
                                            std::max(reference_calls_, candidate_calls_)));
}

Outcome TimingSession::Enter(CandidateSession* side) {
  if (Outcome outcome = side->BeginRounds(Stage::kTime); !Passed(outcome)) return outcome;
  Result<int> frozen = side->process().Freeze(DeadlineIn(Seconds(device_->limits().stop_s)));
  if (frozen.ok()) return {};
  if (side == candidate_ && frozen.error().code == ErrorCode::kTimeout)
    return Violation(Stage::kTime, "unstoppable", "the submission's processes cannot be stopped");
  return InfrastructureFailure(Stage::kTime, frozen.error());
}

Outcome TimingSession::Judged(const Result<Quietness>& quiet, int* busy) {
  if (!quiet.ok()) return InfrastructureFailure(Stage::kTime, quiet.error());
  if (quiet->held_us > 0)
    LogDebug("lane {}: a hold of {:.0f} us, others had the device for {:.0f} us", plan_.lane,
             quiet->held_us, quiet->held_lost_us);
  const Limits& limits = device_->limits();
  if (quiet->gap_us > limits.quiet_gap_us || quiet->delay_us > limits.quiet_delay_us) {
    LogDebug("device not quiet: gap {:.0f} us, delay {:.0f} us", quiet->gap_us, quiet->delay_us);
    disturbed_ = true;
    if (busy != nullptr) ++*busy;
  }
  return {};
}

namespace {

/// A round ends when the device is idle, not when the process says so: work that still ran after
/// *done* pays. Both sides are measured alike, and the judge's way to its look is in both brackets.
double OutsideUs(const CandidateSession::RoundTime& time, const Quietness& quiet) {
  const TimePoint done = time.start + std::chrono::duration_cast<Duration>(Microseconds(time.us));
  return std::max(1.0, Microseconds(std::max(done, quiet.idle) - time.start).count());
}

}  // namespace

Outcome TimingSession::RunReference(uint32_t first, uint32_t hold, Quietness* after,
                                    RoundClock* clock) {
  clock->calls = static_cast<int>(reference_calls_);
  CandidateSession::RoundTime time;
  if (Outcome outcome = AsInfrastructure(reference_->Round(Stage::kTime, first, reference_calls_,
                                                           true, RoundLimit(), &time, hold));
      !Passed(outcome))
    return outcome;
  // A look, and, where the candidate comes next, the device is made ready for it.
  Result<Quietness> quiet =
      after != nullptr ? Flush(first, candidate_calls_, kCandidateProcess) : Look();
  if (Outcome outcome = Judged(quiet, &reference_busy_); !Passed(outcome)) return outcome;
  clock->outside_us = OutsideUs(time, *quiet);
  if (after != nullptr) *after = *quiet;
  reference_lost_us_ = std::max(reference_lost_us_, quiet->held_lost_us);
  return {};
}

Outcome TimingSession::RunCandidate(uint32_t first, uint32_t hold, RoundClock* clock) {
  clock->calls = static_cast<int>(candidate_calls_);
  CandidateSession::RoundTime time;
  Outcome outcome =
      candidate_->Round(Stage::kTime, first, candidate_calls_, true, RoundLimit(), &time, hold);
  if (!Passed(outcome)) return outcome;
  Quietness quiet;
  if (Outcome verified = VerifyOne(first, &quiet); !Passed(verified)) return verified;
  clock->outside_us = OutsideUs(time, quiet);
  // A queue that waits behind the gate costs the hold a little; one that runs takes time slices.
  if (quiet.held_lost_us > device_->limits().held_lost_us + 2 * reference_lost_us_) ++early_;
  return {};
}

template <typename Step>
void TimingSession::ForBaselines(Step step) {
  for (Baseline* baseline : baselines_)
    if (baseline->available()) step(baseline);
}

/// One round of each baseline. What goes wrong with one is its own.
Outcome TimingSession::RunBaselines(uint32_t first) {
  int process = kFirstBaseline - 1;
  for (Baseline* baseline : baselines_) {
    ++process;
    if (!baseline->available()) continue;
    const Result<Quietness> ready = Flush(first, baseline->calls, process);
    if (Outcome outcome = Judged(ready, nullptr); !Passed(outcome)) return outcome;
    baseline->clock = {};
    baseline->clock.calls = static_cast<int>(baseline->calls);
    CandidateSession::RoundTime time;
    Outcome outcome = baseline->session().Round(Stage::kTime, first, baseline->calls, true,
                                                RoundLimit(), &time, ready->hold);
    if (!Passed(outcome)) baseline->Fail(outcome);
    const Result<Quietness> quiet = Look();
    if (Outcome judged = Judged(quiet, nullptr); !Passed(judged)) return judged;
    if (Passed(outcome)) baseline->clock.outside_us = OutsideUs(time, *quiet);
  }
  return {};
}

/// How many calls fill a round of this side, from a round it ran.
uint32_t TimingSession::CallsFor(const RoundClock& clock) const {
  // A round of few short calls may look no longer than an empty one.
  const double least_us = 0.1 * clock.outside_us;
  const double call_us =
      std::max(least_us, clock.outside_us - device_->empty_rounds(hold_ns_ > 0).Level()) /
      clock.calls;
  // A few slots stay spare, so that the addresses of a round vary.
  const uint32_t most =
      std::min({plan_.slots - plan_.slots / 16, static_cast<uint32_t>(device_->limits().max_calls),
                plan_.most_calls});
  return static_cast<uint32_t>(
      std::clamp<double>(std::ceil(device_->limits().round_us / call_us), 1, most));
}

/// Makes the device ready for a process's round.
Result<Quietness> TimingSession::Flush(uint32_t first, uint32_t calls, int process) {
  return device_->judge().Flush(plan_.lane, first, calls, QuietNs(), hold_ns_, process);
}

/// After a round that no other follows at once.
Result<Quietness> TimingSession::Look() {
  return device_->judge().Flush(plan_.lane, 0, 0, QuietNs(), /*hold_ns=*/0);
}

/// Takes one call of the round to verify; large ones at once, while they stand where they are.
Outcome TimingSession::VerifyOne(uint32_t first, Quietness* quiet) {
  const uint32_t slot = first + verified_call_;
  ResultPlaces results = candidate_->Places(verified_call_, plan_.outputs);
  if (std::count(results.places.begin(), results.places.end(), RuntimeProcess::kLostPlace) > 0)
    return ResultsLost(quiet);
  if (plan_.host_arena != nullptr)
    if (Outcome outcome = candidate_->TakeResults(*plan_.host_arena, slot, &results);
        !Passed(outcome))
      return outcome;
  const Result<KeptCall> taken = device_->judge().Keep(plan_.lane, slot, results, QuietNs(), quiet);
  if (!taken.ok()) return InfrastructureFailure(Stage::kTime, taken.error());
  if (Outcome outcome = Judged(*quiet, &candidate_busy_); !Passed(outcome)) return outcome;
  if (!taken->outside.empty()) return Violation(Stage::kTime, kWrongPlace, taken->outside);
  if (taken->kept) {
    ++set_aside_;
    return {};
  }
  const Result<Comparison> result =
      device_->judge().Verify(plan_.lane, slot, results, /*exact=*/false, 0, nullptr);
  if (!result.ok()) return InfrastructureFailure(Stage::kTime, result.error());
  return Verified(*result, 1);
}

/// A module began to return one buffer again and again, on inputs that it has written: the round
/// cannot be repeated, and does not count. From the next one on each result is taken at once.
Outcome TimingSession::ResultsLost(Quietness* quiet) {
  const Result<Quietness> look = Look();
  if (Outcome outcome = Judged(look, &candidate_busy_); !Passed(outcome)) return outcome;
  *quiet = *look;
  void_ = true;
  if (plan_.writes_inputs && !std::exchange(lost_, true)) return {};
  return Violation(Stage::kTime, "results_lost",
                   "the process says that results are lost which it had to keep");
}

Outcome TimingSession::Verified(const Comparison& result, int count) {
  if (result.inputs_changed) return InputsChanged(Stage::kTime);
  if (result.passed) {
    verified_ += count;
    return {};
  }
  mismatch_ = result;
  Failure failure;
  failure.kind = FailureKind::kMismatch;
  failure.stage = Stage::kTime;
  failure.name = "timed_output";
  failure.message = "an output of a timed call is wrong, although the checked calls were right";
  return failure;
}

void TimingSession::NoteMismatch(Correctness* correctness, std::vector<std::string>* flags) const {
  if (!mismatch_) return;
  flags->emplace_back("timed_output_wrong");
  correctness->mismatch_fraction = mismatch_->mismatch_fraction;
  correctness->pattern = mismatch_->pattern;
  correctness->max_abs_err = mismatch_->max_abs_err;
  correctness->max_rel_err = mismatch_->max_rel_err;
}

Outcome TimingSession::VerifyKept(TimingRecord* record, Correctness* correctness,
                                  std::vector<std::string>* flags) {
  int count = 0;
  const Result<Comparison> result =
      device_->judge().VerifyKept(plan_.lane, Seconds(device_->limits().verify_s), &count);
  if (!result.ok()) return InfrastructureFailure(Stage::kTime, result.error());
  set_aside_ -= count;
  Outcome outcome = Verified(*result, count);
  record->rounds_verified = verified_;
  NoteMismatch(correctness, flags);
  return outcome;
}

/// Some of a round's calls have inputs with rare elements, and of any two rounds one verifies such
/// a call: neither who does not look for them nor who looks at everything can tell which call
/// counts. Half of few calls, an eighth of many: writing them takes time that nobody else may use.
std::vector<uint32_t> TimingSession::RareSlots(uint32_t first, uint32_t calls) {
  if (pair_ % 2 == 0) verifies_rare_ = seeds_->Next("turn") % 2 == 0;
  const bool verified = verifies_rare_ == (pair_ % 2 == 0);
  const uint32_t one_in = calls <= 8 ? 2 : calls <= 16 ? 4 : 8;
  constexpr uint32_t kDraws = 20;  // three bits each, of one seed
  const std::vector<uint64_t> seeds = seeds_->Next("rare", calls / kDraws + 1);
  std::vector<uint32_t> slots;
  for (uint32_t call = 0; call < calls; ++call) {
    const uint64_t draw = seeds[call / kDraws] >> 3 * (call % kDraws);
    if (call == verified_call_ ? verified : draw % one_in == 0) slots.push_back(first + call);
  }
  return slots;
}

Outcome TimingSession::Pair(bool candidate_first, RoundClock* candidate, RoundClock* reference) {
  disturbed_ = void_ = false;
  uint32_t calls = std::max(reference_calls_, candidate_calls_);
  ForBaselines([&](Baseline* baseline) { calls = std::max(calls, baseline->calls); });
  const auto first = static_cast<uint32_t>(seeds_->Next("slot") % (plan_.slots - calls + 1));
  const std::vector<uint64_t> seeds = seeds_->Next("timed", calls);
  // Work that began with the new inputs, before go: a second look sees it (`early_work`).
  const auto early = [&](const Result<Quietness>& quiet) {
    if (quiet.ok() && quiet->after_us > device_->limits().quiet_early_us) ++early_;
    return Judged(quiet, nullptr);
  };
  verified_call_ = static_cast<uint32_t>(seeds_->Next("verify") % candidate_calls_);
  const std::vector<uint32_t> rare = plan_.rare ? RareSlots(first, calls) : std::vector<uint32_t>{};
  Result<Quietness> ready =
      device_->judge().Fill(plan_.lane, first, seeds, QuietNs(), hold_ns_, kNativeFamily, rare,
                            candidate_first ? kCandidateProcess : kReferenceProcess);
  if (Outcome outcome = early(ready); !Passed(outcome)) return outcome;
  if (candidate_first) {
    if (Outcome outcome = RunCandidate(first, ready->hold, candidate); !Passed(outcome))
      return outcome;
    ready = Flush(first, reference_calls_, kReferenceProcess);
    if (Outcome outcome = early(ready); !Passed(outcome)) return outcome;
    if (Outcome outcome = RunReference(first, ready->hold, nullptr, reference); !Passed(outcome))
      return outcome;
  } else {
    Quietness after;
    if (Outcome outcome = RunReference(first, ready->hold, &after, reference); !Passed(outcome))
      return outcome;
    if (Outcome outcome = RunCandidate(first, after.hold, candidate); !Passed(outcome))
      return outcome;
  }
  return RunBaselines(first);
}

bool TimingSession::TimeToLook(const TimingRecord& record) const {
  const Limits& limits = device_->limits();
  const int rounds = static_cast<int>(record.candidate.size());
  if (plan_.interpreted) return rounds >= 3 || (rounds >= 1 && ElapsedS() > limits.time_budget_s);
  if (ElapsedS() > limits.hard_budget_s) return rounds >= 3 || discarded_ >= 3;
  const bool new_ones = std::count(kept_.begin(), kept_.end(), true) > 0;
  const int few = plan_.statistical ? 2 * limits.min_rounds : limits.min_rounds;
  return new_ones && (rounds >= limits.max_rounds || rounds % few == 0);
}

bool TimingSession::Enough(const TimingRecord& record) const {
  const Limits& limits = device_->limits();
  if (plan_.interpreted || ElapsedS() > limits.time_budget_s) return true;
  if (static_cast<int>(record.candidate.size()) >= limits.max_rounds) return true;
  const std::vector<double> paid_us = Reconcile(record.candidate).paid_us;
  const Ratio ratio = ResampledRatio(TrustedTimes(record.reference), paid_us);
  // Events tick every 32 ns: of a kernel of 3 us that is a percent.
  const double half_width =
      std::max(limits.target_half_width, limits.target_us / Quantile(paid_us, 0.5));
  return ratio.high - ratio.low <= 2 * half_width * ratio.value;
}

Outcome TimingSession::Integrity() const {
  // Other users of the device disturb both sides alike; three standard deviations of their
  // difference are more than chance.
  const double candidate = candidate_busy_;
  const double reference = reference_busy_;
  const bool late = candidate >= 3 && candidate > reference + 3 * std::sqrt(candidate + reference);
  const bool early = early_ >= 3 && reference_busy_ == 0;
  const bool awake = candidate_->process().ran_while_frozen();
  if (awake)
    return Violation(Stage::kTime, "ran_while_stopped",
                     "processes of the submission ran between its rounds, although stopped");
  if (late)
    return Violation(Stage::kTime, "late_work",
                     "device work of the submission ran on after its call had returned");
  if (early)
    return Violation(Stage::kTime, "early_work",
                     "device work of the submission began before its call");
  return {};
}

/// What go, thaw, a change of context on the device, its end and the judge's look cost together:
/// rounds of the reference that record two events and call nothing. The device keeps what earlier
/// submissions measured, so that each need add only one.
Outcome TimingSession::EmptyRounds() {
  for (int more = 1; more > 0 || !device_->empty_rounds(hold_ns_ > 0).Enough(); --more) {
    Result<Quietness> ready = Flush(0, 0, kReferenceProcess);
    if (Outcome outcome = Judged(ready, nullptr); !Passed(outcome)) return outcome;
    CandidateSession::RoundTime time;
    if (Outcome outcome =
            reference_->Round(Stage::kTime, 0, 0, true, RoundLimit(), &time, ready->hold);
        !Passed(outcome))
      return outcome;
    reference_kept_.push_back(false);
    const Result<Quietness> quiet = Look();
    if (Outcome outcome = Judged(quiet, nullptr); !Passed(outcome)) return outcome;
    device_->empty_rounds(ready->hold != 0).Add(OutsideUs(time, *quiet));
  }
  return {};
}

/// Pairs until it is time to look at the interval.
Outcome TimingSession::Rounds(TimingRecord* record, Correctness* correctness,
                              std::vector<std::string>* flags) {
  const int warm = plan_.interpreted ? 1 : device_->limits().warm_rounds;
  do {
    RoundClock candidate;
    RoundClock reference;
    if (Outcome outcome = Pair(pair_ % 4 == 0 || pair_ % 4 == 3, &candidate, &reference);
        !Passed(outcome)) {
      NoteMismatch(correctness, flags);
      return outcome;
    }
    DeviceClock clock;
    if (device_->clock_gauge() != nullptr) clock = device_->clock_gauge()->Read();
    disturbed_ = disturbed_ || clock.Disturbed();
    LogDebug(
        "lane {}: pair {}: candidate {:.1f} us for {} calls, reference {:.1f} us for {}, {} MHz{}",
        plan_.lane, pair_, candidate.outside_us, candidate.calls, reference.outside_us,
        reference.calls, clock.sm_mhz, disturbed_ ? " (disturbed)" : "");
    const bool past_warm_up = pair_++ >= warm;
    const bool counts =
        past_warm_up && !void_ && (!disturbed_ || ++discarded_ >= device_->limits().max_rounds);
    kept_.push_back(counts);
    reference_kept_.push_back(counts);
    if (!past_warm_up && !plan_.interpreted) {
      // The first calls of a process are slow and tell little; a few are enough to warm up with.
      const uint32_t most = pair_ < warm ? 2 * kFirstCalls : UINT32_MAX;
      candidate_calls_ = std::min(CallsFor(candidate), most);
      reference_calls_ = std::min(CallsFor(reference), most);
      ForBaselines(
          [&](Baseline* baseline) { baseline->calls = std::min(CallsFor(baseline->clock), most); });
    }
    ForBaselines([&](Baseline* baseline) {
      baseline->kept.push_back(counts);
      if (counts) baseline->record().rounds.push_back(baseline->clock);
    });
    if (!counts) continue;
    record->candidate.push_back(std::move(candidate));
    record->reference.push_back(std::move(reference));
    if (device_->clock_gauge() != nullptr) record->clocks.push_back(clock);
  } while (!TimeToLook(*record));
  record->rounds_verified = verified_;
  return {};
}

/// Gives the last rounds, those that count, what their process claims for them. A claim of another
/// length than the rounds that were run says nothing. On the CPU the worker's clock is as good as
/// any.
void TimingSession::AddInside(CandidateSession::RoundsReport claims, const std::vector<bool>& kept,
                              std::vector<RoundClock>* rounds) const {
  if (!device_->cuda() || claims.inside_us.size() != kept.size()) return;
  claims.taking_us.resize(kept.size());
  auto next = rounds->end() - std::count(kept.begin(), kept.end(), true);
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    next->inside_us = std::move(claims.inside_us[i]);
    next->taking_us = claims.taking_us[i];
    ++next;
  }
}

/// Ends the loops of both sides and joins what their clocks say with what was measured.
Outcome TimingSession::Claims(TimingRecord* record, std::vector<std::string>* flags) {
  CandidateSession::RoundsReport claims;
  if (Outcome outcome = candidate_->EndRounds(Stage::kTime, &claims); !Passed(outcome))
    return outcome;
  if (claims.reused) flags->emplace_back("output_reused");
  AddInside(std::move(claims), kept_, &record->candidate);
  claims = {};
  if (Outcome outcome = AsInfrastructure(reference_->EndRounds(Stage::kTime, &claims));
      !Passed(outcome))
    return outcome;
  AddInside(std::move(claims), reference_kept_, &record->reference);
  kept_.clear();
  reference_kept_.clear();
  const Bracket bracket =
      LearnBracket(device_->empty_rounds(hold_ns_ > 0).times(), record->reference);
  LogDebug("lane {}: a bracket costs {:.1f} us and {:.1f} us, slack {:.1f} us", plan_.lane,
           bracket.empty_us, bracket.rest_us, bracket.slack_us);
  for (std::vector<RoundClock>* rounds : {&record->candidate, &record->reference})
    for (RoundClock& round : *rounds) {
      round.overhead_us = bracket.Of(round.outside_us);
      round.slack_us = bracket.slack_us;
    }
  ForBaselines([&](Baseline* baseline) { ClaimsOf(baseline, bracket); });
  return {};
}

void TimingSession::ClaimsOf(Baseline* baseline, const Bracket& bracket) {
  CandidateSession::RoundsReport claims;
  if (Outcome outcome = baseline->session().EndRounds(Stage::kTime, &claims); !Passed(outcome))
    return baseline->Fail(outcome);
  std::vector<RoundClock>* rounds = &baseline->record().rounds;
  AddInside(std::move(claims), baseline->kept, rounds);
  baseline->kept.clear();
  for (RoundClock& round : *rounds) {
    round.overhead_us = bracket.Of(round.outside_us);
    round.slack_us = bracket.slack_us;
  }
}

Outcome TimingSession::Run(TimingRecord* record, Correctness* correctness,
                           std::vector<std::string>* flags) {
  record->meaningful = !plan_.interpreted;
  record->method = device_->cuda() ? "rounds/device-events" : "rounds/host-clock";
  if (plan_.warm) record->method += "/warm";
  if (plan_.host_arena != nullptr && !plan_.host_arena->results_stay) record->method += "/copied";
  start_ = Clock::now();
  do {
    if (Outcome outcome = AsInfrastructure(Enter(reference_)); !Passed(outcome)) return outcome;
    if (pair_ == 0)
      if (Outcome outcome = AsInfrastructure(EmptyRounds()); !Passed(outcome)) return outcome;
    if (Outcome outcome = Enter(candidate_); !Passed(outcome)) return outcome;
    ForBaselines([&](Baseline* baseline) {
      if (Outcome outcome = Enter(&baseline->session()); !Passed(outcome)) baseline->Fail(outcome);
    });
    if (Outcome outcome = Rounds(record, correctness, flags); !Passed(outcome)) return outcome;
    if (Outcome outcome = Integrity(); !Passed(outcome)) return outcome;
    if (record->candidate.empty())
      return InfrastructureFailure(
          Stage::kTime,
          Err(ErrorCode::kUnavailable, "others kept the device busy, or heat slowed it"));
    if (Outcome outcome = Claims(record, flags); !Passed(outcome)) return outcome;
  } while (!Enough(*record));
  record->rounds_discarded = discarded_;
  if (discarded_ > 0) flags->emplace_back("rounds_discarded");
  if (candidate_->process().children_seen() > 0) flags->emplace_back("child_processes");
  record->measured = true;
  return {};
}

}  // namespace assay
