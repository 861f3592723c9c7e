#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace assay::kernelgym {

struct GpuReading {
  std::string device;  ///< "cuda:0"
  std::string name;
  uint64_t total_bytes = 0;
  uint64_t used_bytes = 0;  ///< of all processes, as the driver counts it
};

/// What /health and /metrics tell of the machine.
struct MachineState {
  double cpu_percent = 0;  ///< of all cores, over the last sampling interval
  uint64_t memory_total_bytes = 0;
  uint64_t memory_available_bytes = 0;
  std::vector<GpuReading> gpus;
  std::string gpu_error;  ///< why there are none
};

/// Cores' time since the machine started, in ticks; false when the text is not /proc/stat's.
bool ParseCpuTicks(const std::string& proc_stat, uint64_t* busy, uint64_t* total);
/// kB figures of /proc/meminfo as bytes.
void ParseMemory(const std::string& proc_meminfo, MachineState* state);

/// Samples the machine every two seconds on a thread of its own, so that no request waits for a
/// driver. Thread-safe.
class MachineMonitor {
 public:
  MachineMonitor();
  ~MachineMonitor();
  MachineMonitor(const MachineMonitor&) = delete;
  MachineMonitor& operator=(const MachineMonitor&) = delete;

  [[nodiscard]] MachineState Latest() const;

 private:
  void Run();
  void Sample();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  MachineState state_;
  uint64_t busy_ = 0;
  uint64_t total_ = 0;
  std::thread thread_;
};

}  // namespace assay::kernelgym
