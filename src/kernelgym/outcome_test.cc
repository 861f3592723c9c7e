#include "kernelgym/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/golden.h"
#include "kernelgym/fakes.h"

namespace assay::kernelgym {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace samples = assay::test;

TaskRecord Record() {
  TaskRecord record;
  record.owner = "alice";
  record.job_id = "job-1";
  record.submitted_at = 1'700'000'000.25;
  std::vector<Issue> issues;
  record.request = ReadEvaluation(test::EvaluationBody(), {"body"}, &issues);
  return record;
}

Job Done(const Records& records) {
  Job job;
  job.request.Edit()->id = "job-1";
  job.state = JobState::kDone;
  job.started_at = 1'700'000'001;
  job.finished_at = 1'700'000'003.5;
  job.deliveries = 1;
  job.worker = "cuda:0";
  job.verdict = ToJson(Decide(records), true);
  return job;
}

struct Sample {
  const char* name;
  Records records;
};

std::vector<Sample> Samples() {
  using samples::FailedRecords;
  Records untimed = samples::CorrectRecords();
  untimed.timing = {};
  untimed.timing.requested = false;
  Records interpreter = samples::CorrectRecords();
  interpreter.timing = {};
  interpreter.timing.meaningful = false;
  interpreter.flags = {"triton_interpreter"};
  Records decoy = samples::CorrectRecords();
  decoy.flags = {"decoy"};
  Records construction = FailedRecords(FailureKind::kException, Stage::kLoad, "TypeError",
                                       "__init__() got an unexpected argument", 7);
  Records late_compile = FailedRecords(FailureKind::kCompileError, Stage::kCheck,
                                       "CompilationError", "at 3:9: no such thing", 12);
  return {
      {"correct", samples::CorrectRecords()},
      {"correct_untimed", untimed},
      {"correct_interpreter", interpreter},
      {"correct_decoy", decoy},
      {"incorrect", samples::IncorrectRecords()},
      {"incorrect_shape", FailedRecords(FailureKind::kMismatch, Stage::kCheck, "shape",
                                        "expected (32, 512), got (32, 1)")},
      {"input_mutated", FailedRecords(FailureKind::kInputMutated, Stage::kCheck, "input_mutated",
                                      "forward() writes input tensor 0")},
      {"syntax_error",
       FailedRecords(FailureKind::kSyntaxError, Stage::kLoad, "SyntaxError", "invalid syntax", 3)},
      {"lint_invalid", FailedRecords(FailureKind::kLintInvalid, Stage::kLint, "S1.no_model",
                                     "nothing binds ModelNew")},
      {"compile_error", samples::CompileErrorRecords()},
      {"compile_error_at_first_call", late_compile},
      {"exception_at_construction", construction},
      {"exception", FailedRecords(FailureKind::kException, Stage::kCheck, "ZeroDivisionError",
                                  "division by zero", 9)},
      {"crash", FailedRecords(FailureKind::kCrash, Stage::kCheck, "SIGSEGV", "died by signal 11")},
      {"device_fault", FailedRecords(FailureKind::kDeviceFault, Stage::kCheck, "illegal_address",
                                     "an illegal memory access was encountered")},
      {"device_memory", FailedRecords(FailureKind::kDeviceMemory, Stage::kCheck, "OutOfMemoryError",
                                      "CUDA out of memory")},
      {"timeout", samples::TimeoutRecords()},
      {"cheat", samples::CheatRecords()},
      {"infra", samples::InfraRecords()},
      {"reference", FailedRecords(FailureKind::kInfrastructure, Stage::kLoad, "reference",
                                  "NameError: name 'torhc' is not defined")},
      {"cancelled", FailedRecords(FailureKind::kCancelled, Stage::kCheck, "cancelled", "stopped")}};
}

std::string Shown(const std::optional<bool>& value) {
  return value ? (*value ? "true" : "false") : "null";
}

std::string Shown(const std::optional<double>& value) {
  return value ? fmt::format("{:.4g}", *value) : "null";
}

/// The mapping as one table, the one that docs/kernelgym-compatibility.md explains.
TEST(OutcomeTest, TableOfAllVerdicts) {
  std::string table = fmt::format("{:<28}{:<11}{:<9}{:<9}{:<7}{:>8}{:>8}{:>8}  {:<19}{:<15}{}\n",
                                  "verdict", "status", "compiled", "correct", "decoy", "kernel",
                                  "ref", "speedup", "error_code", "error_origin", "error_message");
  for (const Sample& sample : Samples()) {
    const Outcome outcome = Translate(Record(), Done(sample.records), false);
    std::string message = outcome.error_message.substr(0, outcome.error_message.find('\n'));
    table +=
        fmt::format("{:<28}{:<11}{:<9}{:<9}{:<7}{:>8}{:>8}{:>8}  {:<19}{:<15}{}\n", sample.name,
                    outcome.status, Shown(outcome.compiled), Shown(outcome.correct),
                    Shown(outcome.decoy), Shown(outcome.kernel_ms), Shown(outcome.reference_ms),
                    Shown(outcome.speedup), outcome.error_code, ToString(outcome.origin), message);
  }
  assay::test::ExpectGolden("kernelgym/testdata/verdicts.txt", table);
}

TEST(OutcomeTest, GoldenAnswers) {
  for (const Sample& sample : Samples()) {
    const std::string name = sample.name;
    if (name != "correct" && name != "incorrect" && name != "compile_error" && name != "infra")
      continue;
    const Job job = Done(sample.records);
    const Outcome outcome = Translate(Record(), job, false);
    assay::test::ExpectGolden("kernelgym/testdata/" + name + ".json",
                              PrettyJson(EvaluationAnswer(Record(), &job, outcome)));
    if (name == "correct")
      assay::test::ExpectGolden("kernelgym/testdata/correct_workflow.json",
                                PrettyJson(WorkflowAnswer(Record(), &job, outcome)));
  }
}

TEST(OutcomeTest, AllFourteenMembersAreAlwaysThere) {
  for (const Sample& sample : Samples()) {
    const Job job = Done(sample.records);
    const json::object answer = EvaluationAnswer(Record(), &job, Translate(Record(), job, false));
    for (const char* key :
         {"task_id", "status", "compiled", "correctness", "decoy_kernel", "reference_runtime",
          "kernel_runtime", "speedup", "metadata", "error_message", "error_code", "submitted_at",
          "completed_at", "processing_time"})
      EXPECT_TRUE(answer.contains(key)) << sample.name << " " << key;
  }
}

/// Whatever a training client computes of it, a fault of the machine must not look like a score.
TEST(OutcomeTest, WhatWasNotJudgedHasNoNumbers) {
  for (const Sample& sample : Samples()) {
    const Outcome outcome = Translate(Record(), Done(sample.records), false);
    if (outcome.origin != Origin::kInfrastructure && outcome.origin != Origin::kClient) continue;
    EXPECT_EQ(outcome.status, "failed");
    EXPECT_FALSE(outcome.compiled || outcome.correct || outcome.decoy || outcome.kernel_ms ||
                 outcome.reference_ms || outcome.speedup)
        << sample.name;
  }
}

TEST(OutcomeTest, OnlyCorrectSubmissionsHaveASpeedup) {
  for (const Sample& sample : Samples()) {
    const Outcome outcome = Translate(Record(), Done(sample.records), false);
    EXPECT_EQ(outcome.speedup.value_or(0) > 0, std::string(sample.name) == "correct");
  }
}

TEST(OutcomeTest, UnknownVerdictIsNotJudged) {
  for (const json::object& verdict : {json::object(), json::object{{"status", "splendid"}},
                                      json::object{{"status", 7}, {"correct", true}}}) {
    Job job = Done(samples::CorrectRecords());
    job.verdict = verdict;
    const Outcome outcome = Translate(Record(), job, false);
    EXPECT_TRUE(outcome.infrastructure());
    EXPECT_FALSE(outcome.correct.has_value());
  }
}

TEST(OutcomeTest, ABrokenReferenceIsTheRequestersFault) {
  const auto origin = [](const char* name, const char* message) {
    const Records records =
        samples::FailedRecords(FailureKind::kInfrastructure, Stage::kLoad, name, message);
    return ToString(Translate(Record(), Done(records), false).origin);
  };
  EXPECT_EQ(origin("reference", "it raised"), "reference");
  EXPECT_EQ(origin("infrastructure", "the judge could not do 'examine': NameError: torhc"),
            "reference");
  EXPECT_EQ(origin("infrastructure", "the judge could not do 'examine': CUDA error: unspecified"),
            "infrastructure");
  EXPECT_EQ(origin("infrastructure", "the judge failed in 'examine': it died"), "infrastructure");
}

TEST(OutcomeTest, TimeoutStatusOnRequest) {
  const Job job = Done(samples::TimeoutRecords());
  EXPECT_EQ(Translate(Record(), job, false).status, "failed");
  EXPECT_EQ(Translate(Record(), job, true).status, "timeout");
}

TEST(OutcomeTest, DecoyChecksCanBeSwitchedOff) {
  Records records = samples::CorrectRecords();
  records.flags = {"decoy"};
  TaskRecord record = Record();
  record.request.detect_decoy_kernel = false;
  const Outcome outcome = Translate(record, Done(records), false);
  EXPECT_FALSE(*outcome.decoy);
  EXPECT_GT(*outcome.speedup, 2);
}

TEST(OutcomeTest, TextOnlyDecoyIsOverruledByTheProfile) {
  Job job = Done(samples::CorrectRecords());
  job.verdict["flags"] = {"S2.decoy"};
  EXPECT_TRUE(*Translate(Record(), job, false).decoy);
  job.verdict["profile"] = {{"coverage_time", 0.9}, {"coverage_count", 0.5}};
  EXPECT_FALSE(*Translate(Record(), job, false).decoy);
  job.verdict["profile"] = {{"coverage_time", 0.0}, {"coverage_count", 0.0}};
  EXPECT_TRUE(*Translate(Record(), job, false).decoy);
}

TEST(OutcomeTest, CoverageIsNumericOrNullWithANote) {
  Job job = Done(samples::CorrectRecords());
  json::object metadata = Translate(Record(), job, false).metadata;
  EXPECT_TRUE(metadata.at("num_coverage").is_null());
  EXPECT_TRUE(metadata.at("time_coverage").is_null());
  EXPECT_THAT(GetString(metadata, "coverage_note"), HasSubstr("no profile"));
  job.verdict["profile"] = {{"coverage_time", 0.75}, {"coverage_count", 0.5}, {"custom_kernels", 1},
                            {"total_kernels", 2},    {"custom_us", 30.0},     {"total_us", 40.0}};
  metadata = Translate(Record(), job, false).metadata;
  EXPECT_EQ(GetDouble(metadata, "num_coverage"), 0.5);
  EXPECT_EQ(GetDouble(metadata, "time_coverage"), 0.75);
  EXPECT_EQ(GetInt(metadata, "num_custom_kernels"), 1);
  EXPECT_EQ(GetString(metadata, "triton_kernel_coverage"),
            "Run 1 custom kernels / Total 2 kernels, Coverage: 50.00%");
  EXPECT_EQ(GetString(metadata, "custom_kernel_cuda_time_coverage"),
            "Custom kernel CUDA time: 30.00us / Total time: 40.00us, Coverage: 75.00%");
  TaskRecord record = Record();
  record.request.enable_profiling = false;
  EXPECT_TRUE(Translate(record, job, false).metadata.at("num_coverage").is_null());
}

TEST(OutcomeTest, TerseErrorsAreOneLine) {
  TaskRecord record = Record();
  record.request.verbose_errors = false;
  const Outcome terse = Translate(record, Done(samples::CompileErrorRecords()), false);
  EXPECT_EQ(terse.error_message.find('\n'), std::string::npos);
  const Outcome full = Translate(Record(), Done(samples::CompileErrorRecords()), false);
  EXPECT_THAT(full.error_message, HasSubstr("\n"));
  EXPECT_THAT(full.error_message, StartsWith("Kernel compilation failed: "));
}

TEST(OutcomeTest, RecordsSurviveStorage) {
  TaskRecord record = Record();
  record.request.uuid = "u";
  record.request.detect_decoy_kernel = false;
  record.request.verbose_errors = true;
  record.request.resources = json::object{{"gpus", 1}};
  record.generation = 3;
  record.notes = "n";
  record.num_cases = 2;
  record.cases_source = "inline";
  EXPECT_EQ(json::serialize(ToJson(RecordFromJson(ToJson(record)))),
            json::serialize(ToJson(record)));
}

TEST(OutcomeTest, ContentIsWhatDecides) {
  const EvaluationRequest base = Record().request;
  EvaluationRequest other = base;
  other.task_id = "else";
  other.priority = "high";
  other.force_refresh = true;
  EXPECT_EQ(ContentOf(base), ContentOf(other));
  other.kernel_code += " ";
  EXPECT_NE(ContentOf(base), ContentOf(other));
  other = base;
  other.num_correct_trials = 6;
  EXPECT_NE(ContentOf(base), ContentOf(other));
  other = base;
  other.cases = json::array{1};
  EXPECT_NE(ContentOf(base), ContentOf(other));
}

}  // namespace
}  // namespace assay::kernelgym
