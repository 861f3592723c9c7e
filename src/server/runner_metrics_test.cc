#include "server/runner_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/gpu_metrics.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

/// What a scrape of these samples reads.
std::string Scraped(const std::vector<MetricSample>& samples) {
  MetricRegistry registry;
  const std::shared_ptr<void> collector = registry.AddCollector([&] { return samples; });
  return registry.ToPrometheus();
}

TEST(RunnerMetricsTest, ReadyWhileOneIsFit) {
  RunnerPool::WorkerState good;
  good.name = "cuda:0";
  good.judged = 3;
  good.details = {{"warm", 2}};
  RunnerPool::WorkerState bad;
  bad.name = "cuda:1";
  bad.failed = 4;
  bad.fit = false;
  bad.last_error = "no kernel runs on it";
  EXPECT_EQ(NoneFit({bad, good}), "");
  EXPECT_EQ(NoneFit({}), "");
  EXPECT_THAT(NoneFit({bad}), HasSubstr("cuda:1: no kernel runs"));
  const std::string text = Scraped(RunnerSamples({good, bad}));
  for (const char* line :
       {"assay_runner_fit{runner=\"cuda:0\"} 1", "assay_runner_fit{runner=\"cuda:1\"} 0",
        "assay_runner_faults_total{runner=\"cuda:1\"} 4",
        "assay_runner_warm_candidates{runner=\"cuda:0\"} 2"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(GpuWatchTest, GaugesOfWhatTheDriverTells) {
  GpuInfo gpu;
  gpu.name = "Some GPU";
  gpu.uuid = "GPU-1";
  gpu.memory_total_bytes = 100;
  gpu.state.power_milliwatts = 1500;
  const GpuWatch watch([&] { return std::vector<GpuInfo>{gpu}; });
  ASSERT_EQ(watch.Gpus().size(), 1u);
  EXPECT_TRUE(watch.FiguresOf("GPU-2").empty());
  const std::string text = Scraped(GpuSamples(watch.FiguresOf("GPU-1"), ""));
  EXPECT_THAT(text, HasSubstr("assay_gpu_memory_total_bytes{gpu=\"0\",name=\"Some GPU\"} 100"));
  EXPECT_THAT(text, HasSubstr("assay_gpu_power_watts{gpu=\"0\",name=\"Some GPU\"} 1.5"));
  EXPECT_THAT(text, Not(HasSubstr("temperature")));
  const GpuWatch none(
      []() -> Result<std::vector<GpuInfo>> { return Err(ErrorCode::kUnavailable, "no driver"); });
  EXPECT_TRUE(none.Gpus().empty());
}

TEST(RunnerMetricsTest, RunnersElsewhereWithTheirGpus) {
  LeaseDesk::WorkerState old;
  old.worker.name = "gpu-7/cuda:0";
  old.judged = 9;
  old.silent_s = 30;
  LeaseDesk::WorkerState now = old;
  now.judged = 2;
  now.silent_s = 1;
  now.working_on = {"a", "b"};
  now.worker.details = {{"warm", 3},
                        {"gpu", {{"gpu", 1}, {"name", "Some\nGPU"}, {"power_watts", 70.5}}}};
  LeaseDesk::WorkerState liar;
  liar.worker.name = "gpu-8/cuda:0";
  liar.worker.details = {{"warm", "x"},
                         {"gpu", {{"name", 7}, {"power_watts", "much"}, {"memory_used_bytes", 5}}}};
  const std::string text = Scraped(RemoteSamples({old, now, liar}));
  for (const char* line :
       {"assay_runner_judged_total{runner=\"gpu-7/cuda:0\"} 2",
        "assay_runner_jobs{runner=\"gpu-7/cuda:0\"} 2",
        "assay_runner_silent_seconds{runner=\"gpu-7/cuda:0\"} 1",
        "assay_runner_warm_candidates{runner=\"gpu-7/cuda:0\"} 3", "runner=\"gpu-7/cuda:0\"} 70.5",
        "assay_gpu_memory_used_bytes{gpu=\"0\",name=\"\",runner=\"gpu-8/cuda:0\"} 5"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("Some\nGPU")));
  EXPECT_THAT(text, Not(HasSubstr("assay_gpu_power_watts{gpu=\"0\"")));
}

}  // namespace
}  // namespace assay
