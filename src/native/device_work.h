#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "native/launch_owner.h"

namespace assay {

/// One thing that the device did, as CUPTI recorded it.
struct DeviceWork {
  enum class Kind : uint8_t { kKernel, kCopy, kFill };
  Kind kind = Kind::kKernel;
  Owner owner = Owner::kUnknown;  ///< of a kernel
  uint32_t stream = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  std::string_view name;  ///< of a kernel, mangled; kept elsewhere
  std::array<int32_t, 3> grid{};
  std::array<int32_t, 3> block{};
  int32_t registers = 0;
  int32_t static_shared = 0;
  int32_t dynamic_shared = 0;
};

/// Bounds of a report, which travels in one message.
inline constexpr size_t kMaxReportedKernels = 48;
inline constexpr size_t kMaxKernelName = 240;

/// A C++ kernel's name as it was written, at most kMaxKernelName bytes and clean; other names
/// alike.
std::string ReadableName(std::string_view name);

/// Sums up what the device did in `calls` calls: totals by owner, and the kernels (alike in name,
/// shape, memory, stream and owner) that took the longest, at most kMaxReportedKernels of them.
///
///     {"calls", "own_us", "library_us", "unknown_us", "copy_us",
///      "own_launches", "library_launches", "unknown_launches", "copies",
///      "own_kernels", "other_kernels",    distinct ones, copies and fills among the others
///      "left_out", "kernels": [{"name", "own", "calls", "us", "grid", "block", "registers",
///                               "static_shared", "dynamic_shared", "stream"}]}
json::object SumUp(std::span<const DeviceWork> work, uint32_t calls);

/// Time from the first begin to the last end, and how much of it something ran.
struct Occupation {
  double span_us = 0;
  double busy_us = 0;
};
Occupation OccupationOf(std::span<const DeviceWork> work);

}  // namespace assay
