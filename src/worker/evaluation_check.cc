#include <algorithm>
#include <atomic>
#include <future>
#include <shared_mutex>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "worker/evaluation.h"

namespace assay {

Outcome Evaluation::Check() {
  const int trials = limits_.trials;
  records_.correctness.trials = trials;
  for (int number = 0; number < trials; ++number) {
    Outcome outcome = Trial(number);
    if (outcome.kind == FailureKind::kCrash || outcome.kind == FailureKind::kDeviceFault)
      return DiagnoseMutation(std::move(outcome));
    if (!Passed(outcome)) return outcome;
    ++records_.correctness.passed;
  }
  // What was built for one call must be right for the next; timed rounds ask that too.
  if (!submission_.time && shape_.draws == 0)
    if (Outcome outcome = AnotherCall(); !Passed(outcome)) return outcome;
  if (submission_.modes.shape_jitter == ShapeJitter::kRequire || shape_.general_shapes)
    if (Outcome outcome = OtherShapes(); !Passed(outcome)) return outcome;
  if (records_.correctness.weights == "seed") records_.flags.emplace_back("weights_seed");
  return {};
}

/// The task's own inputs first and most often, then each of the other families once. Verified calls
/// of timed rounds have rare inputs by turns; without such rounds the last trial has.
std::string Evaluation::FamilyOf(int trial) const {
  const std::vector<std::string>& families = shape_.families;
  const auto index = static_cast<size_t>(trial);
  if (index < families.size()) return families[index];
  const bool last = trial == limits_.trials - 1;
  return last && !submission_.time && shape_.Admits(kRareFamily) ? kRareFamily : families.front();
}

Outcome Evaluation::Trial(int number) {
  const std::string family = FamilyOf(number);
  if (Outcome outcome = NewWeights(); !Passed(outcome)) return outcome;
  const bool native = family == shape_.families.front();
  if (shape_.draws > 0) return Draws(number == 0, family, native);
  slot_ = static_cast<uint32_t>(seeds_.Next("slot") % slots_);
  const std::vector<uint64_t> seeds = seeds_.Next("trial", 1);
  if (Outcome outcome = Fill(seeds, family); !Passed(outcome)) return outcome;
  Outcome outcome = number == 0 ? CallWhileExpecting(/*first=*/true) : Calls(/*first=*/false, 1);
  if (Passed(outcome)) outcome = VerifyCall(native);
  return Passed(outcome) && number == 0 ? Repeat(seeds, family) : outcome;
}

Outcome Evaluation::VerifyCall(bool native) {
  const std::shared_lock device(device_->lock());
  Result<Comparison> result = device_->judge().Verify(lane_, slot_, {}, /*exact=*/true, 0, nullptr);
  return Judged(result, [&] { Compare(*result, native); });
}

/// Other inputs for the instance of the last trial.
Outcome Evaluation::AnotherCall() {
  if (Outcome outcome = Fill(seeds_.Next("trial", 1), FamilyOf(limits_.trials - 1));
      !Passed(outcome))
    return outcome;
  if (Outcome outcome = Calls(/*first=*/false, 1); !Passed(outcome)) return outcome;
  Outcome outcome = VerifyCall(/*native=*/false);
  if (outcome.kind == FailureKind::kMismatch)
    outcome.message = fmt::format(
        "right in a module's first call, wrong in another on other inputs: {}", outcome.message);
  return outcome;
}

/// The trial's call once more: other bits are those of atomics, or of a race that a comparison with
/// the reference may miss.
Outcome Evaluation::Repeat(const std::vector<uint64_t>& seeds, std::string_view family) {
  const auto judge = [&](auto ask) {
    const std::shared_lock device(device_->lock());
    return ask(device_->judge());
  };
  if (Status status = judge([&](Judge& it) { return it.Remember(lane_, slot_); }); !status.ok())
    return InfrastructureFailure(Stage::kCheck, status.error());
  if (Outcome outcome = Fill(seeds, family); !Passed(outcome)) return outcome;
  if (Outcome outcome = Calls(/*first=*/false, 1); !Passed(outcome)) return outcome;
  const Result<bool> same = judge([&](Judge& it) { return it.Repeated(lane_, slot_); });
  if (!same.ok()) return InfrastructureFailure(Stage::kCheck, same.error());
  if (*same) return {};
  records_.flags.emplace_back("nondeterministic");
  Outcome outcome = VerifyCall(/*native=*/false);  // counted already
  if (outcome.kind == FailureKind::kMismatch)
    outcome.message = fmt::format("right at first, wrong when called again on the same inputs: {}",
                                  outcome.message);
  return outcome;
}

/// Outputs that are random: many calls on the same inputs, as many at a time as there are slots.
Outcome Evaluation::Draws(bool first, const std::string& family, bool native) {
  const uint64_t seed = seeds_.Next("trial");
  const auto most = std::min(slots_, static_cast<uint32_t>(limits_.max_calls));
  for (auto left = static_cast<uint32_t>(shape_.draws); left > 0;) {
    const uint32_t calls = std::min(left, most);
    left -= calls;
    slot_ = static_cast<uint32_t>(seeds_.Next("slot") % (slots_ - calls + 1));
    if (Outcome outcome = Fill(std::vector<uint64_t>(calls, seed), family); !Passed(outcome))
      return outcome;
    if (Outcome outcome = Calls(std::exchange(first, false), calls); !Passed(outcome))
      return outcome;
    const std::shared_lock device(device_->lock());
    Result<Comparison> result =
        device_->judge().VerifyDraws(lane_, slot_, calls, /*last=*/left == 0);
    if (Outcome outcome = Judged(result, [&] { Compare(*result, native); }); !Passed(outcome))
      return outcome;
  }
  return {};
}

template <typename Note>
Outcome Evaluation::Judged(const Result<Comparison>& result, Note note) {
  if (!result.ok()) return InfrastructureFailure(Stage::kCheck, result.error());
  note();
  if (result->inputs_changed) return InputsChanged(Stage::kCheck);
  Failure failure;
  if (result->passed) return failure;
  failure.kind = FailureKind::kMismatch;
  failure.stage = Stage::kCheck;
  failure.name = "values";
  failure.message = result->pattern;
  return failure;
}

/// Fresh weights in the judge, and a fresh instance that has them. Loading may compile for seconds,
/// and a timing of another submission stops it meanwhile: outside the lock.
Outcome Evaluation::NewWeights() {
  weights_seed_ = seeds_.Next("weights");
  {
    const std::shared_lock device(device_->lock());
    if (Status status = device_->judge().Weights(lane_, weights_seed_); !status.ok())
      return InfrastructureFailure(Stage::kCheck, status.error());
  }
  Outcome outcome = session_->Build(weights_seed_, LoadLimit(), &records_.correctness.weights);
  if (Passed(outcome)) records_.compiled = true;
  return outcome;
}

Outcome Evaluation::Fill(const std::vector<uint64_t>& seeds, std::string_view family) {
  const std::shared_lock device(device_->lock());
  const Result<Quietness> filled = device_->judge().Fill(lane_, slot_, seeds, 0, 0, family);
  return filled.ok() ? Outcome{} : InfrastructureFailure(Stage::kCheck, filled.error());
}

/// One round on the slots from `slot_`, outside the lock.
Outcome Evaluation::Calls(bool first, uint32_t count, const json::object& shapes) {
  if (Outcome outcome = session_->BeginRounds(Stage::kCheck, shapes); !Passed(outcome))
    return outcome;
  if (first && !replaced_)
    records_.phases_ms.emplace_back("lease_to_call", MillisecondsSince(leased_at_));
  Seconds limit(std::max(limits_.call_s, limits_.call_factor * shape_.reference_us * count * 1e-6));
  if (first) limit = std::max(limit, LoadLimit());  // the first call may compile
  CandidateSession::RoundTime elapsed;
  if (Outcome outcome = session_->Round(Stage::kCheck, slot_, count, false, limit, &elapsed);
      !Passed(outcome))
    return outcome;
  return session_->EndRounds(Stage::kCheck, nullptr);
}

/// One call, which may compile. The judge computes meanwhile what it will be compared with.
Outcome Evaluation::CallWhileExpecting(bool first, const json::object& shapes) {
  constexpr double kMostUs = 20'000;  // of the reference: others wait for the judge
  const bool worth = device_->cuda() && !submission_.frugal && shape_.reference_us <= kMostUs;
  std::atomic<bool> over{false};
  std::future<void> expected;
  try {
    if (worth)
      expected = std::async(std::launch::async, [&] {
        const std::shared_lock device(device_->lock());
        // What goes wrong here goes wrong again, and is told, when the outputs are verified.
        if (!over) static_cast<void>(device_->judge().Expect(lane_, slot_));
      });
  } catch (const std::system_error& error) {
    LogDebug("lane {}: no thread to compute what is expected: {}", lane_, error.what());
  }
  Outcome outcome = Calls(first, 1, shapes);
  over = true;
  return outcome;
}

/// One trial on smaller inputs, where the reference accepts some. `other_shapes` says what came of
/// it; nothing where nothing can be said.
Outcome Evaluation::OtherShapes() {
  json::object shapes;
  {
    const std::shared_lock device(device_->lock());
    Result<json::object> found = device_->judge().Shapes(lane_, submission_.task->sha256);
    if (!found.ok()) return InfrastructureFailure(Stage::kCheck, found.error());
    shapes = *std::move(found);
  }
  if (shapes.empty()) return {};
  slot_ = static_cast<uint32_t>(seeds_.Next("slot") % slots_);
  Outcome outcome = NewWeights();
  if (Passed(outcome)) outcome = Fill(seeds_.Next("trial", 1), "jittered");
  if (Passed(outcome)) outcome = CallWhileExpecting(/*first=*/false, shapes);
  if (Passed(outcome)) {
    const std::shared_lock device(device_->lock());
    outcome = Judged(device_->judge().Verify(lane_, slot_, {}, /*exact=*/true, 0, nullptr), [] {});
  }
  if (outcome.kind == FailureKind::kInfrastructure || outcome.kind == FailureKind::kCancelled ||
      outcome.kind == FailureKind::kDeadline)
    return outcome;
  records_.correctness.other_shapes = Passed(outcome);
  if (Passed(outcome)) return outcome;
  records_.correctness.pattern = "wrong on inputs of smaller sizes than the task's";
  outcome.message = fmt::format("on inputs of smaller sizes than the task's: {}", outcome.message);
  return outcome;
}

/// The same for a submission that is judged already: nothing but a flag can come of it, so its
/// process may crash.
Outcome Evaluation::ReportShapes() {
  if (!background_) background_.emplace(&device_->background(), *candidate_.process, true);
  const Outcome outcome = OtherShapes();
  records_.correctness.pattern.clear();
  if (records_.correctness.other_shapes == false)
    records_.flags.emplace_back("shape_specialized");
  else if (!Passed(outcome))
    LogDebug("lane {}: other shapes were not tried: {}", lane_, outcome.message);
  return {};
}

void Evaluation::Compare(const Comparison& result, bool native) {
  Correctness& all = records_.correctness;
  if (result.bits && result.bits < all.effective_bits.value_or(1e9)) {
    all.effective_bits = result.bits;
    all.reference_bits = result.reference_bits;
  }
  if (native && result.kernelbench) {
    if (!records_.kernelbench) records_.kernelbench.emplace();
    records_.kernelbench->tolerance = result.kernelbench_tolerance;
    ++records_.kernelbench->trials;
    records_.kernelbench->passed += *result.kernelbench ? 1 : 0;
  }
  all.max_abs_err = std::max(all.max_abs_err, result.max_abs_err);
  all.max_rel_err = std::max(all.max_rel_err, result.max_rel_err);
  all.mismatch_fraction = std::max(all.mismatch_fraction, result.mismatch_fraction);
  all.atol = all.rtol = result.tolerance;
  all.reference = result.reference;
  if (result.passed) return;
  all.pattern = result.pattern;
  // Values of the task's own inputs teach; those of the others would tell how they are made.
  if (native && result.bad_output >= 0)
    all.first_bad = BadElement{result.bad_output, result.bad_index, result.got, result.expected};
}

/// A store into read-only inputs kills the process like any wild store. Whether that was the cause
/// is found in a second candidate, with private copies of the inputs that are looked at afterwards.
Outcome Evaluation::DiagnoseMutation(Outcome crash) {
  if (shape_.writes_inputs) return crash;
  if (!LeaseAnother().ok()) return crash;
  CandidateSession::LoadOptions options;
  options.source = submission_.source;
  options.class_name = "ModelNew";
  options.precision = shape_.precision;
  options.report_mutation = true;
  options.limit = LoadLimit();
  {
    if (Outcome outcome = session_->Load(arena_, arena_.outputs.get(), options); !Passed(outcome))
      return crash;
  }
  CandidateSession::RoundTime elapsed;
  if (Passed(session_->Build(weights_seed_, LoadLimit(), nullptr)) &&
      Passed(session_->BeginRounds(Stage::kCheck))) {
    Outcome outcome = session_->Round(Stage::kCheck, slot_, 1, false, LoadLimit(), &elapsed);
    if (outcome.kind == FailureKind::kInputMutated) return outcome;
  }
  return crash;
}

}  // namespace assay
