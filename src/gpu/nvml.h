#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay {

/// One NVIDIA GPU as the management library sees it, without a CUDA context.
struct GpuInfo {
  unsigned index = 0;
  std::string uuid;
  std::string name;
  std::string driver_version;
  int compute_major = 0;
  int compute_minor = 0;
  uint64_t memory_total_bytes = 0;
  uint64_t memory_used_bytes = 0;
};

/// All GPUs of this machine, in PCI order. kUnavailable, with the reason, where NVML (opened at run
/// time) cannot be used. `library` is for tests.
Result<std::vector<GpuInfo>> ListGpus(const std::string& library = "libnvidia-ml.so.1");

}  // namespace assay
