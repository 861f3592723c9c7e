#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/fd.h"

namespace assay {

/// The page that the worker shares with one candidate: the go and done words. Everything the
/// candidate can write here may be a lie; the worker only compares it with what it expects.
///
///     worker                          candidate
///     go = n, thaw  ───────────────▶  WaitGo(n), queues K calls behind the gate
///     WaitWord(queued) ◀────────────  queued = n
///     clock starts, gate = n ──────▶  the device begins; results handed over, all finished
///     WaitWord(done)   ◀────────────  done = n
///     clock stops, freeze
///
/// The judge has such a page too: `gate` = n ends its hold number n, and then the device itself
/// writes `ended` = n. When the round after that is done, `look` = n asks for a look at the device.
struct ControlPage {
  static constexpr uint32_t kStop = 0xFFFFFFFFu;  ///< a `go` that ends the loop of rounds
  static constexpr size_t kMaxPlaces = 1024;      ///< calls of a round times outputs of a call
  static constexpr uint64_t kInSlot = ~uint64_t{0};
  static constexpr uint64_t kLost = kInSlot - 1;  ///< overwritten by a later call of the round
  static constexpr size_t kMaxStrided =
      16;  ///< outputs of a call that may have strides of their own
  static constexpr size_t kMaxDims = 8;

  std::atomic<uint32_t> go;
  char pad0[60];
  std::atomic<uint32_t> done;
  char pad1[60];
  std::atomic<uint32_t> calls;       ///< worker: calls of round `go`
  std::atomic<uint32_t> first_slot;  ///< worker: first input slot of the round
  std::atomic<uint32_t> failed;      ///< candidate: the round ended in an exception
  std::atomic<uint32_t> queued;      ///< candidate: the round whose calls the device has been given
  char pad2[48];
  std::atomic<uint32_t>
      gate;  ///< worker: the round (judge: the hold) that may go on; devices read it
  std::atomic<uint32_t> ended;  ///< judge's device: the last hold that ended
  char pad3[56];
  std::atomic<uint32_t> look;  ///< worker, to the judge: the hold whose round is done
  char pad4[60];
  /// candidate: offset in the outputs' memory (on the CPU: address) of each output of each call, or
  /// kInSlot, or kLost
  std::atomic<uint64_t> places[kMaxPlaces];
  /// candidate: strides of each output, in elements, of all calls alike; only of those in `places`
  std::atomic<int64_t> strides[kMaxStrided * kMaxDims];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// Owns the shared memory of a ControlPage. The descriptor is passed to the candidate.
class SharedControl {
 public:
  static Result<SharedControl> Create();
  SharedControl(SharedControl&& other) noexcept
      : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}
  SharedControl& operator=(SharedControl&& other) noexcept;
  ~SharedControl();

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] ControlPage* page() const { return page_; }

 private:
  SharedControl(UniqueFd fd, ControlPage* page) : fd_(std::move(fd)), page_(page) {}

  UniqueFd fd_;
  ControlPage* page_ = nullptr;
};

/// Waits while `word` holds `value`: spins briefly, then sleeps in the kernel (futex). Returns what
/// it holds then; still `value` when `deadline` passed. Usable between processes.
uint32_t WaitWhile(const std::atomic<uint32_t>& word, uint32_t value, TimePoint deadline);

/// Waits until `word` equals `value`; false when `deadline` passes first.
bool WaitWord(const std::atomic<uint32_t>& word, uint32_t value, TimePoint deadline);

/// Stores and wakes a waiter on the other side.
void PostWord(std::atomic<uint32_t>& word, uint32_t value);

}  // namespace assay
