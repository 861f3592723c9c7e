#include "worker/timing_session.h"

#include <algorithm>
#include <cmath>

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

/// Gives each counted round what its process claims for it. A claim of another length than the
/// rounds that were run says nothing.
void AddInside(std::vector<std::vector<double>>& claims, const std::vector<bool>& kept,
               std::vector<RoundClock>* rounds) {
  if (claims.size() != kept.size()) return;
  size_t next = 0;
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) (*rounds)[next++].inside_us = std::move(claims[i]);
}

}  // namespace

Seconds TimingSession::RoundLimit() const {
  return Seconds(std::max(plan_.call_s,
                          device_->limits().call_factor * plan_.reference_us * 1e-6 * plan_.calls));
}

Outcome TimingSession::Enter(CandidateSession* side) {
  if (Outcome outcome = side->BeginRounds(Stage::kTime); !Passed(outcome)) return outcome;
  Result<int> frozen = side->process().Freeze(DeadlineIn(Seconds(device_->limits().stop_s)));
  if (frozen.ok()) return {};
  Failure failure = InfrastructureFailure(Stage::kTime, frozen.error());
  if (side == candidate_ && frozen.error().code == ErrorCode::kTimeout) {
    failure.kind = FailureKind::kIntegrity;
    failure.name = "unstoppable";
    failure.message = "the submission's processes cannot be stopped";
  }
  return failure;
}

Outcome TimingSession::Judged(const Result<Quietness>& quiet, int* busy) {
  if (!quiet.ok()) return InfrastructureFailure(Stage::kTime, quiet.error());
  const Limits& limits = device_->limits();
  if (quiet->gap_us > limits.quiet_gap_us || quiet->delay_us > limits.quiet_delay_us) {
    LogDebug("device not quiet: gap {:.0f} us, delay {:.0f} us", quiet->gap_us, quiet->delay_us);
    disturbed_ = true;
    if (busy != nullptr) ++*busy;
  }
  return {};
}

namespace {

/// The round ends when the device is idle, not when the process says so: work that still ran after
/// *done* pays. Both sides are measured alike, and the judge's way to its look is in both brackets.
double OutsideUs(const CandidateSession::RoundTime& time, const Quietness& quiet) {
  return std::max(time.us, Microseconds(quiet.idle - time.start).count());
}

}  // namespace

Outcome TimingSession::RunReference(uint32_t first, RoundClock* clock) {
  clock->calls = static_cast<int>(plan_.calls);
  CandidateSession::RoundTime time;
  if (Outcome outcome = AsInfrastructure(
          reference_->Round(Stage::kTime, first, plan_.calls, true, RoundLimit(), &time));
      !Passed(outcome))
    return outcome;
  Result<Quietness> quiet = device_->judge().Flush(QuietNs());
  if (Outcome outcome = Judged(quiet, &reference_busy_); !Passed(outcome)) return outcome;
  clock->outside_us = OutsideUs(time, *quiet);
  return {};
}

Outcome TimingSession::RunCandidate(uint32_t first, RoundClock* clock) {
  clock->calls = static_cast<int>(plan_.calls);
  CandidateSession::RoundTime time;
  Outcome outcome = candidate_->Round(Stage::kTime, first, plan_.calls, true, RoundLimit(), &time);
  if (!Passed(outcome)) return outcome;
  Quietness quiet;
  if (Outcome verified = VerifyOne(first, &quiet); !Passed(verified)) return verified;
  clock->outside_us = OutsideUs(time, quiet);
  return {};
}

Outcome TimingSession::VerifyOne(uint32_t first, Quietness* quiet) {
  const auto slot = first + static_cast<uint32_t>(seeds_->Next("verify") % plan_.calls);
  Result<Comparison> result =
      device_->judge().Verify(plan_.lane, slot, /*exact=*/false, QuietNs(), quiet);
  if (!result.ok()) return InfrastructureFailure(Stage::kTime, result.error());
  if (Outcome outcome = Judged(*quiet, &candidate_busy_); !Passed(outcome)) return outcome;
  if (result->inputs_changed) return InputsChanged(Stage::kTime);
  if (result->passed) {
    ++verified_;
    return {};
  }
  mismatch_ = *result;
  Failure failure;
  failure.kind = FailureKind::kMismatch;
  failure.stage = Stage::kTime;
  failure.name = "timed_output";
  failure.message = "an output of a timed call is wrong, although the checked calls were right";
  return failure;
}

Outcome TimingSession::Pair(bool candidate_first, RoundClock* candidate, RoundClock* reference) {
  disturbed_ = false;
  const auto first = static_cast<uint32_t>(seeds_->Next("slot") % (plan_.slots - plan_.calls + 1));
  const std::vector<uint64_t> seeds = seeds_->Next("timed", plan_.calls);
  Judge& judge = device_->judge();
  // Work that began with the new inputs, before go: a second look sees it (`early_work`).
  const auto early = [&](const Result<Quietness>& quiet) {
    if (quiet.ok() && quiet->after_us > device_->limits().quiet_early_us) ++early_;
    return Judged(quiet, nullptr);
  };
  if (Outcome outcome = early(judge.Fill(plan_.lane, first, seeds, QuietNs())); !Passed(outcome))
    return outcome;
  if (candidate_first) {
    if (Outcome outcome = RunCandidate(first, candidate); !Passed(outcome)) return outcome;
    if (Outcome outcome = early(judge.Flush(QuietNs())); !Passed(outcome)) return outcome;
    return RunReference(first, reference);
  }
  if (Outcome outcome = RunReference(first, reference); !Passed(outcome)) return outcome;
  return RunCandidate(first, candidate);
}

bool TimingSession::Enough(const TimingRecord& record, double elapsed_s) const {
  const Limits& limits = device_->limits();
  const int rounds = static_cast<int>(record.candidate.size());
  if (plan_.interpreted) return rounds >= 3 || (rounds >= 1 && elapsed_s > limits.time_budget_s);
  if (rounds >= limits.max_rounds || (rounds >= 3 && elapsed_s > limits.hard_budget_s)) return true;
  if (rounds < limits.min_rounds) return false;
  if (elapsed_s > limits.time_budget_s) return true;
  if (rounds % 4 != 0) return false;  // the bootstrap costs about as much as a round
  // The inside clocks are read after the last round; the outside ones are enough to know when to
  // stop.
  const Ratio ratio =
      PairedRatio(Reconcile(record.reference).paid_us, Reconcile(record.candidate).paid_us);
  return ratio.high - ratio.low <= 2 * limits.target_half_width * ratio.value;
}

Outcome TimingSession::Integrity() const {
  // Other users of the device disturb both sides alike; three standard deviations of their
  // difference are more than chance.
  const double candidate = candidate_busy_;
  const double reference = reference_busy_;
  const bool late = candidate >= 3 && candidate > reference + 3 * std::sqrt(candidate + reference);
  const bool early = early_ >= 3 && reference_busy_ == 0;
  Failure failure;
  if (!late && !early) return failure;
  failure.kind = FailureKind::kIntegrity;
  failure.stage = Stage::kTime;
  failure.name = late ? "late_work" : "early_work";
  failure.message = late ? "device work of the submission ran on after its call had returned"
                         : "device work of the submission began before its call";
  return failure;
}

Outcome TimingSession::Run(TimingRecord* record, Correctness* correctness,
                           std::vector<std::string>* flags) {
  record->meaningful = !plan_.interpreted;
  record->method = device_->cuda() ? "rounds/device-events" : "rounds/host-clock";
  if (Outcome outcome = AsInfrastructure(Enter(reference_)); !Passed(outcome)) return outcome;
  if (Outcome outcome = Enter(candidate_); !Passed(outcome)) return outcome;

  const TimePoint start = Clock::now();
  int discarded = 0;
  std::vector<bool> kept;  // of each pair that was run
  const int warm = plan_.interpreted ? 1 : device_->limits().warm_rounds;
  for (int pair = 0; !Enough(*record, MillisecondsSince(start) / 1e3); ++pair) {
    if (MillisecondsSince(start) / 1e3 > device_->limits().hard_budget_s && discarded >= 3) break;
    RoundClock candidate;
    RoundClock reference;
    if (Outcome outcome = Pair(pair % 4 == 0 || pair % 4 == 3, &candidate, &reference);
        !Passed(outcome)) {
      if (outcome.kind == FailureKind::kMismatch && outcome.name == "timed_output") {
        flags->emplace_back("timed_output_wrong");
        correctness->mismatch_fraction = mismatch_.mismatch_fraction;
        correctness->pattern = mismatch_.pattern;
        correctness->max_abs_err = mismatch_.max_abs_err;
        correctness->max_rel_err = mismatch_.max_rel_err;
      }
      return outcome;
    }
    LogDebug("lane {}: pair {}: candidate {:.1f} us, reference {:.1f} us{}", plan_.lane, pair,
             candidate.outside_us, reference.outside_us, disturbed_ ? " (disturbed)" : "");
    const bool counts =
        pair >= warm && (!disturbed_ || ++discarded >= device_->limits().max_rounds);
    kept.push_back(counts);
    if (!counts) continue;
    record->candidate.push_back(std::move(candidate));
    record->reference.push_back(std::move(reference));
  }
  record->rounds_verified = verified_;
  if (record->candidate.empty()) {
    if (Outcome outcome = Integrity(); !Passed(outcome)) return outcome;
    return InfrastructureFailure(Stage::kTime,
                                 Err(ErrorCode::kUnavailable, "others kept the device busy"));
  }
  if (discarded > 0) flags->emplace_back("rounds_discarded");
  if (Outcome outcome = Integrity(); !Passed(outcome)) return outcome;
  if (candidate_->process().children_seen() > 0) flags->emplace_back("child_processes");
  CandidateSession::RoundsReport claims;
  if (Outcome outcome = candidate_->EndRounds(Stage::kTime, &claims); !Passed(outcome))
    return outcome;
  if (claims.reused) flags->emplace_back("output_reused");
  AddInside(claims.inside_us, kept, &record->candidate);
  claims = {};
  if (Outcome outcome = AsInfrastructure(reference_->EndRounds(Stage::kTime, &claims));
      !Passed(outcome))
    return outcome;
  AddInside(claims.inside_us, kept, &record->reference);
  // The reference's process is trusted, and both brackets cost the same.
  const Bracket bracket = LearnBracket(record->reference);
  LogDebug("lane {}: the bracket of {} calls costs {:.1f} us, slack {:.1f} us", plan_.lane,
           plan_.calls, bracket.overhead_us, bracket.slack_us);
  for (std::vector<RoundClock>* rounds : {&record->candidate, &record->reference})
    for (RoundClock& round : *rounds) {
      round.overhead_us = bracket.overhead_us;
      round.slack_us = bracket.slack_us;
    }
  record->measured = true;
  return {};
}

}  // namespace assay
