// Batches, and a disk that takes its time, on fakes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernelgym/fakes.h"

namespace assay::kernelgym {
namespace {

using test::EvaluationBody;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace samples = assay::test;

json::object Verdict(const Records& records) { return ToJson(Decide(records), true); }

class BatchTest : public test::ProtocolTest {};

json::object BatchOf(int count) {
  json::array tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(EvaluationBody(fmt::format("b{}", i)));
  return {{"batch_id", "B"}, {"tasks", std::move(tasks)}};
}

TEST_F(BatchTest, BatchRunsSideBySide) {
  const Pending answer = Start("POST", "/evaluate/batch", BatchOf(3));
  EXPECT_EQ(jobs.order.size(), 3u);
  jobs.Finish("job-3", Correct());
  jobs.Finish("job-1", Verdict(samples::CompileErrorRecords()));
  EXPECT_FALSE(answer->has_value());
  jobs.Finish("job-2", Verdict(samples::InfraRecords()));
  ASSERT_TRUE(answer->has_value());
  const json::object body = Body(**answer);
  EXPECT_EQ((*answer)->status, 200);
  EXPECT_EQ(GetString(body, "batch_id"), "B");
  EXPECT_EQ(GetInt(body, "total_tasks"), 3);
  EXPECT_EQ(GetInt(body, "completed_tasks"), 1);
  EXPECT_EQ(GetInt(body, "failed_tasks"), 2);
  EXPECT_EQ(GetString(body, "batch_status"), "completed");
  const json::array& results = GetArray(body, "results");
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(GetString(results[0].as_object(), "error_code"), "COMPILATION_ERROR");
  EXPECT_EQ(GetString(results[1].as_object(), "error_origin"), "infrastructure");
  EXPECT_TRUE(results[1].as_object().at("speedup").is_null());
  EXPECT_EQ(GetString(results[2].as_object(), "status"), "completed");
}

TEST_F(BatchTest, BatchFeedsItselfThroughASmallQueue) {
  jobs.capacity = 2;
  const Pending answer = Start("POST", "/evaluate/batch", BatchOf(5));
  EXPECT_EQ(jobs.order.size(), 2u);
  for (int i = 0; i < 5; ++i) {
    ASSERT_GT(jobs.order.size(), static_cast<size_t>(i));
    jobs.Finish(jobs.order[static_cast<size_t>(i)], Correct());
  }
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(GetInt(Body(**answer), "completed_tasks"), 5);
}

TEST_F(BatchTest, BatchWaitsWhereOthersFillTheQueue) {
  const Pending other = Start("POST", "/evaluate", EvaluationBody("other"));
  jobs.capacity = 2;
  const Pending answer = Start("POST", "/evaluate/batch", BatchOf(2));
  jobs.capacity = 1;  // its first task is in, and nothing else fits even when that has ended
  jobs.Finish("job-2", Correct());
  EXPECT_EQ(jobs.order.size(), 2u);
  jobs.Finish("job-1", Correct());
  timers.Advance(3);
  ASSERT_EQ(jobs.order.size(), 3u);
  jobs.Finish("job-3", Correct());
  EXPECT_TRUE(answer->has_value());
}

TEST_F(BatchTest, BatchThatEndsAtOnce) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  json::object body = BatchOf(100);
  body.at("tasks").as_array()[4].as_object()["workflow"] = "nonesuch";
  body.at("tasks").as_array()[5].as_object()["entry_point"] = "Net";
  const json::object answer = Body(Post("/evaluate/batch", body));
  EXPECT_EQ(GetInt(answer, "completed_tasks"), 98);
  const json::array& results = GetArray(answer, "results");
  EXPECT_THAT(GetString(results[4].as_object(), "error_message"),
              StartsWith("400: 'Registry missing workflow"));
  EXPECT_THAT(GetString(results[5].as_object(), "error_message"), HasSubstr("'Net' class"));
}

TEST_F(BatchTest, BatchItemsThatCouldNotBeStoredHaveNoNumbers) {
  jobs.refuse = {ErrorCode::kIo, "the disk is full"};
  const json::object answer = Body(Post("/evaluate/batch", BatchOf(2)));
  EXPECT_EQ(GetInt(answer, "failed_tasks"), 2);
  const json::object& item = GetArray(answer, "results")[1].as_object();
  EXPECT_EQ(GetString(item, "error_origin"), "infrastructure");
  EXPECT_TRUE(item.at("correctness").is_null());
  EXPECT_TRUE(item.at("speedup").is_null());
}

TEST_F(BatchTest, ADrainAnswersABatchThatCannotEnd) {
  const Pending waiting = Start("POST", "/evaluate/batch", BatchOf(2));
  jobs.capacity = 2;
  json::object none_fits = BatchOf(3);
  none_fits.at("tasks").as_array()[2].as_object()["task_id"] = "c2";
  const Pending sleeping = Start("POST", "/evaluate/batch", none_fits);  // two are the same tasks
  jobs.Start("job-1", "check");
  jobs.Drain();
  for (const Pending& answer : {waiting, sleeping}) {
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ((*answer)->status, 503);
    EXPECT_THAT((*answer)->body, HasSubstr("what was accepted is kept"));
    EXPECT_TRUE((*answer)->headers.Find("Retry-After").has_value());
  }
  jobs.Finish("job-1", Correct());
}

TEST_F(BatchTest, ABatchThatSleepsSeesThatTheServerStops) {
  const Pending other = Start("POST", "/evaluate", EvaluationBody("other"));
  jobs.capacity = 2;
  const Pending answer = Start("POST", "/evaluate/batch", BatchOf(2));
  jobs.capacity = 1;
  jobs.Finish("job-2", Correct());
  EXPECT_FALSE(answer->has_value());
  jobs.Drain();
  timers.Advance(2);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->status, 503);
}

TEST_F(BatchTest, BatchThatTakesTooLongCanBeSentAgain) {
  const Pending answer = Start("POST", "/evaluate/batch", BatchOf(2));
  jobs.Finish("job-1", Correct());
  timers.Advance(1701);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->status, 503);
  const Pending again = Start("POST", "/evaluate/batch", BatchOf(2));
  jobs.Finish("job-2", Correct());
  ASSERT_TRUE(again->has_value());
  EXPECT_EQ(jobs.order.size(), 2u);
}

/// What is to be written waits until the test lets it.
class SlowDiskTest : public test::ProtocolTest {
 protected:
  SlowDiskTest() {
    jobs.later = [this](std::function<void()> action) { writes.push_back(std::move(action)); };
    documents.later = jobs.later;
  }
  /// Lets everything be written, also what comes of it.
  void Flush() {
    while (!writes.empty()) {
      const std::function<void()> action = std::move(writes.front());
      writes.erase(writes.begin());
      action();
    }
  }
  std::vector<std::function<void()>> writes;
};

TEST_F(SlowDiskTest, TheServingThreadDoesNotWaitForIt) {
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  ASSERT_EQ(writes.size(), 1u);  // the job; nobody waits here
  Flush();
  ASSERT_EQ(jobs.order.size(), 1u);
  EXPECT_EQ(Call("GET", "/status/t-1").status, 200);
  jobs.Finish("job-1", Correct());
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->status, 200);
}

TEST_F(SlowDiskTest, ABatchGoesOnAsItIsWritten) {
  const Pending answer = Start("POST", "/evaluate/batch", BatchOf(3));
  EXPECT_EQ(writes.size(), 1u);
  Flush();
  ASSERT_EQ(jobs.order.size(), 3u);
  for (const std::string id : {"job-2", "job-1", "job-3"}) jobs.Finish(id, Correct());
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(GetInt(Body(**answer), "completed_tasks"), 3);
}

TEST_F(SlowDiskTest, ATaskThatEndsWhileABatchIsWrittenIsCounted) {
  const Pending answer = Start("POST", "/evaluate/batch", BatchOf(2));
  while (jobs.order.size() < 2) {  // the first is in, the second on its way
    const std::function<void()> action = std::move(writes.front());
    writes.erase(writes.begin());
    action();
    if (jobs.order.size() == 1) jobs.Finish("job-1", Correct());
  }
  Flush();
  jobs.Finish("job-2", Correct());
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(GetInt(Body(**answer), "completed_tasks"), 2);
}

TEST_F(SlowDiskTest, ARecordThatIsNotWrittenIs503) {
  documents.broken = true;
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  Flush();
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->status, 503);
  EXPECT_THAT((*answer)->body, HasSubstr("could not be stored"));
}

TEST_F(SlowDiskTest, TheServiceMayEndWhileItWrites) {
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  const Pending batch = Start("POST", "/evaluate/batch", BatchOf(2));
  router = http::Router();
  Flush();
  EXPECT_GE(jobs.order.size(), 1u);  // what was on its way is kept
}

}  // namespace
}  // namespace assay::kernelgym
