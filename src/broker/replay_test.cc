#include "broker/replay.h"

#include "broker/broker_testing.h"
#include "broker/export.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

json::object Correct(double low, double high) {
  return {{"schema", "assay.verdict/1"},
          {"id", "x"},
          {"submission_sha256", "a"},
          {"task_sha256", "b"},
          {"status", "correct"},
          {"fault", "none"},
          {"correct", true},
          {"error", nullptr},
          {"correctness", {{"trials", 5}, {"passed", 5}, {"max_abs_err", 1e-6}}},
          {"timing",
           {{"candidate_us", {{"median", 10.0}}},
            {"reference_us", {{"median", 20.0}}},
            {"speedup", {{"value", (low + high) / 2}, {"low", low}, {"high", high}}}}},
          {"flags", {"S7.library"}},
          {"feedback", "Correct."},
          {"raw", {{"candidate", {1, 2}}}}};
}

std::vector<std::string> Members(const std::vector<Difference>& differences, bool decisive) {
  std::vector<std::string> members;
  for (const Difference& difference : differences)
    if (difference.decisive == decisive) members.push_back(difference.member);
  return members;
}

TEST(CompareVerdicts, TheSameIsTheSameWhateverItsIdAndPhases) {
  json::object again = Correct(1.9, 2.1);
  again["id"] = "y";
  again["phases_ms"] = json::object{{"load", 5}};
  EXPECT_THAT(CompareVerdicts(Correct(1.9, 2.1), again), IsEmpty());
}

TEST(CompareVerdicts, IntervalsThatMeetAgree) {
  EXPECT_THAT(CompareVerdicts(Correct(1.9, 2.1), Correct(2.05, 2.3)), IsEmpty());
  const auto differences = CompareVerdicts(Correct(1.9, 2.1), Correct(2.11, 2.3));
  EXPECT_THAT(Members(differences, false), ElementsAre("timing.speedup"));
  EXPECT_THAT(Members(differences, true), IsEmpty());
}

TEST(CompareVerdicts, AnotherDecisionIsDecisive) {
  json::object again = Correct(1.9, 2.1);
  again["status"] = "incorrect";
  again["fault"] = "candidate";
  again["error"] = json::object{{"kind", "mismatch"}, {"name", "values"}};
  again["correctness"].get_object()["passed"] = 4;
  again["timing"].get_object()["speedup"] = nullptr;
  const auto differences = CompareVerdicts(Correct(1.9, 2.1), again);
  EXPECT_THAT(Members(differences, true),
              ElementsAre("status", "fault", "error.kind", "error.name", "correctness.passed"));
  EXPECT_THAT(Members(differences, false), ElementsAre("timing.speedup"));
}

TEST(CompareVerdicts, ATaskThatChangedIsToldAndSeedsMayDiffer) {
  json::object again = Correct(1.9, 2.1);
  again["task_sha256"] = "c";
  again["correctness"].get_object()["max_abs_err"] = 2e-6;
  const auto differences = CompareVerdicts(Correct(1.9, 2.1), again);
  EXPECT_THAT(Members(differences, true), ElementsAre("task_sha256"));
  EXPECT_THAT(Members(differences, false), ElementsAre("correctness.max_abs_err"));
}

TEST(ExportRow, EveryRowHasTheSameKeys) {
  Job done;
  done.request = test::Request();
  done.state = JobState::kDone;
  done.finished_at = 5;
  done.verdict = Correct(1.9, 2.1);
  Job queued;
  queued.request = test::Request();
  queued.request.Edit()->task_source = "class Model: pass";
  const json::object full = ExportRow(done, /*raw=*/false);
  const json::object bare = ExportRow(queued, /*raw=*/false);
  ASSERT_EQ(full.size(), bare.size());
  for (auto a = full.begin(), b = bare.begin(); a != full.end(); ++a, ++b)
    EXPECT_EQ(a->key(), b->key());
  EXPECT_EQ(full.at("speedup"), 2.0);
  EXPECT_EQ(full.at("candidate_us"), 10.0);
  EXPECT_EQ(full.at("correct"), true);
  EXPECT_TRUE(full.at("task_source").is_null());
  EXPECT_TRUE(bare.at("status").is_null());
  EXPECT_TRUE(bare.at("verdict").is_null());
  const auto verdict = [&](bool raw) {
    return *ParseJsonObject(GetString(ExportRow(done, raw), "verdict"));
  };
  EXPECT_FALSE(verdict(false).contains("raw"));
  EXPECT_TRUE(verdict(true).contains("raw"));
}

}  // namespace
}  // namespace assay
