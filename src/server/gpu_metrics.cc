#include "server/gpu_metrics.h"

#include <chrono>

namespace assay {
namespace {

constexpr std::chrono::seconds kInterval{5};  // scrapers ask every 15 s or so

}  // namespace

GpuMetrics::GpuMetrics(MetricRegistry* registry, List list) : list_(std::move(list)) {
  Result<std::vector<GpuInfo>> gpus = list_();
  if (!gpus.ok() || (*gpus).empty()) return;
  gpus_ = *std::move(gpus);
  collector_ = registry->AddCollector([this] { return Samples(); });
  thread_ = std::thread([this] { Run(); });
}

GpuMetrics::~GpuMetrics() {
  collector_.reset();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void GpuMetrics::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return stop_; })) {
    lock.unlock();
    Result<std::vector<GpuInfo>> gpus = list_();
    lock.lock();
    // A driver that fails must not leave the last figures standing as if they were new.
    gpus_ = gpus.ok() ? *std::move(gpus) : std::vector<GpuInfo>{};
  }
}

std::vector<MetricSample> GpuMetrics::Samples() const {
  const std::lock_guard lock(mutex_);
  std::vector<MetricSample> samples;
  for (const GpuInfo& gpu : gpus_) {
    const Labels labels = {{"gpu", fmt::format("{}", gpu.index)}, {"name", gpu.name}};
    const auto add = [&](const char* name, const char* help, double value) {
      samples.push_back({name, help, MetricType::kGauge, labels, value});
    };
    add("assay_gpu_memory_total_bytes", "Memory of the GPU.",
        static_cast<double>(gpu.memory_total_bytes));
    add("assay_gpu_memory_used_bytes", "Memory in use, by all processes.",
        static_cast<double>(gpu.memory_used_bytes));
    if (gpu.state.sm_clock_mhz)
      add("assay_gpu_sm_clock_hertz", "Current clock of the multiprocessors.",
          *gpu.state.sm_clock_mhz * 1e6);
    if (gpu.state.temperature_celsius)
      add("assay_gpu_temperature_celsius", "Temperature.", *gpu.state.temperature_celsius);
    if (gpu.state.power_milliwatts)
      add("assay_gpu_power_watts", "Power drawn.", *gpu.state.power_milliwatts / 1e3);
    if (gpu.state.throttle_reasons)
      add("assay_gpu_slowed", "1 while something makes the card slower than it was asked to be.",
          SlowdownReasons(*gpu.state.throttle_reasons).empty() ? 0 : 1);
  }
  return samples;
}

}  // namespace assay
