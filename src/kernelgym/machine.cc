#include "kernelgym/machine.h"

#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "base/fd.h"
#include "gpu/nvml.h"

namespace assay::kernelgym {
namespace {

constexpr std::chrono::seconds kInterval{2};

}  // namespace

bool ParseCpuTicks(const std::string& proc_stat, uint64_t* busy, uint64_t* total) {
  std::istringstream in(proc_stat);
  std::string word;
  if (!(in >> word) || word != "cpu") return false;
  // user nice system idle iowait irq softirq steal; guests are counted in user already.
  uint64_t sum = 0;
  uint64_t idle = 0;
  for (int column = 0; column < 8; ++column) {
    uint64_t ticks = 0;
    if (!(in >> ticks)) return false;
    sum += ticks;
    if (column == 3 || column == 4) idle += ticks;
  }
  *busy = sum - idle;
  *total = sum;
  return true;
}

void ParseMemory(const std::string& proc_meminfo, MachineState* state) {
  std::istringstream in(proc_meminfo);
  std::string name;
  std::string unit;
  uint64_t kilobytes = 0;
  while (in >> name >> kilobytes) {
    if (name == "MemTotal:") state->memory_total_bytes = kilobytes << 10;
    if (name == "MemAvailable:") state->memory_available_bytes = kilobytes << 10;
    std::getline(in, unit);
  }
}

MachineMonitor::MachineMonitor() {
  Sample();
  thread_ = std::thread([this] { Run(); });
}

MachineMonitor::~MachineMonitor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

MachineState MachineMonitor::Latest() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void MachineMonitor::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return stop_; })) {
    lock.unlock();
    Sample();
    lock.lock();
  }
}

void MachineMonitor::Sample() {
  MachineState state;
  uint64_t busy = 0;
  uint64_t total = 0;
  if (const Result<std::string> text = ReadFile("/proc/stat");
      text.ok() && ParseCpuTicks(*text, &busy, &total) && total > total_) {
    state.cpu_percent =
        100.0 * static_cast<double>(busy - busy_) / static_cast<double>(total - total_);
    busy_ = busy;
    total_ = total;
  }
  if (const Result<std::string> text = ReadFile("/proc/meminfo"); text.ok())
    ParseMemory(*text, &state);
  if (const Result<std::vector<GpuInfo>> gpus = ListGpus(); gpus.ok()) {
    for (const GpuInfo& gpu : *gpus)
      state.gpus.push_back({fmt::format("cuda:{}", gpu.index), gpu.name, gpu.memory_total_bytes,
                            gpu.memory_used_bytes});
  } else {
    state.gpu_error = gpus.error().message;
  }
  const std::lock_guard lock(mutex_);
  state_ = std::move(state);
}

}  // namespace assay::kernelgym
