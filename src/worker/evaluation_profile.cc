#include <algorithm>
#include <cmath>
#include <shared_mutex>

#include "base/log.h"
#include "roofline/bound.h"
#include "worker/evaluation.h"
#include "worker/process_tree.h"

namespace assay {
namespace {

/// As a bound names it; float32 where it names none.
Precision PrecisionNamed(std::string_view name) {
  if (name == "tf32") return Precision::kTf32;
  if (name == "bf16" || name == "fp16") return Precision::kFp16;
  if (name == "fp8") return Precision::kFp8;
  if (name == "int8") return Precision::kInt8;
  return name.starts_with("fp64") ? Precision::kFp64 : Precision::kFp32;
}

}  // namespace

bool FailedByItself(FailureKind kind) {
  switch (kind) {
    case FailureKind::kException:
    case FailureKind::kCrash:
    case FailureKind::kDeviceFault:
    case FailureKind::kMismatch:
    case FailureKind::kInputMutated:
      return true;
    default:
      return false;
  }
}

/// Runs last and decides nothing: what goes wrong here is the profile's reason, unless it breaks
/// the rules.
Outcome Evaluation::TakeProfile() {
  ProfileRecord& record = records_.profile.emplace();
  record.scale = Scale();
  if (!device_->cuda()) {
    record.reason = "a profile needs a GPU; this device is a processor";
    return {};
  }
  const Device::Exclusive exclusive(device_, &background_);
  candidate_.process->Thaw();
  Outcome outcome;
  ProfileCandidate(&record, &outcome);
  StopCandidate(Passed(outcome));
  if (outcome.kind == FailureKind::kIntegrity || outcome.kind == FailureKind::kCancelled)
    return outcome;
  if (!Passed(outcome))
    record.reason = fmt::format("the submission failed while it was profiled: {}: {}", outcome.name,
                                outcome.message);
  return {};
}

void Evaluation::ProfileCandidate(ProfileRecord* record, Outcome* outcome) {
  constexpr double kWindowUs = 2000;
  constexpr uint32_t kMostCalls = 8;
  const double wanted = std::ceil(kWindowUs / std::max(1.0, shape_.reference_us));
  const auto calls =
      static_cast<uint32_t>(std::clamp<double>(wanted, 1, std::min(slots_, kMostCalls)));
  const std::vector<uint64_t> seeds = seeds_.Next("profile", calls);
  if (const Result<Quietness> filled = device_->judge().Fill(lane_, 0, seeds, 0, 0); !filled.ok()) {
    record->reason = "the judge failed: " + filled.error().message;
    return;
  }
  const Seconds limit(std::max(
      limits_.call_s, limits_.call_factor * shape_.reference_us * 1e-6 * (2.0 * calls + 2)));
  *outcome = session_->BeginProfile(limit, &record->reason);
  if (!Passed(*outcome) || !record->reason.empty()) return;
  // A new instance: its graphs are captured where their launches can be seen.
  *outcome = session_->Build(weights_seed_, Seconds(device_->limits().build_s), nullptr);
  if (Passed(*outcome))
    *outcome = session_->Profiled(calls, limit, &record->profile, &record->reason);
}

ProfileScale Evaluation::Scale() const {
  ProfileScale scale;
  if (records_.roofline) scale.required_bytes = records_.roofline->bytes;
  if (shape_.work)
    for (const Work::Operator& op : shape_.work->operators) scale.required_flops += op.flops;
  if (const RooflineTarget* target = device_->roofline(); target != nullptr) {
    scale.peak_gbs = target->card.dram_gbs;
    const std::string name = records_.roofline ? records_.roofline->precision : "";
    scale.peak_tflops = PeakFlops(target->card, PrecisionNamed(name)) / 1e12;
  }
  return scale;
}

/// Calls on new inputs outside of any timing, so that results stand in torch's own memory and go
/// back to it: whoever keeps them grows. Decides nothing; under the exclusive lock.
void Evaluation::ProbeMemory() {
  constexpr double kMostUs = 100'000;  // nobody else times meanwhile
  constexpr double kLeastCalls = 8;    // a module may keep a few results, in turn
  constexpr double kMostCalls = 32;
  constexpr int kRounds = 3;
  TimingRecord& timing = records_.timing;
  if (timing.candidate.empty() || shape_.output_bytes == 0) return;
  const double piece = device_->cuda() ? kDevicePiece : kHostPiece;
  const auto output = static_cast<double>(shape_.output_bytes);
  const double wanted = std::clamp(std::ceil(piece / output), kLeastCalls, kMostCalls);
  const auto calls = std::min(slots_, static_cast<uint32_t>(wanted));
  const RoundClock& last = timing.candidate.back();
  const double each_us = std::max(shape_.reference_us, last.outside_us / last.calls);
  if (calls * output < piece || kRounds * calls * each_us > kMostUs) return;
  timing.output_bytes = shape_.output_bytes;
  const auto sample = [&](int64_t so_far) {
    const ClockGauge* gauge = device_->clock_gauge();
    timing.memory.push_back({so_far, PrivateBytes(candidate_.process->process().pid()),
                             gauge != nullptr ? gauge->MemoryUsed() : 0});
  };
  const Seconds limit(
      std::max(limits_.call_s, limits_.call_factor * shape_.reference_us * 1e-6 * calls));
  Outcome outcome = session_->BeginRounds(Stage::kCheck);
  sample(0);
  for (int round = 1; round <= kRounds && Passed(outcome); ++round) {
    const std::vector<uint64_t> seeds = seeds_.Next("memory", calls);
    if (!device_->judge().Fill(lane_, 0, seeds, 0, 0).ok()) break;
    CandidateSession::RoundTime elapsed;
    outcome = session_->Round(Stage::kCheck, 0, calls, false, limit, &elapsed);
    sample(int64_t{round} * calls);
  }
  if (Passed(outcome)) outcome = session_->EndRounds(Stage::kCheck, nullptr);
  if (!Passed(outcome)) {
    LogDebug("lane {}: the memory probe ended with {}", lane_, outcome.name);
    probe_failed_ = true;
  }
  for (const MemorySample& each : timing.memory)
    LogDebug("lane {}: after {} calls {} bytes in the process, {} on the card", lane_, each.calls,
             each.host_bytes, each.device_bytes);
}

/// Like the profile it decides nothing.
Outcome Evaluation::TakeGhost() {
  GhostRecord& record = records_.ghost.emplace();
  if (shape_.draws > 0) {
    record.reason = "the outputs are random: one call does not tell whether they are right";
    return {};
  }
  Outcome outcome = GhostCall(&record);
  if (outcome.kind == FailureKind::kIntegrity || outcome.kind == FailureKind::kCancelled)
    return outcome;
  // Without its kernels a submission may well fail: then they were needed.
  if (FailedByItself(outcome.kind))
    record.still_right = false;
  else if (!Passed(outcome))
    record.reason = outcome.message;
  return {};
}

/// One call on new inputs and poisoned outputs, in a process that launches none of the submission's
/// own kernels.
Outcome Evaluation::GhostCall(GhostRecord* record) {
  const auto infrastructure = [](const Error& error) {
    return InfrastructureFailure(Stage::kProfile, error);
  };
  if (const Status leased = LeaseAnother(); !leased.ok()) return infrastructure(leased.error());
  {
    const std::shared_lock device(device_->lock());
    const std::vector<uint64_t> seeds = seeds_.Next("ghost", 1);
    if (const Result<Quietness> filled = device_->judge().Fill(lane_, slot_, seeds, 0, 0);
        !filled.ok())
      return infrastructure(filled.error());
  }
  CandidateSession::LoadOptions options;
  options.source = submission_.source;
  options.class_name = "ModelNew";
  options.limit = LoadLimit();
  options.precision = shape_.precision;
  options.ghost = true;
  options.share_results = false;
  CandidateSession::RoundTime elapsed;
  CandidateSession::RoundsReport report;
  Outcome outcome = session_->Load(arena_, arena_.outputs.get(), options);
  if (Passed(outcome)) outcome = session_->Build(weights_seed_, LoadLimit(), nullptr);
  if (Passed(outcome)) outcome = session_->BeginRounds(Stage::kProfile);
  if (Passed(outcome))
    outcome = session_->Round(Stage::kProfile, slot_, 1, false, LoadLimit(), &elapsed);
  if (Passed(outcome)) outcome = session_->EndRounds(Stage::kProfile, &report);
  if (!Passed(outcome)) return outcome;
  record->skipped = report.skipped;
  if (report.skipped == 0) {
    record->reason = "it launched no kernel of its own that could be left out";
    return {};
  }
  const std::shared_lock device(device_->lock());
  const Result<Comparison> compared =
      device_->judge().Verify(lane_, slot_, {}, /*exact=*/true, 0, nullptr);
  if (!compared.ok()) return infrastructure(compared.error());
  record->still_right = compared->passed;
  return {};
}

}  // namespace assay
