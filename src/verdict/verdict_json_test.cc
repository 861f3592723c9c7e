#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/golden.h"
#include "base/strings.h"
#include "verdict/samples.h"
#include "verdict/schema_check.h"
#include "verdict/verdict.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

const json::object& Schema() {
  static const json::object schema = [] {
    Result<std::string> text = ReadFile(ASSAY_SOURCE_DIR "/schema/assay.verdict.1.json");
    ASSAY_CHECK(text.ok());
    Result<json::object> parsed = ParseJsonObject(*text);
    ASSAY_CHECK(parsed.ok());
    return *parsed;
  }();
  return schema;
}

struct Sample {
  const char* name;
  Records records;
};

std::vector<Sample> Samples() {
  Records interpreter = test::CorrectRecords();
  interpreter.timing = {};
  interpreter.timing.meaningful = false;
  interpreter.flags = {"triton_interpreter"};
  interpreter.lint.findings = {{.rule = "S7.torch_op",
                                .severity = LintFinding::Severity::kFlag,
                                .line = 21,
                                .reason = "torch.matmul does the reference's work"}};
  Records profiled = test::CorrectRecords();
  profiled.profile = test::SampleProfile();
  profiled.ghost = {.skipped = 1, .still_right = false, .reason = ""};
  profiled.timing.instrument = {{.known_us = 50, .claimed_us = 50.125}};
  Records inspected = profiled;
  inspected.profile->ncu = test::SampleNcu();
  inspected.sanitizer = test::SampleSanitizer();
  return {{"correct", test::CorrectRecords()},
          {"interpreter", interpreter},
          {"profiled", profiled},
          {"inspected", inspected},
          {"incorrect", test::IncorrectRecords()},
          {"compile_error", test::CompileErrorRecords()},
          {"timeout", test::TimeoutRecords()},
          {"cheat", test::CheatRecords()},
          {"infra", test::InfraRecords()}};
}

TEST(ToJson, Golden) {
  for (const auto& [name, records] : Samples())
    test::ExpectGolden("verdict/testdata/" + std::string(name) + ".json",
                       PrettyJson(ToJson(Decide(records), false)) + "\n");
}

TEST(ToJson, MissingToolsSayWhyAndChangeNothing) {
  const Verdict plain = Decide(test::CorrectRecords());
  Records records = test::CorrectRecords();
  records.profile.emplace().ncu.emplace().reason = "ncu is not \x1b[31mon PATH\nat /opt/x/y";
  records.sanitizer = {.tool = "racecheck", .report = {}, .reason = "stopped after 60 s"};
  const Verdict verdict = Decide(records);
  const json::object out = ToJson(verdict, false);
  EXPECT_THAT(test::SchemaErrors(Schema(), out), IsEmpty());
  EXPECT_EQ(GetString(GetObject(GetObject(out, "profile"), "ncu"), "note"),
            "ncu is not on PATH at y");
  EXPECT_EQ(GetString(GetObject(out, "sanitizer"), "note"), "stopped after 60 s");
  EXPECT_TRUE(GetObject(out, "sanitizer").at("errors").is_null());
  EXPECT_THAT(verdict.feedback, HasSubstr("Sanitizer (racecheck): none: stopped after 60 s"));
  EXPECT_EQ(verdict.flags, plain.flags);
  EXPECT_EQ(verdict.speedup.value, plain.speedup.value);
}

TEST(ToJson, WhatASanitizerFindsChangesNoStatus) {
  Records records = test::CorrectRecords();
  records.sanitizer = test::SampleSanitizer();
  const Verdict verdict = Decide(records);
  EXPECT_TRUE(verdict.correct);
  EXPECT_THAT(verdict.feedback,
              HasSubstr("relu_kernel line 23: Invalid __global__ read of size 4 bytes; Access at "
                        "0x... is out of bounds (17 times)"));
  Records failed = test::IncorrectRecords();
  failed.sanitizer = test::SampleSanitizer();
  EXPECT_EQ(Decide(failed).status, VerdictStatus::kIncorrect);
  EXPECT_THAT(Decide(failed).feedback, HasSubstr("relu_kernel line 23"));
}

TEST(ToJson, AMissingProfileSaysWhy) {
  Records records = test::CorrectRecords();
  records.profile.emplace().reason = "cuptiSubscribe: \x1b[31mCUPTI_ERROR (39)\nnext line";
  records.ghost.emplace().reason = "it launched no kernel";
  const json::object out = ToJson(Decide(records), false);
  EXPECT_THAT(test::SchemaErrors(Schema(), out), IsEmpty());
  EXPECT_TRUE(GetObject(out, "profile").at("coverage_time").is_null());
  EXPECT_THAT(GetString(GetObject(out, "profile"), "note"), HasSubstr("CUPTI_ERROR (39)"));
  EXPECT_THAT(GetString(GetObject(out, "profile"), "note"), Not(HasSubstr("\n")));
  EXPECT_TRUE(GetObject(out, "ghost").at("still_right").is_null());
}

TEST(ToJson, GoldenFull) {
  Records records = test::CorrectRecords();
  records.timing.candidate.resize(1);
  records.timing.reference.resize(1);
  for (RoundClock* round : {&records.timing.candidate[0], &records.timing.reference[0]}) {
    round->calls = 2;
    round->outside_us = 300.123456789;
    round->overhead_us = 20.5;
    round->slack_us = 7.25;
    round->inside_us = {139.123456789, 140.5};
  }
  records.timing.candidate[0].inside_us = {kNaN, 1, 2};
  test::ExpectGolden("verdict/testdata/correct_full.json",
                     PrettyJson(ToJson(Decide(records), true)) + "\n");
}

TEST(ToJson, EverySampleMatchesTheSchemaAndItsOrder) {
  for (const auto& [name, records] : Samples())
    for (const bool full : {false, true})
      EXPECT_THAT(test::SchemaErrors(Schema(), ToJson(Decide(records), full)), IsEmpty()) << name;
}

TEST(ToJson, WhatWasAskedForMatchesTheSchema) {
  Records records = test::CorrectRecords();
  EXPECT_FALSE(ToJson(Decide(records), false).at("timing").get_object().contains("baselines"));
  records.precision = "tf32";
  records.correctness.other_shapes = false;
  records.timing.baseline = "compile";
  records.timing.baselines = {{"compile", records.timing.reference, ""},
                              {"eager-tf32", {}, "why \x1b[31m it failed"}};
  const json::object document = ToJson(Decide(records), true);
  EXPECT_THAT(test::SchemaErrors(Schema(), document), IsEmpty());
  const json::object& timing = document.at("timing").get_object();
  EXPECT_EQ(timing.at("baseline"), "compile");
  const json::object& baselines = timing.at("baselines").get_object();
  EXPECT_EQ(baselines.at("eager").at("us"), baselines.at("compile").at("us"));
  EXPECT_EQ(baselines.at("compile").at("speedup"), timing.at("speedup"));
  EXPECT_EQ(baselines.at("eager-tf32"), (json::object{{"unavailable", "why it failed"}}));
  EXPECT_EQ(document.at("precision"), "tf32");
  EXPECT_EQ(document.at("correctness").at("other_shapes"), false);
}

TEST(ToJson, EveryFailureMatchesTheSchema) {
  for (int kind = 0; kind <= static_cast<int>(FailureKind::kCancelled); ++kind)
    for (int stage = 0; stage <= static_cast<int>(Stage::kVerdict); ++stage) {
      const Records records = test::FailedRecords(static_cast<FailureKind>(kind),
                                                  static_cast<Stage>(stage), "name", "message");
      EXPECT_THAT(test::SchemaErrors(Schema(), ToJson(Decide(records), true)), IsEmpty());
    }
}

template <typename Enum>
std::vector<std::string> Names(Enum last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i)
    names.emplace_back(ToString(static_cast<Enum>(i)));
  return names;
}

TEST(Schema, ListsEveryEnumValue) {
  const auto listed = [](const json::object& holder, const char* key) {
    std::vector<std::string> names;
    for (const json::value& name : GetArray(GetObject(holder, key), "enum"))
      names.emplace_back(name.as_string());
    return names;
  };
  const json::object& properties = GetObject(Schema(), "properties");
  const json::object& defs = GetObject(Schema(), "$defs");
  EXPECT_EQ(listed(properties, "status"), Names(VerdictStatus::kCancelled));
  EXPECT_EQ(listed(properties, "fault"), Names(Fault::kInfrastructure));
  EXPECT_EQ(listed(defs, "stage"), Names(Stage::kVerdict));
  std::vector<std::string> kinds = Names(FailureKind::kCancelled);
  kinds.erase(kinds.begin());  // An error is never "none".
  EXPECT_EQ(listed(GetObject(GetObject(defs, "error"), "properties"), "kind"), kinds);
}

TEST(Schema, TheCheckItselfCatchesDrift) {
  const json::object good = ToJson(Decide(test::IncorrectRecords()), true);
  ASSERT_THAT(test::SchemaErrors(Schema(), good), IsEmpty());
  const auto drifted = [&](const std::function<void(json::object*)>& edit) {
    json::object document = good;
    edit(&document);
    return test::SchemaErrors(Schema(), document);
  };
  EXPECT_THAT(drifted([](json::object* d) { (*d)["extra"] = 1; }), Not(IsEmpty()));
  EXPECT_THAT(drifted([](json::object* d) { d->erase("feedback"); }), Not(IsEmpty()));
  EXPECT_THAT(drifted([](json::object* d) { (*d)["status"] = "fine"; }), Not(IsEmpty()));
  EXPECT_THAT(drifted([](json::object* d) { (*d)["lint"] = nullptr; }), Not(IsEmpty()));
  EXPECT_THAT(drifted([](json::object* d) {
                (*d)["correctness"].as_object()["first_bad"].as_object()["got"] = "0";
              }),
              Not(IsEmpty()));
  EXPECT_THAT(drifted([](json::object* d) {
                const json::value schema = d->at("schema");
                d->stable_erase("schema");
                (*d)["schema"] = schema;
              }),
              Not(IsEmpty()))
      << "the order of keys is part of the format";
}

/// Visits every number of a document.
void ForNumbers(const json::value& value, const std::function<void(double)>& visit) {
  if (value.is_double()) visit(value.get_double());
  if (value.is_array())
    for (const json::value& item : value.get_array()) ForNumbers(item, visit);
  if (value.is_object())
    for (const auto& member : value.get_object()) ForNumbers(member.value(), visit);
}

TEST(ToJson, NonFiniteNumbersAreNullAndTextParsesAgain) {
  Records records = test::IncorrectRecords();
  records.correctness.max_abs_err = kInf;
  records.correctness.max_rel_err = kNaN;
  records.correctness.first_bad->got = -kInf;
  records.correctness.first_bad->expected = kNaN;
  records.phases_ms = {{"lint", kNaN}};
  records.environment["clock"] = kInf;
  records.environment["nested"] = json::array{json::object{{"x", kNaN}}};
  records.timing.candidate = {
      {.calls = 2, .outside_us = kNaN, .overhead_us = kInf, .inside_us = {kNaN, -kInf, 3, 4, 5}}};
  const json::object document = ToJson(Decide(records), true);
  ForNumbers(document, [](double number) { EXPECT_TRUE(std::isfinite(number)); });
  const json::object& checks = GetObject(document, "correctness");
  EXPECT_TRUE(checks.at("max_abs_err").is_null());
  EXPECT_TRUE(GetObject(checks, "first_bad").at("got").is_null());
  const json::object& round = GetArray(GetObject(document, "raw"), "candidate")[0].as_object();
  EXPECT_EQ(GetInt(round, "inside_n"), 5);
  EXPECT_EQ(GetArray(round, "inside_us").size(), 2u);
  EXPECT_TRUE(ParseJsonObject(json::serialize(document)).ok());
  EXPECT_THAT(test::SchemaErrors(Schema(), document), IsEmpty());
}

TEST(ToJson, PairsOfProcessesAreShown) {
  Records records = test::CorrectRecords();
  const auto rounds = static_cast<int>(records.timing.candidate.size());
  EXPECT_FALSE(GetObject(ToJson(Decide(records), false), "timing").contains("pairs"));
  records.timing.pairs = {rounds / 2, rounds - rounds / 2};
  const Verdict verdict = Decide(records);
  EXPECT_EQ(verdict.status, VerdictStatus::kCorrect) << verdict.error.message;
  const json::object document = ToJson(verdict, false);
  const json::array& pairs = GetArray(GetObject(document, "timing"), "pairs");
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_THAT(test::SchemaErrors(Schema(), document), IsEmpty());
  EXPECT_THAT(ToText(verdict, false), HasSubstr("2.319x in 2 pairs of fresh processes"));
  for (const std::vector<int>& wrong : {std::vector{rounds, 1}, {rounds, 0}, {1, 1}}) {
    records.timing.pairs = wrong;
    EXPECT_EQ(Decide(records).status, VerdictStatus::kInfraError);
  }
}

TEST(ToJson, NumbersHaveSixDigitsOutsideRaw) {
  Records records = test::CorrectRecords();
  for (RoundClock& round : records.timing.candidate) round.inside_us.assign(64, 52.123456789);
  const Verdict verdict = Decide(records);
  ForNumbers(ToJson(verdict, false), [](double number) {
    EXPECT_EQ(std::strtod(fmt::format("{:.6g}", number).c_str(), nullptr), number);
  });
  EXPECT_THAT(json::serialize(ToJson(verdict, true)), HasSubstr("5.2123456789E1"));
}

TEST(ToJson, HostileTextIsCleanAndBounded) {
  std::string hostile = "\xff\xfe\x1b[31m/tmp/secret/x.py \xC3";
  for (int i = 0; i < 200'000; ++i) hostile += "é";
  Records records =
      test::FailedRecords(FailureKind::kException, Stage::kCheck, hostile, hostile, -7);
  records.id = records.task_id = records.task_sha256 = records.submission_sha256 = hostile;
  records.correctness.pattern = records.correctness.weights = hostile;
  records.timing.method = hostile;
  records.flags = {hostile};
  records.phases_ms = {{hostile, 1.0}};
  records.stdout_text = records.stderr_text = hostile;
  records.lint.findings = {
      {.rule = hostile, .severity = LintFinding::Severity::kFlag, .line = 1, .reason = hostile}};
  const json::object document = ToJson(Decide(records), true);
  const std::string text = json::serialize(document);
  EXPECT_LT(text.size(), 200'000u);
  EXPECT_TRUE(ParseJsonObject(text).ok()) << "invalid UTF-8 would be refused";
  EXPECT_EQ(json::serialize(GetObject(document, "error")).find("secret"), std::string::npos);
  EXPECT_THAT(test::SchemaErrors(Schema(), document), IsEmpty());
}

}  // namespace
}  // namespace assay
