#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What Nsight Compute measured of one kernel; means over its launches, weighted by their time.
/// A figure that it did not give is absent.
struct NcuKernel {
  std::string name;
  int64_t launches = 0;
  double us = 0;                         ///< of one launch
  std::optional<double> compute_pct;     ///< of the SMs' peak throughput
  std::optional<double> memory_pct;      ///< of the memory system's, the busiest part of it
  std::optional<double> dram_pct;        ///< of the device memory's
  std::optional<double> occupancy_pct;   ///< warps resident, of what an SM can hold
  std::optional<double> occupancy_most;  ///< the same, as far as the launch allows
  std::string occupancy_limit;           ///< what bounds it: "registers", ...; empty: not known
  std::optional<double> registers;       ///< of a thread
  /// Why warps wait, the gravest first: reason and share of the time in which they do.
  std::vector<std::pair<std::string, double>> stalls;
};

struct NcuSummary {
  std::vector<NcuKernel> kernels;  ///< those that took longest first
  int64_t left_out = 0;            ///< kernels missing above
};

inline constexpr size_t kMaxNcuKernels = 8;
inline constexpr int kMaxNcuLaunches = 48;

/// Arguments of ncu, without a program to run. Only what the program launches between
/// cudaProfilerStart() and Stop() is looked at. No clock is set.
std::vector<std::string> NcuArguments();

/// Reads what ncu printed for NcuArguments(), on either stream. `own`: demangled names of the
/// kernels to keep; empty: all. Text of an untrusted process: bounded and checked for sense, not
/// for truth. kUnavailable says why there are no figures, in words for people.
Result<NcuSummary> ReadNcu(std::string_view printed, const std::vector<std::string>& own);

/// The `kernels` and `left_out` of a verdict's `profile.ncu`.
json::object ToJson(const NcuSummary& summary);

/// One line a kernel: "relu_kernel: 33 us; SM 12 %, memory 91 %, DRAM 90 %; ...".
std::string NcuLine(const NcuKernel& kernel);

}  // namespace assay
