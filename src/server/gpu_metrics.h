#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/metrics.h"
#include "gpu/nvml.h"

namespace assay {

/// Gauges of the machine's GPUs. Asks the driver every few seconds on a thread of its own, so that
/// no scrape waits for it; without a GPU there are no gauges and no thread.
class GpuMetrics {
 public:
  using List = std::function<Result<std::vector<GpuInfo>>()>;
  /// `registry` outlives this.
  explicit GpuMetrics(
      MetricRegistry* registry, List list = [] { return ListGpus(); });
  ~GpuMetrics();
  GpuMetrics(const GpuMetrics&) = delete;
  GpuMetrics& operator=(const GpuMetrics&) = delete;

 private:
  void Run();
  [[nodiscard]] std::vector<MetricSample> Samples() const;

  const List list_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::vector<GpuInfo> gpus_;
  std::thread thread_;
  std::shared_ptr<void> collector_;
};

}  // namespace assay
