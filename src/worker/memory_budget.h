#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace assay {

/// Keeps submissions that are judged at once within a device's memory. A claim larger than the
/// whole waits until it is alone. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes) : total_(bytes), free_(bytes) {}

  /// Holds a share until destroyed.
  class Share {
   public:
    Share(MemoryBudget* budget, uint64_t bytes)
        : budget_(budget), bytes_(std::min(bytes, budget->total_)) {
      std::unique_lock guard(budget_->mutex_);
      budget_->changed_.wait(guard, [&] { return budget_->free_ >= bytes_; });
      budget_->free_ -= bytes_;
    }
    ~Share() {
      {
        const std::lock_guard guard(budget_->mutex_);
        budget_->free_ += bytes_;
      }
      budget_->changed_.notify_all();
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    MemoryBudget* const budget_;
    const uint64_t bytes_;
  };

 private:
  const uint64_t total_;
  uint64_t free_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace assay
