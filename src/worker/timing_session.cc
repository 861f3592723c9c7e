#include "worker/timing_session.h"

#include <algorithm>

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
  const Limits& limits = device_->limits();
  return Seconds(
      std::max(limits.call_s, limits.call_factor * plan_.reference_us * 1e-6 * plan_.calls));
}

Outcome TimingSession::Enter(CandidateSession* side) {
  if (Outcome outcome = side->BeginRounds(Stage::kTime); !Passed(outcome)) return outcome;
  Result<int> frozen = side->process().Freeze(DeadlineIn(Seconds(device_->limits().stop_s)));
  if (frozen.ok()) return {};
  return InfrastructureFailure(Stage::kTime, frozen.error());
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

Outcome TimingSession::RunReference(uint32_t first, RoundClock* clock) {
  clock->calls = static_cast<int>(plan_.calls);
  Outcome outcome = AsInfrastructure(
      reference_->Round(Stage::kTime, first, plan_.calls, true, RoundLimit(), &clock->outside_us));
  return outcome;
}

Outcome TimingSession::RunCandidate(uint32_t first, RoundClock* clock) {
  clock->calls = static_cast<int>(plan_.calls);
  Outcome outcome =
      candidate_->Round(Stage::kTime, first, plan_.calls, true, RoundLimit(), &clock->outside_us);
  if (!Passed(outcome)) return outcome;
  return VerifyOne(first);
}

Outcome TimingSession::VerifyOne(uint32_t first) {
  const auto slot = first + static_cast<uint32_t>(seeds_->Next("verify") % plan_.calls);
  Quietness quiet;
  Result<Comparison> result =
      device_->judge().Verify(plan_.lane, slot, /*exact=*/false, QuietNs(), &quiet);
  if (!result.ok()) return InfrastructureFailure(Stage::kTime, result.error());
  if (Outcome outcome = Judged(quiet, &candidate_busy_); !Passed(outcome)) return outcome;
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
  if (Outcome outcome = Judged(judge.Fill(plan_.lane, first, seeds, QuietNs()), nullptr);
      !Passed(outcome))
    return outcome;
  if (candidate_first) {
    if (Outcome outcome = RunCandidate(first, candidate); !Passed(outcome)) return outcome;
    if (Outcome outcome = Judged(judge.Flush(0), nullptr); !Passed(outcome)) return outcome;
    return RunReference(first, reference);
  }
  if (Outcome outcome = RunReference(first, reference); !Passed(outcome)) return outcome;
  if (Outcome outcome = Judged(judge.Flush(QuietNs()), &reference_busy_); !Passed(outcome))
    return outcome;
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
  if (discarded > 0) flags->emplace_back("rounds_discarded");
  if (candidate_busy_ >= 3 && candidate_busy_ > 2 * reference_busy_ + 2) {
    Failure failure;
    failure.kind = FailureKind::kIntegrity;
    failure.stage = Stage::kTime;
    failure.name = "late_work";
    failure.message = "device work of the submission was still running after its call had returned";
    return failure;
  }
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
