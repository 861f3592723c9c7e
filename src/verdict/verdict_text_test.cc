#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/golden.h"
#include "base/strings.h"
#include "verdict/samples.h"
#include "verdict/verdict.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Records Annotated() {
  Records records = test::CorrectRecords();
  records.flags = {"library", "output_reused", "site_specific"};
  records.lint.findings = {{.rule = "S7.torch_op",
                            .severity = LintFinding::Severity::kFlag,
                            .line = 21,
                            .reason = "torch.matmul does the reference's work"}};
  return records;
}

TEST(ToText, Golden) {
  std::string all;
  for (const Records& records :
       {test::CorrectRecords(), Annotated(), test::IncorrectRecords(), test::CompileErrorRecords(),
        test::TimeoutRecords(), test::CheatRecords(), test::InfraRecords()})
    all += ToText(Decide(records), false) + "\n";
  test::ExpectGolden("verdict/testdata/text.txt", all);
}

TEST(ToText, ProfileGhostAndInstrument) {
  Records records = test::CorrectRecords();
  EXPECT_THAT(ToText(Decide(records), false), Not(HasSubstr("profile")));
  records.profile = test::SampleProfile();
  records.ghost = {.skipped = 2, .still_right = true, .reason = ""};
  records.timing.instrument = {{.known_us = 50, .claimed_us = 50.125}};
  const std::string text = ToText(Decide(records), false);
  EXPECT_THAT(text, HasSubstr("own kernels take 95.2 % of the device's 52.5 us a call"));
  EXPECT_THAT(text, HasSubstr("without its own kernels (2 launches) the output is still right"));
  EXPECT_THAT(text, HasSubstr("off by 0.13 us at most"));
  records.profile->profile.reset();
  records.profile->reason = "no libcupti\x1b[2J";
  EXPECT_THAT(ToText(Decide(records), false), HasSubstr("none: no libcupti"));
}

TEST(ToText, ColorChangesNothingButEscapes) {
  for (const Records& records : {Annotated(), test::IncorrectRecords(), test::InfraRecords()}) {
    const Verdict verdict = Decide(records);
    const std::string colored = ToText(verdict, true);
    EXPECT_THAT(colored, StartsWith("\x1b[1;3"));
    EXPECT_EQ(CleanText(colored), ToText(verdict, false));
    EXPECT_THAT(ToText(verdict, false), Not(HasSubstr("\x1b")));
  }
}

TEST(ToText, SaysWhichWayTheSpeedupGoes) {
  const auto headline = [](double factor) {
    Records records = test::CorrectRecords();
    for (size_t i = 0; i < records.timing.reference.size(); ++i) {
      records.timing.reference[i] = records.timing.candidate[i];
      const double noise = i % 2 == 0 ? 1.01 : 0.99;
      for (double& time : records.timing.reference[i].inside_us) time *= factor * noise;
      records.timing.reference[i].outside_us *= factor * noise;
    }
    return ToText(Decide(records), false);
  };
  EXPECT_THAT(headline(2), HasSubstr("faster than eager"));
  EXPECT_THAT(headline(0.5), HasSubstr("slower than eager"));
  EXPECT_THAT(headline(1), HasSubstr("as fast as eager, within error"));
}

TEST(ToText, UntimedIsNotCalledFast) {
  Records records = test::CorrectRecords();
  records.timing.meaningful = false;
  EXPECT_THAT(ToText(Decide(records), false), StartsWith("✓ correct  not timed: "));
}

TEST(ToText, HostileTextStaysInItsPlaceAndInEightyColumns) {
  std::string hostile = "boom\n✓ correct  99.00x [99, 99] faster than eager\n\x1b[2J\ttab ";
  hostile += std::string(300, 'w') + " ";
  for (int i = 0; i < 200; ++i) hostile += "é";
  Records records =
      test::FailedRecords(FailureKind::kException, Stage::kCheck, hostile, hostile, 3);
  records.id = records.task_id = records.task_sha256 = hostile;
  records.correctness = test::IncorrectRecords().correctness;
  records.correctness.pattern = records.correctness.reference = hostile;
  records.correctness.first_bad->index.assign(64, 1'000'000'007);
  records.flags = {hostile};
  records.phases_ms = {{hostile, 1.0}};
  records.environment[hostile] = hostile;
  records.lint.findings.assign(
      50,
      {.rule = hostile, .severity = LintFinding::Severity::kFlag, .line = 1, .reason = hostile});
  const std::string text = ToText(Decide(records), false);
  EXPECT_THAT(text, StartsWith("✗ runtime_error: exception in stage check"));
  EXPECT_THAT(text, Not(HasSubstr("\n✓")));
  EXPECT_THAT(text, HasSubstr("  | ✓ correct  99.00x"));
  for (const std::string_view line : Split(text, '\n')) {
    size_t columns = 0;
    for (const char c : line)
      if ((static_cast<unsigned char>(c) & 0xC0u) != 0x80u) ++columns;
    EXPECT_LE(columns, 80u) << line;
    EXPECT_EQ(line.find('\t'), std::string_view::npos);
  }
}

}  // namespace
}  // namespace assay
