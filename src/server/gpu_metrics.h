#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/metrics.h"
#include "gpu/nvml.h"

namespace assay {

/// This machine's GPUs as they are now: asks the driver every few seconds on a thread of its own,
/// so that nobody who wants to know waits for it. Without a GPU there is no thread. Thread-safe.
class GpuWatch {
 public:
  using List = std::function<Result<std::vector<GpuInfo>>()>;
  explicit GpuWatch(List list = [] { return ListGpus(); });
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  /// None while the driver fails: old figures would stand as if they were new.
  [[nodiscard]] std::vector<GpuInfo> Gpus() const;
  /// The one with this UUID as figures (GpuFigures); empty: there is none.
  [[nodiscard]] json::object FiguresOf(const std::string& uuid) const;

 private:
  void Run();

  const List list_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::vector<GpuInfo> gpus_;
  std::thread thread_;
};

/// What gauges show of a GPU: {"gpu": index, "name", "memory_used_bytes", ...}, members named as
/// the gauges are. A worker sends it to its server.
json::object GpuFigures(const GpuInfo& gpu);

/// The gauges of such figures, which may be anybody's: what is unknown or no number is left out.
/// `runner`, elsewhere, becomes a label;
/// empty: this machine's own.
std::vector<MetricSample> GpuSamples(const json::object& figures, const std::string& runner);

}  // namespace assay
