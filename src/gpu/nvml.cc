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

struct Closer {
  void operator()(void* library) const { ::dlclose(library); }
};

}  // namespace

Result<std::vector<GpuInfo>> ListGpus(const std::string& library) {
  const std::unique_ptr<void, Closer> handle(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!handle) return Err(ErrorCode::kUnavailable, "no NVIDIA driver ({} cannot be opened)", library);
  Table table{};
  const char* missing = nullptr;
  const auto load = [&](auto*& slot, const char* name) {
    void* symbol = ::dlsym(handle.get(), name);
    if (symbol == nullptr) missing = name;
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
  if (missing != nullptr) return Err(ErrorCode::kUnavailable, "{} has no {}: the driver is too old", library, missing);

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
    ASSAY_RETURN_IF_ERROR(
        check(table.capability(device, &gpu.compute_major, &gpu.compute_minor), "nvmlDeviceGetCudaComputeCapability"));
    Memory memory{};
    ASSAY_RETURN_IF_ERROR(check(table.memory(device, &memory), "nvmlDeviceGetMemoryInfo"));
    gpu.memory_total_bytes = memory.total;
    gpu.memory_used_bytes = memory.used;
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

}  // namespace assay
