#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace assay {

/// The few calls of the CUDA driver that Assay makes, opened at run time: one library runs with and
/// without a GPU. Types and numbers are those of the driver's stable ABI (cuda.h, CUDA 11.2 on).
class CudaDriver {
 public:
  using DevicePtr = unsigned long long;

  /// Opens libcuda.so.1, initialises it and makes the primary context of `device` current.
  /// kUnavailable where there is no driver or GPU. One per process.
  static Result<CudaDriver> Open(int device);

  /// Physical device memory that can be mapped into other processes: created, mapped here for
  /// reading and writing, and exported as a descriptor.
  struct Segment {
    DevicePtr address = 0;
    size_t bytes = 0;  ///< rounded up to the driver's granularity
    uint64_t handle = 0;
    int fd = -1;  ///< -1 for an imported segment
  };
  Result<Segment> CreateSegment(size_t bytes);
  /// Maps a segment exported by another process; without `writable` a store faults.
  Result<Segment> ImportSegment(int fd, size_t bytes, bool writable);
  void ReleaseSegment(const Segment& segment);

  /// Memory of this process alone; 0 when there is none left.
  DevicePtr Allocate(size_t bytes);
  void Free(DevicePtr address);

  /// Watches the GPU for `nanoseconds` with a one-thread kernel that reads the device's own clock.
  /// While another context has runnable work the GPU is time-sliced and the kernel's clock jumps.
  /// Returns the largest jump and the whole span, both in nanoseconds; a quiet GPU shows no jump
  /// over a few microseconds.
  struct Quiet {
    uint64_t max_gap_ns = 0;
    uint64_t span_ns = 0;
    uint64_t lost_ns = 0;  ///< sum of the jumps over 20 us
  };
  Result<Quiet> WatchQuiet(uint64_t nanoseconds);

  /// The device's address of host memory that begins at a page; it stays shared for good.
  Result<DevicePtr> ShareHost(void* memory, size_t bytes);

  /// Lets what is queued on `stream` from now on wait until the word at `address` equals `value`.
  Status WaitValue(void* stream, DevicePtr address, uint32_t value);

  /// 8-byte words to be stored; arrays in device memory, unchanged until the hold has ended.
  struct Stores {
    DevicePtr addresses = 0;
    DevicePtr values = 0;
    uint32_t count = 0;
  };
  /// Occupies the GPU until the word at `release` equals `number`, `nanoseconds` at most; returns
  /// as soon as that is launched. Then `stores` are made, and last `number` is written to `ended`.
  /// Runnable work of other contexts waits meanwhile, for the driver's time slice (2 ms) at least.
  Status Hold(uint64_t nanoseconds, DevicePtr release, DevicePtr ended, uint32_t number,
              const Stores& stores);
  /// Waits for the end of the hold; what it returns tells whether work of others came between.
  Result<Quiet> AwaitHold();

  /// Drops lines that a persisting-L2 window kept, so that a flush is a flush.
  Status ResetPersistingL2();

 private:
  struct Table;
  CudaDriver() = default;
  Status Check(int code, const char* what) const;
  Status LoadKernels();
  Result<Segment> Map(uint64_t handle, size_t bytes, bool writable);

  const Table* table_ = nullptr;
  int device_ = 0;
  void* context_ = nullptr;
  void* quiet_kernel_ = nullptr;
  void* hold_kernel_ = nullptr;
  DevicePtr quiet_result_ = 0;
};

}  // namespace assay
