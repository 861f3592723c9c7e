#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay {

/// What a GPU is doing now; nothing where the driver or the card does not tell.
struct GpuState {
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> max_sm_clock_mhz;
  std::optional<unsigned> temperature_celsius;
  std::optional<unsigned> power_milliwatts;
  std::optional<uint64_t> throttle_reasons;  ///< bits, see SlowdownReasons()
  std::optional<bool> mig;                   ///< partitioned into instances
  std::optional<bool> ecc;
  std::optional<unsigned> processes;  ///< with a compute context, of all users
};

/// Names of the throttle reasons that make a card slower than it was asked to be ("power cap",
/// "thermal", ...). An idle card and clocks that someone set are not among them.
std::vector<std::string> SlowdownReasons(uint64_t throttle_reasons);

/// How fast a GPU ran at one moment, and why not faster.
struct DeviceClock {
  unsigned sm_mhz = 0;            ///< 0 unknown
  uint64_t throttle_reasons = 0;  ///< bits, see SlowdownReasons()

  /// The card runs slower than it was asked to.
  [[nodiscard]] bool Slowed() const { return !SlowdownReasons(throttle_reasons).empty(); }
  /// Something outside of the work itself slows the card: heat, a power brake. A power cap is not
  /// that: it belongs to heavy work, and holds for whatever the work is compared with.
  [[nodiscard]] bool Disturbed() const;
};

/// The clock of one GPU, read again and again; the library stays open. Not thread-safe.
class ClockGauge {
 public:
  /// `uuid` as in GpuInfo. kUnavailable where NVML cannot be used or does not tell the clock,
  /// kNotFound for a GPU that is not there. `library` is for tests.
  static Result<std::unique_ptr<ClockGauge>> Open(const std::string& uuid,
                                                  const std::string& library = kNvml);
  ~ClockGauge();
  ClockGauge(const ClockGauge&) = delete;
  ClockGauge& operator=(const ClockGauge&) = delete;

  [[nodiscard]] DeviceClock Read() const;
  /// Bytes of the card's memory that are in use, by all processes; 0 where it is not told.
  [[nodiscard]] uint64_t MemoryUsed() const;

  static constexpr const char* kNvml = "libnvidia-ml.so.1";

 private:
  class Reader;
  explicit ClockGauge(std::unique_ptr<Reader> reader);
  std::unique_ptr<Reader> reader_;
};

/// One NVIDIA GPU as the management library sees it, without a CUDA context.
struct GpuInfo {
  unsigned index = 0;
  std::string uuid;
  std::string name;
  std::string driver_version;
  int compute_major = 0;
  int compute_minor = 0;
  std::optional<unsigned> device_number;  ///< of its /dev/nvidiaN
  uint64_t memory_total_bytes = 0;
  uint64_t memory_used_bytes = 0;
  GpuState state;
};

/// The cards among `gpus` that CUDA_VISIBLE_DEVICES = `visible` leaves to a program, in its order
/// and with the indices that the program knows them by: numbers (in PCI order) and starts of UUIDs,
/// up to the first that names no card or names one again; all of them where `visible` is null.
std::vector<GpuInfo> VisibleGpus(const std::vector<GpuInfo>& gpus, const char* visible);

/// The GPUs of this machine that CUDA_VISIBLE_DEVICES leaves to this process, in PCI order where it
/// is not set. kUnavailable, with the reason, where NVML (opened at run time) cannot be used.
/// `library` is for tests.
Result<std::vector<GpuInfo>> ListGpus(const std::string& library = "libnvidia-ml.so.1");

/// Which GPU a --device argument (auto, cpu, cuda or cuda:N) means; nullopt for the CPU. kInvalid:
/// it is no such word; kNotFound: this process sees fewer; kUnavailable as ListGpus.
Result<std::optional<GpuInfo>> FindGpu(const std::string& device,
                                       const std::string& library = "libnvidia-ml.so.1");

}  // namespace assay
