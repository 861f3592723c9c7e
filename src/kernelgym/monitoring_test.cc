// Health, metrics, queue, workers and nodes, on fakes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernelgym/fakes.h"

namespace assay::kernelgym {
namespace {

using test::EvaluationBody;
using ::testing::HasSubstr;
namespace samples = assay::test;

json::object Verdict(const Records& records) { return ToJson(Decide(records), true); }

class MonitoringTest : public test::ProtocolTest {};

TEST_F(MonitoringTest, Root) {
  const json::object body = Body(Call("GET", "/"));
  EXPECT_EQ(GetString(body, "name"), "KernelGym");
  EXPECT_EQ(GetString(body, "version"), "1.0.0");
}

TEST_F(MonitoringTest, HealthTellsTheTruth) {
  machine.memory_total_bytes = 64ull << 30;
  machine.memory_available_bytes = 16ull << 30;
  machine.cpu_percent = 12.5;
  machine.gpus = {{"cuda:0", "NVIDIA H200", 144ull << 30, 36ull << 30}};
  const Pending running = Start("POST", "/evaluate", EvaluationBody("a"));
  const Pending queued = Start("POST", "/evaluate", EvaluationBody("b"));
  const Pending finished = Start("POST", "/evaluate", EvaluationBody("c"));
  jobs.Start("job-1", "check");
  jobs.Finish("job-3", Correct());
  timers.Advance(60);
  const json::object body = Body(Call("GET", "/health"));
  EXPECT_EQ(GetString(body, "status"), "healthy");
  EXPECT_EQ(json::serialize(GetObject(GetObject(body, "gpu_status"), "cuda:0")),
            R"({"name":"NVIDIA H200","memory_total":"144.0GB","memory_allocated":"36.0GB",)"
            R"("memory_reserved":"36.0GB","memory_used_percent":"25.0%","available":true})");
  EXPECT_EQ(json::serialize(GetObject(body, "queue_status")),
            R"({"pending":1,"processing":1,"completed":1})");
  EXPECT_EQ(GetDouble(GetObject(body, "memory_usage"), "memory_percent"), 75);
  EXPECT_EQ(GetInt(body, "active_tasks"), 1);
  EXPECT_EQ(GetInt(body, "total_processed"), 1);
  EXPECT_EQ(GetDouble(body, "uptime"), 60);
  workers[0].online = false;
  EXPECT_EQ(GetString(Body(Call("GET", "/health")), "status"), "unhealthy");
}

TEST_F(MonitoringTest, HealthWithoutAGpuHasObjectsToo) {
  machine.gpu_error = "NVML cannot be opened";
  const json::object health = Body(Call("GET", "/health"));
  EXPECT_EQ(GetObject(health, "gpu_status").size(), 1u);
  for (const auto& [name, value] : GetObject(health, "gpu_status"))
    EXPECT_TRUE(value.is_object()) << std::string_view(name);
}

TEST_F(MonitoringTest, MetricsCount) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  Post("/evaluate", EvaluationBody("a"));
  jobs.judge = [](const JobRequest&) { return Verdict(samples::CompileErrorRecords()); };
  Post("/evaluate", EvaluationBody("b"));
  const json::object body = Body(Call("GET", "/metrics"));
  EXPECT_EQ(GetDouble(GetObject(body, "performance_metrics"), "avg_processing_time"), 2.5);
  EXPECT_EQ(GetDouble(GetObject(body, "performance_metrics"), "success_rate"), 0.5);
  EXPECT_EQ(GetInt(GetObject(body, "performance_metrics"), "throughput_per_hour"), 2);
  EXPECT_EQ(GetInt(GetObject(body, "error_metrics"), "compilation_errors"), 1);
  EXPECT_EQ(GetInt(GetObject(body, "queue_metrics"), "completed_tasks"), 2);
}

TEST_F(MonitoringTest, QueueStatus) {
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  EXPECT_EQ(json::serialize(Body(Call("GET", "/queue/status"))),
            R"({"pending":1,"pending_by_prefix":{"kernelgym":1},"worker_queues":{"local-0":0}})");
}

TEST_F(MonitoringTest, WorkerRoutes) {
  http::Response response = Call("POST", "/worker/register?worker_id=w1");
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(GetString(Body(response), "message"), HasSubstr("('query', 'device')"));
  response = Call("POST", "/worker/register?worker_id=w1&device=cuda:1&node_id=n&hostname=h");
  EXPECT_EQ(json::serialize(Body(response)),
            R"({"success":true,"message":"Worker w1 registered","node_id":"n"})");
  json::object all = Body(Call("GET", "/workers/status"));
  EXPECT_EQ(GetString(GetObject(all, "w1"), "status"), "online");
  EXPECT_FALSE(GetBool(GetObject(all, "w1"), "serves_tasks", true));
  EXPECT_EQ(GetString(GetObject(all, "local-0"), "device"), "cuda:0");
  timers.Advance(31);
  EXPECT_EQ(GetString(GetObject(Body(Call("GET", "/workers/status")), "w1"), "status"), "offline");
  EXPECT_EQ(Call("POST", "/worker/heartbeat?worker_id=w1").status, 200);
  EXPECT_EQ(GetString(GetObject(Body(Call("GET", "/workers/status")), "w1"), "status"), "online");
  EXPECT_EQ(Call("POST", "/worker/heartbeat?worker_id=w1&device=cuda:9").status, 409);
  EXPECT_EQ(Call("POST", "/worker/heartbeat?worker_id=w2").status, 409);
  EXPECT_EQ(Call("POST", "/worker/heartbeat").status, 400);
  EXPECT_EQ(GetString(Body(Call("POST", "/worker/evict_from_lb?worker_id=w1")), "message"),
            "Worker w1 evicted from LB");
  EXPECT_EQ(GetString(GetObject(Body(Call("GET", "/workers/status")), "w1"), "status"), "offline");
  const json::object health = Body(Call("GET", "/monitoring/worker-health"));
  EXPECT_FALSE(GetBool(GetObject(GetObject(health, "workers"), "w1"), "cuda_error_shutdown", true));
  EXPECT_EQ(Call("POST", "/worker/unregister?worker_id=w1").status, 200);
  EXPECT_FALSE(Body(Call("GET", "/workers/status")).contains("w1"));
  EXPECT_EQ(Call("POST", "/worker/unregister").status, 400);
  EXPECT_EQ(Call("POST", "/worker/evict_from_lb").status, 400);
}

TEST_F(MonitoringTest, NodeAllocation) {
  EXPECT_EQ(Call("POST", "/node/allocate").status, 400);
  EXPECT_EQ(json::serialize(Body(Call("POST", "/node/allocate?hostname=h"))),
            R"({"node_id":"node-1","hostname":"h"})");
  EXPECT_EQ(Call("POST", "/node/allocate?hostname=g&node_name=node-1").status, 409);
  documents.broken = true;
  EXPECT_EQ(Call("POST", "/node/allocate?hostname=g").status, 503);
}

TEST_F(MonitoringTest, ProblematicCodesAndTheirHistory) {
  jobs.judge = [](const JobRequest&) {
    return Verdict(samples::FailedRecords(FailureKind::kCrash, Stage::kCheck, "SIGSEGV", "died"));
  };
  for (const char* id : {"a", "b", "c"}) Post("/evaluate", EvaluationBody(id));
  json::object body = Body(Call("GET", "/monitoring/problematic-codes"));
  EXPECT_EQ(GetInt(body, "min_errors_threshold"), 3);
  EXPECT_EQ(GetInt(body, "total_count"), 1);
  const std::string hash(64, 'b');
  EXPECT_EQ(GetString(GetArray(body, "problematic_codes")[0].as_object(), "code_hash"), hash);
  EXPECT_EQ(GetInt(Body(Call("GET", "/monitoring/problematic-codes?min_errors=4")), "total_count"),
            0);
  EXPECT_EQ(Call("GET", "/monitoring/problematic-codes?min_errors=x").status, 400);
  EXPECT_EQ(Call("POST", fmt::format("/monitoring/clear-error-history/{}", hash)).status, 200);
  EXPECT_EQ(GetInt(Body(Call("GET", "/monitoring/problematic-codes")), "total_count"), 0);
}

TEST_F(MonitoringTest, RetryQueueShowsRedeliveries) {
  const Pending answer = Start("POST", "/evaluate", EvaluationBody("again:1"));
  EXPECT_EQ(GetInt(Body(Call("GET", "/monitoring/retry-queue")), "retry_queue_size"), 0);
  jobs.Start("job-1", "check");
  jobs.Requeue("job-1");
  const json::object body = Body(Call("GET", "/monitoring/retry-queue"));
  EXPECT_EQ(GetInt(body, "retry_queue_size"), 1);
  const json::object& next = GetArray(body, "next_retries")[0].as_object();
  EXPECT_EQ(GetString(next, "task_id"), "again:1");
  EXPECT_EQ(GetInt(next, "retry_count"), 1);
}

}  // namespace
}  // namespace assay::kernelgym
