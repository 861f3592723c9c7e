#include "gpu/nvml.h"

#include <dlfcn.h>

#include <cstring>
#include <memory>

namespace assay {
namespace {

struct Memory {
  unsigned long long total, free, used;
};

/// The functions of NVML's stable ABI that Assay calls.
struct Table {
  int (*init)();
  int (*shutdown)();
  const char* (*error_string)(int);
  int (*count)(unsigned*);
  int (*handle)(unsigned, void**);
  int (*name)(void*, char*, unsigned);
  int (*uuid)(void*, char*, unsigned);
  int (*driver)(char*, unsigned);
  int (*capability)(void*, int*, int*);
  int (*memory)(void*, Memory*);
};

/// Newer or optional functions: null where the library lacks them.
struct StateTable {
  int (*clock)(void*, int, unsigned*);
  int (*max_clock)(void*, int, unsigned*);
  int (*temperature)(void*, int, unsigned*);
  int (*power)(void*, unsigned*);
  int (*throttle)(void*, unsigned long long*);
  int (*mig)(void*, unsigned*, unsigned*);
  int (*ecc)(void*, int*, int*);
  int (*processes)(void*, unsigned*, void*);
};

constexpr int kSmClock = 1;
constexpr int kGpuSensor = 0;
constexpr int kInsufficientSize = 7;  // how a count is answered when no room for the list is given

GpuState ReadState(const StateTable& table, void* device) {
  GpuState state;
  unsigned value = 0;
  unsigned pending = 0;
  if (table.clock != nullptr && table.clock(device, kSmClock, &value) == 0)
    state.sm_clock_mhz = value;
  if (table.max_clock != nullptr && table.max_clock(device, kSmClock, &value) == 0)
    state.max_sm_clock_mhz = value;
  if (table.temperature != nullptr && table.temperature(device, kGpuSensor, &value) == 0)
    state.temperature_celsius = value;
  if (table.power != nullptr && table.power(device, &value) == 0) state.power_milliwatts = value;
  if (unsigned long long bits = 0; table.throttle != nullptr && table.throttle(device, &bits) == 0)
    state.throttle_reasons = bits;
  if (table.mig != nullptr && table.mig(device, &value, &pending) == 0) state.mig = value != 0;
  int current = 0;
  int next = 0;
  if (table.ecc != nullptr && table.ecc(device, &current, &next) == 0) state.ecc = current != 0;
  unsigned count = 0;
  if (table.processes != nullptr) {
    const int code = table.processes(device, &count, nullptr);
    if (code == 0 || code == kInsufficientSize) state.processes = count;
  }
  return state;
}

struct Closer {
  void operator()(void* library) const { ::dlclose(library); }
};

}  // namespace

std::vector<std::string> SlowdownReasons(uint64_t throttle_reasons) {
  struct {
    uint64_t bit;
    const char* name;
  } constexpr kReasons[] = {{0x4, "power cap"},
                            {0x8, "hardware slowdown"},
                            {0x20, "thermal"},
                            {0x40, "hardware thermal"},
                            {0x80, "power brake"}};
  std::vector<std::string> names;
  for (const auto& reason : kReasons)
    if ((throttle_reasons & reason.bit) != 0) names.emplace_back(reason.name);
  return names;
}

Result<std::vector<GpuInfo>> ListGpus(const std::string& library) {
  const std::unique_ptr<void, Closer> handle(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!handle)
    return Err(ErrorCode::kUnavailable, "no NVIDIA driver ({} cannot be opened)", library);
  Table table{};
  const char* missing = nullptr;
  const auto load = [&](auto*& slot, const char* name) {
    void* symbol = ::dlsym(handle.get(), name);
    if (symbol == nullptr && missing == nullptr) missing = name;
    std::memcpy(&slot, &symbol, sizeof symbol);
  };
  load(table.init, "nvmlInit_v2");
  load(table.shutdown, "nvmlShutdown");
  load(table.error_string, "nvmlErrorString");
  load(table.count, "nvmlDeviceGetCount_v2");
  load(table.handle, "nvmlDeviceGetHandleByIndex_v2");
  load(table.name, "nvmlDeviceGetName");
  load(table.uuid, "nvmlDeviceGetUUID");
  load(table.driver, "nvmlSystemGetDriverVersion");
  load(table.capability, "nvmlDeviceGetCudaComputeCapability");
  load(table.memory, "nvmlDeviceGetMemoryInfo");
  if (missing != nullptr)
    return Err(ErrorCode::kUnavailable, "{} has no {}: the driver is too old", library, missing);

  StateTable optional{};
  const auto load_optional = [&](auto*& slot, const char* name) {
    void* symbol = ::dlsym(handle.get(), name);
    std::memcpy(&slot, &symbol, sizeof symbol);
  };
  load_optional(optional.clock, "nvmlDeviceGetClockInfo");
  load_optional(optional.max_clock, "nvmlDeviceGetMaxClockInfo");
  load_optional(optional.temperature, "nvmlDeviceGetTemperature");
  load_optional(optional.power, "nvmlDeviceGetPowerUsage");
  load_optional(optional.throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  load_optional(optional.mig, "nvmlDeviceGetMigMode");
  load_optional(optional.ecc, "nvmlDeviceGetEccMode");
  load_optional(optional.processes, "nvmlDeviceGetComputeRunningProcesses_v3");

  const auto check = [&](int code, const char* what) -> Status {
    if (code == 0) return {};
    return Err(ErrorCode::kUnavailable, "{}: {}", what, table.error_string(code));
  };
  ASSAY_RETURN_IF_ERROR(check(table.init(), "nvmlInit"));
  struct Shutdown {
    int (*function)();
    ~Shutdown() { function(); }
  } const shutdown{table.shutdown};
  unsigned count = 0;
  ASSAY_RETURN_IF_ERROR(check(table.count(&count), "nvmlDeviceGetCount"));
  char text[128] = {};
  ASSAY_RETURN_IF_ERROR(check(table.driver(text, sizeof text), "nvmlSystemGetDriverVersion"));
  const std::string driver = text;
  std::vector<GpuInfo> gpus;
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    ASSAY_RETURN_IF_ERROR(check(table.handle(i, &device), "nvmlDeviceGetHandleByIndex"));
    GpuInfo gpu;
    gpu.index = i;
    gpu.driver_version = driver;
    ASSAY_RETURN_IF_ERROR(check(table.name(device, text, sizeof text), "nvmlDeviceGetName"));
    gpu.name = text;
    ASSAY_RETURN_IF_ERROR(check(table.uuid(device, text, sizeof text), "nvmlDeviceGetUUID"));
    gpu.uuid = text;
    ASSAY_RETURN_IF_ERROR(check(table.capability(device, &gpu.compute_major, &gpu.compute_minor),
                                "nvmlDeviceGetCudaComputeCapability"));
    Memory memory{};
    ASSAY_RETURN_IF_ERROR(check(table.memory(device, &memory), "nvmlDeviceGetMemoryInfo"));
    gpu.memory_total_bytes = memory.total;
    gpu.memory_used_bytes = memory.used;
    gpu.state = ReadState(optional, device);
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace assay
