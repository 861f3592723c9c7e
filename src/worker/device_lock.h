#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <shared_mutex>

namespace assay {

/// Shared/exclusive lock of one device, first come first served: timing (exclusive) is neither
/// starved by a stream of checks (shared) nor starves them. Meets SharedLockable, for
/// std::shared_lock and std::unique_lock.
class DeviceLock {
 public:
  void lock() {
    std::unique_lock guard(mutex_);
    const uint64_t ticket = next_ticket_++;
    changed_.wait(guard, [&] { return serving_ == ticket && readers_ == 0 && !writer_; });
    writer_ = true;
    ++serving_;
  }
  void unlock() {
    const std::lock_guard guard(mutex_);
    writer_ = false;
    changed_.notify_all();
  }
  void lock_shared() {
    std::unique_lock guard(mutex_);
    const uint64_t ticket = next_ticket_++;
    changed_.wait(guard, [&] { return serving_ == ticket && !writer_; });
    ++readers_;
    ++serving_;
    changed_.notify_all();  // the next ticket may be a reader too
  }
  void unlock_shared() {
    const std::lock_guard guard(mutex_);
    if (--readers_ == 0) changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_ticket_ = 0;
  uint64_t serving_ = 0;
  int readers_ = 0;
  bool writer_ = false;
};

}  // namespace assay
