// The small parts: waits, workers, statistics, the machine, times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernelgym/fakes.h"
#include "kernelgym/shapes.h"
#include "kernelgym/statistics.h"
#include "kernelgym/waits.h"
#include "kernelgym/workers.h"

namespace assay::kernelgym {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(TimestampTest, IsUtcWithMicroseconds) {
  EXPECT_EQ(Timestamp(1'700'000'000.25), json::value("2023-11-14T22:13:20.250000Z"));
  EXPECT_TRUE(Timestamp(0).is_null());
}

class WaitsTest : public ::testing::Test {
 protected:
  std::string Submit() {
    JobRequest request;
    request.idempotency = std::to_string(jobs.submissions);
    return jobs.Submit(std::move(request))->request->id;
  }
  test::FakeJobs jobs;
  test::FakeTimers timers;
  Waits waits{&jobs, &timers};
  int called = 0;
  bool with_job = false;
  std::function<void(const Job*)> done = [this](const Job* job) {
    ++called;
    with_job = job != nullptr;
  };
};

TEST_F(WaitsTest, CallsWhenTheJobEnds) {
  const std::string id = Submit();
  waits.Await(id, Seconds(10), done);
  EXPECT_EQ(called, 0);
  EXPECT_EQ(waits.pending(), 1u);
  jobs.Finish(id, {});
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(with_job);
  EXPECT_EQ(waits.pending(), 0u);
  timers.Advance(100);
  EXPECT_EQ(called, 1);
}

TEST_F(WaitsTest, CallsAtOnceForWhatIsDoneOrUnknown) {
  const std::string id = Submit();
  jobs.Finish(id, {});
  waits.Await(id, Seconds(10), done);
  EXPECT_EQ(called, 1);
  EXPECT_TRUE(with_job);
  waits.Await("nothing", Seconds(10), done);
  EXPECT_EQ(called, 2);
  EXPECT_FALSE(with_job);
  EXPECT_EQ(waits.pending(), 0u);
}

TEST_F(WaitsTest, TheDeadlineCallsOnceWithoutAJob) {
  const std::string id = Submit();
  waits.Await(id, Seconds(10), done);
  timers.Advance(9);
  EXPECT_EQ(called, 0);
  timers.Advance(2);
  EXPECT_EQ(called, 1);
  EXPECT_FALSE(with_job);
  jobs.Finish(id, {});
  EXPECT_EQ(called, 1);
}

TEST_F(WaitsTest, WhatIsPendingIsDroppedAtTheEnd) {
  const std::string id = Submit();
  {
    Waits inner(&jobs, &timers);
    inner.Await(id, Seconds(10), done);
  }
  jobs.Finish(id, {});
  timers.Advance(100);
  EXPECT_EQ(called, 0);
}

WorkerInfo Worker(const std::string& id, const std::string& device = "",
                  const std::string& node = "") {
  WorkerInfo worker;
  worker.id = id;
  worker.device = device;
  worker.node_id = node;
  return worker;
}

TEST(WorkerBookTest, HeartbeatsKeepAWorkerOnline) {
  test::FakeDocuments documents;
  WorkerBook book(&documents);
  book.Register(Worker("w", "cuda:0", "n"), 100);
  EXPECT_TRUE(book.List(129).front().online);
  EXPECT_FALSE(book.List(131).front().online);
  EXPECT_TRUE(book.Heartbeat(Worker("w"), 140).ok());
  EXPECT_TRUE(book.List(150).front().online);
  book.Evict("w");
  EXPECT_FALSE(book.List(150).front().online);
  EXPECT_THAT(book.List(300), IsEmpty());
}

TEST(WorkerBookTest, HeartbeatConflicts) {
  test::FakeDocuments documents;
  WorkerBook book(&documents);
  EXPECT_FALSE(book.Heartbeat(Worker("w"), 100).ok()) << "unknown and without a device";
  EXPECT_TRUE(book.Heartbeat(Worker("w", "cuda:0", "n"), 100).ok());
  EXPECT_FALSE(book.Heartbeat(Worker("w", "cuda:1", "n"), 100).ok());
  EXPECT_FALSE(book.Heartbeat(Worker("v", "cuda:0", "n"), 100).ok());
  EXPECT_TRUE(book.Heartbeat(Worker("v", "cuda:0", "m"), 100).ok());
}

TEST(WorkerBookTest, NodeNames) {
  test::FakeDocuments documents;
  WorkerBook book(&documents);
  EXPECT_EQ(*book.AllocateNode("a", ""), "node-1");
  EXPECT_EQ(*book.AllocateNode("a", ""), "node-1");
  EXPECT_EQ(*book.AllocateNode("b", "node-2"), "node-2");
  EXPECT_EQ(*book.AllocateNode("c", ""), "node-3") << "a minted name never meets a chosen one";
  EXPECT_EQ(book.AllocateNode("d", "node-2").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(*book.AllocateNode("b", "node-2"), "node-2");
  documents.broken = true;
  EXPECT_EQ(book.AllocateNode("e", "").error().code, ErrorCode::kIo);
}

Job Crashed(const std::string& hash) {
  Job job;
  static int count = 0;
  job.request.Edit()->id = fmt::format("job-{}", ++count);
  job.started_at = 10;
  job.finished_at = 12;
  job.verdict = {{"submission_sha256", hash}, {"error", {{"kind", "crash"}}}};
  return job;
}

TEST(StatisticsTest, CountsAndForgets) {
  Statistics statistics;
  Outcome outcome;
  outcome.status = "failed";
  outcome.error_code = kCompilationError;
  const Job first = Crashed("aa");
  statistics.Count(first, outcome, 1000);
  statistics.Count(first, outcome, 1000);  // two requests waited for it
  statistics.Count(Crashed("aa"), outcome, 1001);
  statistics.Count(Crashed("bb"), outcome, 1002);
  outcome.status = "completed";
  outcome.error_code.clear();
  statistics.Count(Job{}, outcome, 1003);
  const Statistics::Totals totals = statistics.Get(1004);
  EXPECT_EQ(totals.finished, 4u);
  EXPECT_EQ(totals.completed, 1u);
  EXPECT_EQ(totals.compilation_errors, 3u);
  EXPECT_EQ(totals.judging_s, 6);
  EXPECT_EQ(totals.last_hour, 4u);
  EXPECT_EQ(statistics.Get(1000 + 3602).last_hour, 2u);
  EXPECT_THAT(statistics.Problematic(1, 1004), ElementsAre(Pair("aa", 2), Pair("bb", 1)));
  EXPECT_THAT(statistics.Problematic(2, 1004), ElementsAre(Pair("aa", 2)));
  statistics.ForgetProblems("aa");
  EXPECT_THAT(statistics.Problematic(1, 1004), ElementsAre(Pair("bb", 1)));
  EXPECT_THAT(statistics.Problematic(1, 1004 + 86'400), IsEmpty());
}

TEST(MachineTest, ReadsProc) {
  uint64_t busy = 0;
  uint64_t total = 0;
  EXPECT_TRUE(ParseCpuTicks("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1\n", &busy, &total));
  EXPECT_EQ(busy, 150u);
  EXPECT_EQ(total, 1000u);
  EXPECT_FALSE(ParseCpuTicks("intr 5", &busy, &total));
  EXPECT_FALSE(ParseCpuTicks("", &busy, &total));
  MachineState state;
  ParseMemory("MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable:    1024 kB\n", &state);
  EXPECT_EQ(state.memory_total_bytes, 2u << 20);
  EXPECT_EQ(state.memory_available_bytes, 1u << 20);
}

TEST(MachineTest, TheMonitorSeesThisMachine) {
  const MachineMonitor monitor;
  const MachineState state = monitor.Latest();
  EXPECT_GT(state.memory_total_bytes, 64u << 20);
  EXPECT_GE(state.cpu_percent, 0);
  EXPECT_LE(state.cpu_percent, 100);
  EXPECT_EQ(state.gpus.empty(), !state.gpu_error.empty());
}

}  // namespace
}  // namespace assay::kernelgym
