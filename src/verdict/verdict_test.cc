#include "verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

#include "verdict/flags.h"
#include "verdict/samples.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Stage kStages[] = {Stage::kLint, Stage::kLoad,    Stage::kCheck,
                             Stage::kTime, Stage::kProfile, Stage::kVerdict};

struct Row {
  FailureKind kind;
  VerdictStatus status;
  Fault fault;
  std::vector<Stage>
      stages;  ///< where the candidate can cause it; elsewhere it is the engine's bug
  int exit_code;
};

std::vector<Row> Table() {
  const std::vector<Stage> all(std::begin(kStages), std::end(kStages));
  const std::vector<Stage> text = {Stage::kLint, Stage::kLoad};
  const std::vector<Stage> runs = {Stage::kLoad, Stage::kCheck, Stage::kTime, Stage::kProfile};
  const std::vector<Stage> calls = {Stage::kCheck, Stage::kTime, Stage::kProfile};
  using K = FailureKind;
  using S = VerdictStatus;
  return {
      {K::kLintInvalid, S::kInvalidSubmission, Fault::kCandidate, text, 1},
      {K::kSyntaxError, S::kInvalidSubmission, Fault::kCandidate, text, 1},
      {K::kCompileError, S::kCompileError, Fault::kCandidate, runs, 1},
      {K::kException, S::kRuntimeError, Fault::kCandidate, runs, 1},
      {K::kCrash, S::kRuntimeError, Fault::kCandidate, runs, 1},
      {K::kDeviceFault, S::kRuntimeError, Fault::kCandidate, runs, 1},
      {K::kDeadline, S::kTimeout, Fault::kCandidate, runs, 1},
      {K::kHostMemory, S::kOutOfMemory, Fault::kCandidate, runs, 1},
      {K::kDeviceMemory, S::kOutOfMemory, Fault::kCandidate, runs, 1},
      {K::kMismatch, S::kIncorrect, Fault::kCandidate, calls, 1},
      {K::kInputMutated, S::kIncorrect, Fault::kCandidate, calls, 1},
      {K::kIntegrity, S::kRejectedCheat, Fault::kIntegrity, all, 4},
      {K::kInfrastructure, S::kInfraError, Fault::kInfrastructure, all, 3},
      {K::kCancelled, S::kCancelled, Fault::kNone, all, 3},
  };
}

/// Everything that no outcome other than correct may carry.
void ExpectUnpaid(const Verdict& verdict) {
  EXPECT_FALSE(verdict.correct);
  EXPECT_FALSE(verdict.timed);
  EXPECT_EQ(verdict.speedup.value, 0);
  EXPECT_EQ(verdict.candidate_us.n, 0);
  EXPECT_NE(verdict.error.kind, FailureKind::kNone);
  EXPECT_NE(ExitCode(verdict), 0);
  EXPECT_FALSE(verdict.feedback.empty());
}

void ExpectEngineBug(const Records& records, const std::string& message) {
  const Verdict verdict = Decide(records);
  EXPECT_EQ(verdict.status, VerdictStatus::kInfraError) << message;
  EXPECT_EQ(verdict.fault, Fault::kInfrastructure);
  EXPECT_EQ(verdict.error.name, "inconsistent_records");
  EXPECT_THAT(verdict.error.message, HasSubstr(message));
  EXPECT_EQ(verdict.records.task_id, records.task_id);
  ExpectUnpaid(verdict);
}

TEST(Decide, EveryFailureInEveryStage) {
  // Complete, measured records, so that nothing but the failure can withhold the payment.
  for (const Row& row : Table()) {
    for (const Stage stage : kStages) {
      SCOPED_TRACE(std::string(ToString(row.kind)) + " in " + std::string(ToString(stage)));
      Records records = test::CorrectRecords();
      records.failure.kind = row.kind;
      records.failure.stage = stage;
      records.failure.message = "what was seen";
      if (std::find(row.stages.begin(), row.stages.end(), stage) == row.stages.end()) {
        ExpectEngineBug(records, "a submission cannot cause");
        continue;
      }
      const Verdict verdict = Decide(records);
      EXPECT_EQ(verdict.status, row.status);
      EXPECT_EQ(verdict.fault, row.fault);
      EXPECT_EQ(verdict.stage, stage);
      EXPECT_EQ(ExitCode(verdict), row.exit_code);
      EXPECT_EQ(verdict.error.message, "what was seen");
      ExpectUnpaid(verdict);
    }
  }
}

TEST(Decide, EveryNameIsKnownAndDifferent) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(FailureKind::kCancelled); ++i)
    names.push_back(ToString(static_cast<FailureKind>(i)));
  EXPECT_THAT(names, Not(Contains("unknown")));
  EXPECT_THAT(std::set<std::string_view>(names.begin(), names.end()), SizeIs(names.size()));
  EXPECT_THAT(Table(), SizeIs(names.size() - 1)) << "a kind is missing from the table above";
}

TEST(Decide, CorrectIsPaid) {
  const Verdict verdict = Decide(test::CorrectRecords());
  EXPECT_EQ(verdict.status, VerdictStatus::kCorrect);
  EXPECT_EQ(verdict.fault, Fault::kNone);
  EXPECT_EQ(verdict.stage, Stage::kVerdict);
  EXPECT_TRUE(verdict.correct);
  EXPECT_TRUE(verdict.compiled);
  EXPECT_EQ(verdict.error.kind, FailureKind::kNone);
  EXPECT_EQ(ExitCode(verdict), 0);
  EXPECT_NEAR(verdict.speedup.value, 120.75 / 52.25, 0.02);
  EXPECT_LE(verdict.speedup.low, verdict.speedup.value);
  EXPECT_EQ(verdict.candidate_us.n, 20);
  EXPECT_TRUE(verdict.candidate_clock.agree);
  EXPECT_THAT(verdict.flags, ElementsAre());
  EXPECT_EQ(verdict.timing_note, "");
}

TEST(Decide, RecordsThatDoNotProveCorrectnessAreTheEnginesBug) {
  const auto broken = [](const std::function<void(Records*)>& edit) {
    Records records = test::CorrectRecords();
    edit(&records);
    return records;
  };
  ExpectEngineBug(broken([](Records* r) { r->compiled = false; }), "never loaded");
  ExpectEngineBug(broken([](Records* r) { r->correctness = {}; }), "no correctness trial");
  ExpectEngineBug(broken([](Records* r) { r->correctness.passed = 3; }), "3 of 5");
  ExpectEngineBug(broken([](Records* r) { r->correctness.passed = 6; }), "6 of 5");
  ExpectEngineBug(broken([](Records* r) { r->timing.measured = false; }), "not measured");
  ExpectEngineBug(broken([](Records* r) { r->timing.candidate.clear(); }), "0 candidate");
  ExpectEngineBug(broken([](Records* r) { r->timing.reference.pop_back(); }), "19 reference");
  ExpectEngineBug(broken([](Records* r) { r->timing.candidate[3].calls = 0; }), "not a time");
  ExpectEngineBug(broken([](Records* r) { r->timing.reference[3].outside_us = -1; }), "not a time");
  ExpectEngineBug(broken([](Records* r) {
                    r->timing.candidate[0].overhead_us = std::numeric_limits<double>::quiet_NaN();
                  }),
                  "not a time");
  ExpectEngineBug(broken([](Records* r) { r->timing.rounds_verified = 0; }), "verified");
  ExpectEngineBug(broken([](Records* r) {
                    for (RoundClock& round : r->timing.reference) round.outside_us = 1e308;
                    for (RoundClock& round : r->timing.candidate) round.outside_us = 1e-3;
                    for (auto* side : {&r->timing.reference, &r->timing.candidate})
                      for (RoundClock& round : *side) round.inside_us.clear();
                  }),
                  "ratio");
}

TEST(Decide, DefaultRecordsAreNeverCorrect) { ExpectEngineBug(Records{}, "never loaded"); }

TEST(Decide, ALintFindingThatForbidsRunningDecidesAlone) {
  Records records = test::CorrectRecords();
  records.lint.findings = {
      {.rule = "S7.op", .severity = LintFinding::Severity::kFlag, .line = 3, .reason = "matmul"},
      {.rule = "S1.model",
       .severity = LintFinding::Severity::kInvalid,
       .line = 0,
       .reason = "no class ModelNew"}};
  const Verdict verdict = Decide(records);
  EXPECT_EQ(verdict.status, VerdictStatus::kInvalidSubmission);
  EXPECT_EQ(verdict.error.name, "S1.model");
  EXPECT_EQ(verdict.error.message, "no class ModelNew");
  EXPECT_FALSE(verdict.compiled);
  EXPECT_THAT(verdict.flags, ElementsAre("S7.op"));
  ExpectUnpaid(verdict);
}

TEST(Decide, ALazyCompileErrorIsNotCompiled) {
  const Verdict verdict =
      Decide(test::FailedRecords(FailureKind::kCompileError, Stage::kCheck, "triton", "bad"));
  EXPECT_TRUE(verdict.records.compiled);
  EXPECT_FALSE(verdict.compiled);
}

TEST(Decide, TheInterpreterGivesCorrectnessButNoSpeedup) {
  for (const bool measured : {true, false}) {
    Records records = test::CorrectRecords();
    if (!measured) records.timing = TimingRecord{};
    records.timing.meaningful = false;
    const Verdict verdict = Decide(records);
    EXPECT_EQ(verdict.status, VerdictStatus::kCorrect);
    EXPECT_EQ(verdict.speedup.value, 0);
    EXPECT_EQ(verdict.timed, measured);
    EXPECT_THAT(verdict.timing_note, HasSubstr("interpreter"));
    EXPECT_EQ(ExitCode(verdict), 0);
  }
}

TEST(Decide, TimingThatNobodyAskedForMayBeMissing) {
  Records records = test::CorrectRecords();
  records.timing = {};
  records.timing.requested = false;
  const Verdict verdict = Decide(records);
  EXPECT_TRUE(verdict.correct);
  EXPECT_FALSE(verdict.timed);
  EXPECT_THAT(verdict.timing_note, HasSubstr("not requested"));
}

TEST(Decide, FlagsAreSortedUniqueAndExplained) {
  Records records = test::CorrectRecords();
  records.flags = {"output_reused", "library", "output_reused"};
  records.correctness.weights = "seed";
  EXPECT_THAT(Decide(records).flags, ElementsAre("library", "output_reused", "weights_seed"));
  for (const char* name : {"output_reused", "library", "decoy", "collapse", "triton_interpreter",
                           "clock_disagrees", "noisy", "weights_seed", "sandbox_degraded",
                           "child_processes", "void_task", "nondeterministic"}) {
    ASSERT_NE(FindFlag(name), nullptr) << name;
    EXPECT_GT(FindFlag(name)->meaning.size(), 20u);
  }
  EXPECT_EQ(FindFlag("unheard_of"), nullptr);
  EXPECT_TRUE(std::is_sorted(KnownFlags().begin(), KnownFlags().end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

std::vector<std::string> FlagsWithProfile(double own_us, double library_us, double unknown_us) {
  Records records = test::CorrectRecords();
  records.profile = test::SampleProfile();
  Profile& profile = *records.profile->profile;
  profile.own_us = own_us;
  profile.library_us = library_us;
  profile.unknown_us = unknown_us;
  profile.copy_us = 0;
  return Decide(std::move(records)).flags;
}

TEST(Decide, OwnKernelsThatDoNothingAreADecoy) {
  EXPECT_THAT(FlagsWithProfile(100, 0, 0), IsEmpty());
  EXPECT_THAT(FlagsWithProfile(97, 3, 0), IsEmpty());
  EXPECT_THAT(FlagsWithProfile(50, 50, 0), ElementsAre("library"));
  EXPECT_THAT(FlagsWithProfile(0.5, 99.5, 0), ElementsAre("decoy", "library"));
  EXPECT_THAT(FlagsWithProfile(0, 100, 0), ElementsAre("decoy", "library"));
  EXPECT_THAT(FlagsWithProfile(0, 50, 50), ElementsAre("library")) << "they may be its own";
  EXPECT_THAT(FlagsWithProfile(0, 0, 0), IsEmpty());
  Records records = test::CorrectRecords();
  records.profile = test::SampleProfile();
  records.profile->profile->own_us = 0;
  records.profile->profile->library_us = 100;
  records.lint.uses_triton = false;
  EXPECT_THAT(Decide(records).flags, ElementsAre("library")) << "it has no kernels to hide behind";
  records.lint.uses_extension = true;
  EXPECT_THAT(Decide(records).flags, ElementsAre("decoy", "library"));
  records.profile->profile->dropped = 1;
  EXPECT_THAT(Decide(records).flags, IsEmpty()) << "not all was seen";
  records.profile->profile.reset();
  EXPECT_THAT(Decide(records).flags, IsEmpty());
}

TEST(Decide, AnOutputThatIsRightWithoutItsKernelsIsADecoys) {
  Records records = test::CorrectRecords();
  records.ghost = {.skipped = 3, .still_right = true, .reason = ""};
  const Verdict verdict = Decide(records);
  EXPECT_THAT(verdict.flags, ElementsAre("decoy"));
  EXPECT_EQ(verdict.status, VerdictStatus::kCorrect) << "a note, which rewards may act on";
  records.ghost->still_right = false;
  EXPECT_THAT(Decide(records).flags, IsEmpty());
  records.ghost->still_right.reset();
  EXPECT_THAT(Decide(records).flags, IsEmpty());
}

TEST(Decide, AProfileChangesNoTimeAndNoStatus) {
  const Verdict plain = Decide(test::CorrectRecords());
  Records records = test::CorrectRecords();
  records.profile = test::SampleProfile();
  const Verdict profiled = Decide(records);
  EXPECT_EQ(profiled.status, plain.status);
  EXPECT_EQ(profiled.speedup.value, plain.speedup.value);
  EXPECT_EQ(profiled.candidate_us.median, plain.candidate_us.median);
}

TEST(Decide, ALyingClockIsFlaggedAndGainsNothing) {
  const double honest = Decide(test::CorrectRecords()).speedup.value;
  Records records = test::CorrectRecords();
  for (RoundClock& round : records.timing.candidate) round.inside_us.assign(64, 1e-3);
  const Verdict verdict = Decide(records);
  EXPECT_THAT(verdict.flags, Contains("clock_disagrees"));
  EXPECT_FALSE(verdict.candidate_clock.agree);
  EXPECT_LT(verdict.speedup.value, honest);
  // Nor can calls take longer than the round that they were in.
  for (RoundClock& round : records.timing.candidate) round.inside_us.assign(64, 1e6);
  EXPECT_THAT(Decide(records).flags, Contains("clock_disagrees"));
  EXPECT_LT(Decide(records).speedup.value, honest);
}

TEST(Decide, WideIntervalsAreNoisy) {
  Records records = test::CorrectRecords();
  for (size_t i = 0; i < records.timing.reference.size(); ++i) {
    records.timing.reference[i].outside_us *= 1 + 0.1 * static_cast<double>(i);
    records.timing.reference[i].inside_us.clear();
  }
  EXPECT_THAT(Decide(records).flags, Contains("noisy"));
}

TEST(Decide, ACardThatWasSlowedIsNamed) {
  Records records = test::CorrectRecords();
  EXPECT_THAT(Decide(records).flags, Not(Contains("throttled")));
  records.timing.clocks[7] = {.sm_mhz = 1410, .throttle_reasons = 0x4};
  const Verdict verdict = Decide(records);
  EXPECT_THAT(verdict.flags, Contains("throttled"));
  const json::object clocks = ToJson(verdict, false)["timing"].at("clocks").as_object();
  EXPECT_EQ(clocks.at("sm_mhz_low"), 1410);
  EXPECT_EQ(clocks.at("sm_mhz_high"), 1980);
  EXPECT_EQ(clocks.at("slowed_rounds"), 1);
  EXPECT_EQ(clocks.at("slowdowns"), json::array{"power cap"});
  records.timing.clocks.clear();
  EXPECT_FALSE(ToJson(Decide(records), false)["timing"].as_object().contains("clocks"));
}

Verdict WithBound(double bound_us) {
  Records records = test::CorrectRecords();
  records.roofline->bound_us = records.roofline->traffic_us = bound_us;
  return Decide(std::move(records));
}

TEST(Decide, SetsThePaidTimeAgainstTheRoofline) {
  const Verdict verdict = Decide(test::CorrectRecords());
  ASSERT_TRUE(verdict.roofline);
  EXPECT_NEAR(verdict.roofline->fraction, 33.1416 / verdict.candidate_us.median, 1e-4);
  EXPECT_EQ(verdict.plausibility, Plausibility::kNormal);
  EXPECT_THAT(verdict.flags, Not(Contains("at_roof")));
}

TEST(Decide, ATimeBelowTheBoundIsFlaggedButNotAFault) {
  const double time_us = Decide(test::CorrectRecords()).candidate_us.median;
  const Verdict near = WithBound(time_us * 1.02);
  EXPECT_THAT(near.flags, Contains("at_roof"));
  EXPECT_EQ(near.roofline->fraction, 1);
  const Verdict below = WithBound(time_us * 1.2);
  EXPECT_EQ(below.status, VerdictStatus::kCorrect);
  EXPECT_EQ(below.plausibility, Plausibility::kSuperluminal);
  EXPECT_THAT(below.flags, Contains("superluminal"));
  EXPECT_THAT(below.flags, Not(Contains("at_roof")));
  EXPECT_THAT(below.feedback, HasSubstr("superluminal"));
}

TEST(Decide, ATimeThatOnlyArithmeticForbidsIsACollapse) {
  Records records = test::CorrectRecords();
  const double time_us = Decide(records).candidate_us.median;
  records.roofline->bound_us = time_us * 5;
  records.roofline->traffic_us = time_us * 0.5;
  const Verdict unexplained = Decide(records);
  EXPECT_EQ(unexplained.status, VerdictStatus::kCorrect);
  EXPECT_EQ(unexplained.plausibility, Plausibility::kCollapse);
  EXPECT_THAT(unexplained.flags, Contains("collapse"));
  EXPECT_THAT(unexplained.flags, Not(Contains("superluminal")));
  records.roofline->written_us = std::exchange(records.roofline->bound_us, time_us * 0.5);
  const Verdict explained = Decide(records);
  EXPECT_EQ(explained.plausibility, Plausibility::kNormal);
  EXPECT_THAT(explained.flags, Contains("collapse"));
}

TEST(Decide, WhatIsNotPaidHasNoFraction) {
  Records interpreted = test::CorrectRecords();
  interpreted.timing.meaningful = false;
  Records untimed = test::CorrectRecords();
  untimed.timing = {};
  untimed.timing.requested = false;
  for (Records& records : std::vector{interpreted, untimed, test::IncorrectRecords()}) {
    records.roofline = test::CorrectRecords().roofline;
    records.roofline->bound_us = 1e6;
    const Verdict verdict = Decide(records);
    ASSERT_TRUE(verdict.roofline);
    EXPECT_EQ(verdict.roofline->fraction, 0);
    EXPECT_EQ(verdict.plausibility, Plausibility::kNormal);
    EXPECT_THAT(verdict.flags, Not(Contains("superluminal")));
    EXPECT_THAT(verdict.feedback, Not(HasSubstr("Roofline")));
  }
  Records unknown = test::CorrectRecords();
  unknown.roofline.reset();
  EXPECT_FALSE(Decide(unknown).roofline);
  EXPECT_FALSE(ToJson(Decide(unknown), false).contains("roofline"));
}

TEST(Decide, ReducedPrecisionShowsInTheBitsThatAgree) {
  const auto flags = [](std::optional<double> bits, std::optional<double> reference) {
    Records records = test::CorrectRecords();
    records.correctness.effective_bits = bits;
    records.correctness.reference_bits = reference;
    return Decide(std::move(records)).flags;
  };
  EXPECT_THAT(flags(21.4, 22.0), Not(Contains("reduced_precision")));
  EXPECT_THAT(flags(11.5, 22.0), Contains("reduced_precision"));
  EXPECT_THAT(flags(9.0, 22.0), Contains("reduced_precision"));
  // A convolution that the library itself computes in TF32, and a half-precision task.
  EXPECT_THAT(flags(11.5, 11.9), Not(Contains("reduced_precision")));
  EXPECT_THAT(flags(std::nullopt, 22.0), Not(Contains("reduced_precision")));
  EXPECT_THAT(flags(9.0, std::nullopt), Not(Contains("reduced_precision")));
  Records wrong = test::IncorrectRecords();
  wrong.correctness.effective_bits = 11.5;
  wrong.correctness.reference_bits = 22.0;
  EXPECT_THAT(Decide(wrong).flags, Not(Contains("reduced_precision")));
}

TEST(Decide, AVoidTaskIsFlaggedWithItsReason) {
  Records records = test::CorrectRecords();
  records.void_reason = "zeros pass";
  const Verdict verdict = Decide(std::move(records));
  EXPECT_EQ(verdict.status, VerdictStatus::kCorrect);
  EXPECT_THAT(verdict.flags, Contains("void_task"));
  EXPECT_EQ(GetString(ToJson(verdict, false), "void_reason"), "zeros pass");
  EXPECT_THAT(ToText(verdict, false), HasSubstr("zeros pass"));
}

TEST(Decide, KernelBenchsVerdictStandsBesideOurs) {
  Records records = test::IncorrectRecords();
  records.kernelbench = {.trials = 1, .passed = 1, .tolerance = 1e-4};
  const json::object document = ToJson(Decide(records), false);
  const json::object& theirs = GetObject(document, "kernelbench");
  EXPECT_FALSE(GetBool(document, "correct"));
  EXPECT_TRUE(GetBool(theirs, "correct"));
  EXPECT_TRUE(theirs.at("speedup").is_null());
  records.kernelbench->trials = 2;
  EXPECT_FALSE(GetBool(GetObject(ToJson(Decide(records), false), "kernelbench"), "correct"));
  records.kernelbench = {};
  EXPECT_FALSE(ToJson(Decide(records), false).contains("kernelbench"));
}

/// The reference's rounds, `factor` times as long.
BaselineRecord Baseline(const Records& records, std::string name, double factor) {
  BaselineRecord baseline{std::move(name), records.timing.reference, ""};
  for (RoundClock& round : baseline.rounds) {
    round.outside_us *= factor;
    round.overhead_us *= factor;
    for (double& time : round.inside_us) time *= factor;
  }
  return baseline;
}

TEST(Decide, BaselinesStandBesideEager) {
  Records records = test::CorrectRecords();
  const double eager = Decide(records).speedup.value;
  records.timing.baselines = {Baseline(records, "compile", 0.5),
                              {"eager-tf32", {}, "CompileError: no compiler"}};
  const Verdict verdict = Decide(records);
  EXPECT_TRUE(verdict.correct);
  EXPECT_DOUBLE_EQ(verdict.speedup.value, eager) << "eager pays unless another one was chosen";
  ASSERT_THAT(verdict.baselines, SizeIs(3));
  EXPECT_EQ(verdict.baselines[0].name, "eager");
  EXPECT_DOUBLE_EQ(verdict.baselines[0].speedup.value, eager);
  EXPECT_DOUBLE_EQ(verdict.baselines[0].us.median, verdict.reference_us.median);
  EXPECT_NEAR(verdict.baselines[1].speedup.value, eager / 2, 1e-9);
  EXPECT_EQ(verdict.baselines[2].unavailable, "CompileError: no compiler");
  EXPECT_EQ(verdict.baselines[2].speedup.value, 0);
}

TEST(Decide, TheSpeedupIsOfTheChosenBaseline) {
  Records records = test::CorrectRecords();
  const double eager = Decide(records).speedup.value;
  records.timing.baselines = {Baseline(records, "compile", 0.5)};
  records.timing.baseline = "compile";
  const Verdict verdict = Decide(records);
  EXPECT_NEAR(verdict.speedup.value, eager / 2, 1e-9);
  EXPECT_DOUBLE_EQ(verdict.reference_us.median, verdict.baselines[1].us.median);
}

TEST(Decide, NoOtherBaselineStandsInForTheChosenOne) {
  Records records = test::CorrectRecords();
  records.timing.baselines = {{"compile", {}, "no compiler"}};
  records.timing.baseline = "compile";
  const Verdict verdict = Decide(records);
  EXPECT_TRUE(verdict.correct);
  EXPECT_EQ(verdict.fault, Fault::kNone);
  EXPECT_EQ(verdict.speedup.value, 0);
  EXPECT_THAT(verdict.timing_note, HasSubstr("compile is unavailable: no compiler"));
  EXPECT_GT(verdict.baselines[0].speedup.value, 0) << "eager's is told all the same";
}

TEST(Decide, BaselinesWithoutTheirRoundsAreTheEnginesBug) {
  Records records = test::CorrectRecords();
  records.timing.baselines = {Baseline(records, "compile", 0.5)};
  records.timing.baselines[0].rounds.pop_back();
  ExpectEngineBug(records, "not those of the baseline compile");
}

TEST(Decide, InterpretedTimesGiveNoSpeedupOverAnyBaseline) {
  Records records = test::CorrectRecords();
  records.timing.meaningful = false;
  records.timing.baselines = {Baseline(records, "compile", 0.5)};
  for (const BaselineTiming& baseline : Decide(records).baselines)
    EXPECT_EQ(baseline.speedup.value, 0) << baseline.name;
}

TEST(Decide, IsPure) {
  for (const Records& records :
       {test::CorrectRecords(), test::IncorrectRecords(), test::CheatRecords()})
    EXPECT_EQ(ToJson(Decide(records), true), ToJson(Decide(records), true));
}

}  // namespace
}  // namespace assay
