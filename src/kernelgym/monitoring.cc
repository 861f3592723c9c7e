#include <fmt/format.h>

#include <charconv>

#include "kernelgym/service.h"
#include "kernelgym/shapes.h"

namespace assay::kernelgym {
namespace {

constexpr size_t kRetriesShown = 10;
constexpr size_t kQueueLooked = 200;

std::string Gigabytes(uint64_t bytes) {
  return fmt::format("{:.1f}GB", static_cast<double>(bytes) / static_cast<double>(1ull << 30));
}

double Share(uint64_t part, uint64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double MemoryPercent(const MachineState& machine) {
  return Share(machine.memory_total_bytes - machine.memory_available_bytes,
               machine.memory_total_bytes);
}

/// Values are objects also where there is no GPU: clients index them.
json::object GpuStatus(const MachineState& machine, bool cpu) {
  json::object out;
  for (const GpuReading& gpu : machine.gpus)
    out[gpu.device] = {
        {"name", gpu.name},
        {"memory_total", Gigabytes(gpu.total_bytes)},
        {"memory_allocated", Gigabytes(gpu.used_bytes)},
        {"memory_reserved", Gigabytes(gpu.used_bytes)},
        {"memory_used_percent", fmt::format("{:.1f}%", Share(gpu.used_bytes, gpu.total_bytes))},
        {"available", true}};
  if (!out.empty()) return out;
  const uint64_t used = machine.memory_total_bytes - machine.memory_available_bytes;
  out["cpu"] = {{"name", "cpu"},
                {"memory_total", Gigabytes(machine.memory_total_bytes)},
                {"memory_allocated", Gigabytes(used)},
                {"memory_reserved", Gigabytes(used)},
                {"memory_used_percent", fmt::format("{:.1f}%", MemoryPercent(machine))},
                {"available", cpu},
                {"note", machine.gpu_error}};
  return out;
}

double Rounded(double number) {
  return static_cast<double>(static_cast<int64_t>(number * 1e3)) / 1e3;
}

}  // namespace

void Service::Root(const http::Request& /*request*/, const http::Reply& reply) {
  reply(http::Response::Json({{"name", "KernelGym"},
                              {"version", "1.0.0"},
                              {"description", "GPU Kernel Evaluation Service"},
                              {"timestamp", Timestamp(Now())},
                              {"engine", "assay"}}));
}

void Service::Health(const http::Request& /*request*/, const http::Reply& reply) {
  const MachineState machine = context_.machine();
  const QueueDepth depth = context_.jobs->Depth();
  const Statistics::Totals totals = statistics_.Get(Now());
  bool online = !context_.workers;
  if (context_.workers)
    for (const WorkerInfo& worker : context_.workers()) online = online || worker.online;
  reply(http::Response::Json(
      {{"status", online ? "healthy" : "unhealthy"},
       {"timestamp", Timestamp(Now())},
       {"gpu_status", GpuStatus(machine, context_.cpu)},
       {"queue_status",
        {{"pending", depth.queued}, {"processing", depth.running}, {"completed", totals.finished}}},
       {"memory_usage",
        {{"cpu_percent", Rounded(machine.cpu_percent)},
         {"memory_percent", Rounded(MemoryPercent(machine))},
         {"memory_available", Gigabytes(machine.memory_available_bytes)},
         {"memory_total", Gigabytes(machine.memory_total_bytes)}}},
       {"active_tasks", depth.running},
       {"total_processed", totals.finished},
       {"uptime", Rounded(Now() - started_at_)}}));
}

void Service::Metrics(const http::Request& /*request*/, const http::Reply& reply) {
  const MachineState machine = context_.machine();
  const QueueDepth depth = context_.jobs->Depth();
  const Statistics::Totals totals = statistics_.Get(Now());
  const auto finished = static_cast<double>(totals.finished);
  double gpu = 0;
  for (const GpuReading& reading : machine.gpus)
    gpu +=
        Share(reading.used_bytes, reading.total_bytes) / static_cast<double>(machine.gpus.size());
  reply(http::Response::Json(
      {{"timestamp", Timestamp(Now())},
       {"performance_metrics",
        {{"avg_processing_time", finished > 0 ? totals.judging_s / finished : 0.0},
         {"throughput_per_hour", totals.last_hour},
         {"success_rate", finished > 0 ? static_cast<double>(totals.completed) / finished : 0.0}}},
       {"resource_metrics",
        {{"avg_gpu_utilization", Rounded(gpu)},
         {"memory_usage_percent", Rounded(MemoryPercent(machine))},
         {"cpu_usage_percent", Rounded(machine.cpu_percent)}}},
       {"queue_metrics",
        {{"pending_tasks", depth.queued},
         {"active_tasks", depth.running},
         {"completed_tasks", totals.finished}}},
       {"error_metrics",
        {{"compilation_errors", totals.compilation_errors},
         {"runtime_errors", totals.runtime_errors},
         {"timeout_errors", totals.timeout_errors},
         {"infrastructure_errors", totals.infrastructure_errors}}}}));
}

void Service::QueueStatus(const http::Request& /*request*/, const http::Reply& reply) {
  const size_t queued = context_.jobs->Depth().queued;
  json::object workers;  // work is taken from one queue; nothing waits at a worker
  if (context_.workers)
    for (const WorkerInfo& worker : context_.workers()) workers[worker.id] = 0;
  reply(http::Response::Json({{"pending", queued},
                              {"pending_by_prefix", {{"kernelgym", queued}}},
                              {"worker_queues", std::move(workers)}}));
}

void Service::ProblematicCodes(const http::Request& request, const http::Reply& reply) {
  int least = 3;
  if (const auto text = request.Query("min_errors")) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), least);
    if (error != std::errc() || end != text->data() + text->size())
      return reply(InvalidRequest({{"int_parsing",
                                    {"query", "min_errors"},
                                    "Input should be a valid integer, unable to parse the string"}},
                                  Now()));
  }
  json::array codes;
  for (const auto& [hash, count] : statistics_.Problematic(least, Now()))
    codes.push_back({{"code_hash", hash}, {"error_count", count}});
  const size_t count = codes.size();
  reply(http::Response::Json({{"status", "success"},
                              {"min_errors_threshold", least},
                              {"problematic_codes", std::move(codes)},
                              {"total_count", count}}));
}

void Service::RetryQueue(const http::Request& request, const http::Reply& reply) {
  JobQuery query;
  query.owner = request.who.key_name;
  query.state = JobState::kQueued;
  query.limit = kQueueLooked;
  json::array next;
  size_t waiting = 0;
  for (const Job& job : context_.jobs->List(query)) {
    if (job.deliveries == 0) continue;  // never tried yet
    ++waiting;
    const std::string name = Tasks::NameOf(job);
    if (!name.empty() && next.size() < kRetriesShown)
      next.push_back({{"task_id", name},
                      {"retry_count", job.deliveries},
                      {"scheduled_for", Timestamp(Now())}});
  }
  reply(http::Response::Json(
      {{"status", "success"}, {"retry_queue_size", waiting}, {"next_retries", std::move(next)}}));
}

void Service::WorkerHealth(const http::Request& /*request*/, const http::Reply& reply) {
  json::object workers = DescribeWorkers();
  // A broken device context ends with the process that broke it, never with a worker.
  for (auto& [id, worker] : workers) worker.as_object()["cuda_error_shutdown"] = false;
  reply(http::Response::Json({{"status", "success"}, {"workers", std::move(workers)}}));
}

void Service::ClearErrorHistory(const http::Request& request, const http::Reply& reply) {
  const std::string hash(request.Captured("code_hash"));
  statistics_.ForgetProblems(hash);
  reply(http::Response::Json(
      {{"status", "success"}, {"message", "Cleared error history for code hash: " + hash}}));
}

}  // namespace assay::kernelgym
