#include "roofline/bounds_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "roofline/bound.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// A line of `assay roofline --json`.
std::string Line(const std::string& task, const std::string& sha256, const std::string& card,
                 double us, const std::string& device = "cuda") {
  json::object row = ToJson(RooflineReport{.bound_us = us, .limiter = "memory", .source = "table"});
  row["task_id"] = task;
  row["task_sha256"] = sha256;
  row["card"] = card;
  row["device"] = device;
  return json::serialize(row) + "\n";
}

json::object Verdict(const std::string& task, const std::string& sha256, const json::value& gpu) {
  return {{"task_id", task}, {"task_sha256", sha256}, {"environment", {{"gpu", gpu}}}};
}

class BoundsFileTest : public testing::Test {
 protected:
  Result<BoundsFile> Load(const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(path_, text).ok());
    return BoundsFile::Load(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "/bounds-" + std::to_string(::getpid());
};

TEST_F(BoundsFileTest, FindsTheTaskItsSourceAndItsCard) {
  const Result<BoundsFile> file =
      Load(Line("assay/relu", "1", "H200", 40) + Line("assay/relu", "1", "H100 SXM", 60) + "\n" +
           Line("assay/relu", "1", "Some Processor, 2 threads", 900, "cpu") +
           Line("assay/relu", "2", "Unheard-of Card", 7));
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto us = [&](const json::object& verdict) {
    const RooflineReport* found = file->Find(verdict);
    return found == nullptr ? 0 : found->bound_us;
  };
  EXPECT_EQ(us(Verdict("assay/relu", "1", "NVIDIA H200")), 40);
  EXPECT_EQ(us(Verdict("assay/relu", "1", "NVIDIA H100 80GB HBM3")), 60);
  EXPECT_EQ(us(Verdict("assay/relu", "1", nullptr)), 900);
  EXPECT_EQ(us(Verdict("assay/relu", "2", "Unheard-of Card")), 7);
  EXPECT_EQ(us(Verdict("assay/relu", "2", "NVIDIA H200")), 0) << "another card's";
  EXPECT_EQ(us(Verdict("assay/relu", "3", "NVIDIA H200")), 0) << "another source's";
  EXPECT_EQ(us(Verdict("assay/gelu", "1", "NVIDIA H200")), 0);
  EXPECT_EQ(us({}), 0);
}

TEST_F(BoundsFileTest, TakesWhatTheExplanationWrites) {
  Work work;
  work.read_bytes = work.write_bytes = 1e8;
  const Result<Card> card = FindCard("H200");
  ASSERT_TRUE(card.ok());
  const Bound bound = ComputeBound(work, *card, nullptr, nullptr);
  json::object row{{"task_id", "assay/relu"}, {"task_sha256", "1"}};
  for (const auto& [key, value] : ExplainJson(work, bound)) row[key] = value;
  const Result<BoundsFile> file = Load(json::serialize(row));
  ASSERT_TRUE(file.ok()) << file.error().message;
  const RooflineReport* found = file->Find(Verdict("assay/relu", "1", "NVIDIA H200"));
  ASSERT_NE(found, nullptr);
  EXPECT_NEAR(found->bound_us, bound.bound_us, 1e-3);
}

TEST_F(BoundsFileTest, NamesTheLineThatIsNoBound) {
  const std::string good = Line("assay/relu", "1", "H200", 40);
  const std::pair<std::string, std::string> wrong[] = {
      {"{", "line 2"},
      {R"({"task_id":"a"})", "bound_us"},
      {Line("", "1", "H200", 40), "names no task_id"},
      {Line("assay/gelu", "1", "H200", -1), "bound_us"},
      {good, "second bound"}};
  for (const auto& [line, words] : wrong) {
    const Result<BoundsFile> file = Load(good + line);
    ASSERT_FALSE(file.ok()) << line;
    EXPECT_EQ(file.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(file.error().message, HasSubstr(words));
    EXPECT_THAT(file.error().message, HasSubstr("line 2"));
  }
  EXPECT_FALSE(BoundsFile::Load(path_ + "-none").ok());
}

}  // namespace
}  // namespace assay
