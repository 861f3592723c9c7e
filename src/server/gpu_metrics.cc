#include "server/gpu_metrics.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/strings.h"

namespace assay {
namespace {

constexpr std::chrono::seconds kInterval{5};  // scrapers ask every 15 s or so
constexpr size_t kMaxName = 100;

}  // namespace

GpuWatch::GpuWatch(List list) : list_(std::move(list)) {
  Result<std::vector<GpuInfo>> gpus = list_();
  if (!gpus.ok() || (*gpus).empty()) return;
  gpus_ = *std::move(gpus);
  thread_ = std::thread([this] { Run(); });
}

GpuWatch::~GpuWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GpuWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return stop_; })) {
    lock.unlock();
    Result<std::vector<GpuInfo>> gpus = list_();
    lock.lock();
    gpus_ = gpus.ok() ? *std::move(gpus) : std::vector<GpuInfo>{};
  }
}

std::vector<GpuInfo> GpuWatch::Gpus() const {
  const std::lock_guard lock(mutex_);
  return gpus_;
}

json::object GpuWatch::FiguresOf(const std::string& uuid) const {
  const std::lock_guard lock(mutex_);
  for (const GpuInfo& gpu : gpus_)
    if (gpu.uuid == uuid) return GpuFigures(gpu);
  return {};
}

json::object GpuFigures(const GpuInfo& gpu) {
  json::object figures{{"gpu", gpu.index},
                       {"name", gpu.name},
                       {"memory_total_bytes", gpu.memory_total_bytes},
                       {"memory_used_bytes", gpu.memory_used_bytes}};
  if (gpu.state.sm_clock_mhz) figures["sm_clock_hertz"] = *gpu.state.sm_clock_mhz * 1e6;
  if (gpu.state.temperature_celsius)
    figures["temperature_celsius"] = *gpu.state.temperature_celsius;
  if (gpu.state.power_milliwatts) figures["power_watts"] = *gpu.state.power_milliwatts / 1e3;
  if (gpu.state.throttle_reasons)
    figures["slowed"] = SlowdownReasons(*gpu.state.throttle_reasons).empty() ? 0 : 1;
  return figures;
}

std::vector<MetricSample> GpuSamples(const json::object& figures, const std::string& runner) {
  static constexpr std::pair<const char*, const char*> kGauges[] = {
      {"memory_total_bytes", "Memory of the GPU."},
      {"memory_used_bytes", "Memory in use, by all processes."},
      {"sm_clock_hertz", "Current clock of the multiprocessors."},
      {"temperature_celsius", "Temperature."},
      {"power_watts", "Power drawn."},
      {"slowed", "1 while something makes the card slower than it was asked to be."}};
  Labels labels = {{"gpu", fmt::format("{}", GetInt(figures, "gpu"))},
                   {"name", CleanText(TruncateMiddle(GetString(figures, "name"), kMaxName))}};
  if (!runner.empty()) labels.emplace_back("runner", runner);
  std::vector<MetricSample> samples;
  for (const auto& [gauge, help] : kGauges)
    if (const double value = GetDouble(figures, gauge, std::nan("")); std::isfinite(value))
      samples.push_back(
          {fmt::format("assay_gpu_{}", gauge), help, MetricType::kGauge, labels, value});
  return samples;
}

}  // namespace assay
