// The C ABI that the Python runtime loads with ctypes. Everything here runs in the judge's or a
// candidate's process; nothing here decides anything.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "arena/control_page.h"
#include "native/c_api_error.h"
#include "native/cuda_driver.h"
#include "native/region_pool.h"

namespace {

thread_local std::string last_error;        // NOLINT: the C ABI's errno
std::unique_ptr<assay::CudaDriver> driver;  // NOLINT: one per process, set by assay_gpu_open
assay::RegionPool results;                  // NOLINT: one per process

using assay::Fail;

int NoDriver() {
  return Fail(assay::Err(assay::ErrorCode::kInternal, "assay_gpu_open was not called"));
}

}  // namespace

int assay::Fail(const Error& error) {
  last_error = error.message;
  return error.code == ErrorCode::kUnavailable ? -2 : -1;
}

extern "C" {

/// Text of the last failure on this thread.
const char* assay_last_error() { return last_error.c_str(); }

/// Says where a round's results stand: `count` offsets into the outputs' memory, and `strides` of
/// its outputs (kMaxDims a piece).
void assay_control_places(void* memory, const uint64_t* offsets, size_t count,
                          const int64_t* strides, size_t stride_count) {
  using Page = assay::ControlPage;
  auto* page = static_cast<Page*>(memory);
  for (size_t i = 0; i < std::min(count, Page::kMaxPlaces); ++i)
    page->places[i].store(offsets[i], std::memory_order_relaxed);
  for (size_t i = 0; i < std::min(stride_count, Page::kMaxStrided * Page::kMaxDims); ++i)
    page->strides[i].store(strides[i], std::memory_order_relaxed);
}

/// Maps the control page from its descriptor; null on failure.
void* assay_control_map(int fd) {
  void* memory =
      ::mmap(nullptr, sizeof(assay::ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED) return memory;
  Fail(assay::ErrnoError("mmap", errno));
  return nullptr;
}

/// Waits for round `round`: 1 it began, 0 no more rounds (or the worker is gone), -1 nothing came
/// within `seconds`.
int assay_control_wait_go(void* memory, uint32_t round, double seconds) {
  auto* page = static_cast<assay::ControlPage*>(memory);
  const pid_t parent = ::getppid();
  const auto deadline = assay::DeadlineIn(assay::Seconds(seconds));
  for (;;) {
    const uint32_t seen = page->go.load(std::memory_order_acquire);
    if (seen == round) return 1;
    if (seen == assay::ControlPage::kStop || ::getppid() != parent) return 0;
    if (assay::Clock::now() >= deadline) return -1;
    assay::WaitWhile(page->go, seen, std::min(deadline, assay::DeadlineIn(assay::Seconds(0.1))));
  }
}

uint32_t assay_control_calls(void* memory) {
  return static_cast<assay::ControlPage*>(memory)->calls;
}
uint32_t assay_control_first_slot(void* memory) {
  return static_cast<assay::ControlPage*>(memory)->first_slot;
}

/// Ends round `round`.
void assay_control_done(void* memory, uint32_t round, int failed) {
  auto* page = static_cast<assay::ControlPage*>(memory);
  page->failed.store(static_cast<uint32_t>(failed), std::memory_order_relaxed);
  assay::PostWord(page->done, round);
}

/// Says that all calls of round `round` stand in the device's queue.
void assay_control_queued(void* memory, uint32_t round) {
  assay::PostWord(static_cast<assay::ControlPage*>(memory)->queued, round);
}

/// Lets the device see the page; its address there, or 0.
uint64_t assay_control_share(void* memory) {
  if (!driver) {
    NoDriver();
    return 0;
  }
  auto shared = driver->ShareHost(memory, sizeof(assay::ControlPage));
  if (shared.ok()) return *shared;
  Fail(shared.error());
  return 0;
}

/// What is queued on `stream` from now on waits for the worker to open the gate of `round`.
/// `page`: as assay_control_share() returned it.
int assay_gpu_wait_gate(uint64_t page, uint32_t round, void* stream) {
  if (!driver) return NoDriver();
  auto status = driver->WaitValue(stream, page + offsetof(assay::ControlPage, gate), round);
  return status.ok() ? 0 : Fail(status.error());
}

/// Memory of `bytes` that others can map from *fd but never for writing; this process can.
void* assay_host_segment_create(size_t bytes, int sealed_for_others, int* fd) {
  *fd = ::memfd_create("assay-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (*fd < 0 || ::ftruncate(*fd, static_cast<off_t>(bytes)) != 0) {
    Fail(assay::ErrnoError("memfd_create", errno));
    return nullptr;
  }
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
  // F_SEAL_FUTURE_WRITE keeps the mapping above writable and refuses every later one.
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW |
                    (sealed_for_others != 0 ? F_SEAL_FUTURE_WRITE : 0) | F_SEAL_SEAL;
  if (memory == MAP_FAILED || ::fcntl(*fd, F_ADD_SEALS, seals) != 0) {
    Fail(assay::ErrnoError("cannot share host memory", errno));
    return nullptr;
  }
  return memory;
}

void* assay_host_segment_map(int fd, size_t bytes, int writable) {
  // All pages at once: faults in timed calls would be those of the process that came there first.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | (writable != 0 ? PROT_WRITE : 0),
                        MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory != MAP_FAILED) return memory;
  Fail(assay::ErrnoError("mmap", errno));
  return nullptr;
}

void assay_host_segment_unmap(void* memory, size_t bytes) { ::munmap(memory, bytes); }

/// 0, or -2 where there is no GPU, or -1.
int assay_gpu_open(int device) {
  auto opened = assay::CudaDriver::Open(device);
  if (!opened.ok()) return Fail(opened.error());
  driver = std::make_unique<assay::CudaDriver>(*std::move(opened));
  return 0;
}

int assay_gpu_segment_create(size_t bytes, assay::CudaDriver::Segment* segment) {
  if (!driver) return NoDriver();
  auto created = driver->CreateSegment(bytes);
  if (!created.ok()) return Fail(created.error());
  *segment = *created;
  return 0;
}

int assay_gpu_segment_import(int fd, size_t bytes, int writable,
                             assay::CudaDriver::Segment* segment) {
  if (!driver) return NoDriver();
  auto imported = driver->ImportSegment(fd, bytes, writable != 0);
  if (!imported.ok()) return Fail(imported.error());
  *segment = *imported;
  return 0;
}

void assay_gpu_segment_release(const assay::CudaDriver::Segment* segment) {
  if (driver) driver->ReleaseSegment(*segment);
}

int assay_gpu_watch_quiet(uint64_t nanoseconds, assay::CudaDriver::Quiet* quiet) {
  if (!driver) return NoDriver();
  auto watched = driver->WatchQuiet(nanoseconds);
  if (!watched.ok()) return Fail(watched.error());
  *quiet = *watched;
  return 0;
}

/// Holds the device until the page's gate says `number`, `nanoseconds` at most, and then stores
/// `count` words. `page`: as assay_control_share() returned it.
int assay_gpu_hold(uint64_t nanoseconds, uint64_t page, uint32_t number, uint64_t addresses,
                   uint64_t values, uint32_t count) {
  if (!driver) return NoDriver();
  auto status =
      driver->Hold(nanoseconds, page + offsetof(assay::ControlPage, gate),
                   page + offsetof(assay::ControlPage, ended), number, {addresses, values, count});
  return status.ok() ? 0 : Fail(status.error());
}

int assay_gpu_await_hold(assay::CudaDriver::Quiet* quiet) {
  if (!driver) return NoDriver();
  auto held = driver->AwaitHold();
  if (!held.ok()) return Fail(held.error());
  *quiet = *held;
  return 0;
}

/// Waits until `look` in the control page says `number`, without giving up the core, and watches
/// the device at once: 1 done, with what was seen and the times (CLOCK_MONOTONIC, nanoseconds) of
/// launch and end; 0 after `patience` nanoseconds.
int assay_gpu_look_when(void* memory, uint32_t number, uint64_t patience, uint64_t nanoseconds,
                        assay::CudaDriver::Quiet* quiet, uint64_t* times) {
  if (!driver) return NoDriver();
  const auto* page = static_cast<const assay::ControlPage*>(memory);
  const auto deadline = assay::Clock::now() + std::chrono::nanoseconds(patience);
  while (page->look.load(std::memory_order_acquire) != number) {
    if (assay::Clock::now() >= deadline) return 0;
    __builtin_ia32_pause();
  }
  const auto now = [] {
    return static_cast<uint64_t>(
        std::chrono::nanoseconds(assay::Clock::now().time_since_epoch()).count());
  };
  times[0] = now();
  auto watched = driver->WatchQuiet(nanoseconds);
  if (!watched.ok()) return Fail(watched.error());
  times[1] = now();
  *quiet = *watched;
  return 1;
}

int assay_gpu_reset_persisting_l2() {
  if (!driver) return NoDriver();
  auto status = driver->ResetPersistingL2();
  return status.ok() ? 0 : Fail(status.error());
}

/// The region of device memory that the next two functions hand out; 0 bytes: none.
void assay_results_region(uint64_t begin, size_t bytes) { results.Reset(begin, bytes); }

/// An allocator as torch.cuda.memory.CUDAPluggableAllocator wants it: from the region while it
/// lasts, then from the driver. Null when there is no memory.
void* assay_results_alloc(size_t bytes, int /*device*/, void* /*stream*/) {
  uint64_t address = results.Take(bytes);
  if (address == 0 && driver) address = driver->Allocate(bytes);
  return std::bit_cast<void*>(address);
}

void assay_results_free(void* memory, size_t /*bytes*/, int /*device*/, void* /*stream*/) {
  const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(memory));
  if (!results.Give(address) && driver) driver->Free(address);
}

}  // extern "C"
