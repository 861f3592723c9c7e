#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace assay {

/// Keeps submissions that are judged at once within a device's memory. Claims are met in the order
/// they came, so that a large one is not kept waiting by small ones; one of the whole, or more,
/// waits until it is alone. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes) : total_(bytes), free_(bytes) {}

  /// Holds a share until destroyed.
  class Share {
   public:
    static constexpr uint64_t kAll = UINT64_MAX;
    Share(MemoryBudget* budget, uint64_t bytes)
        : budget_(budget), bytes_(std::min(bytes, budget->total_)) {
      std::unique_lock guard(budget_->mutex_);
      const uint64_t turn = budget_->last_++;
      budget_->changed_.wait(guard,
                             [&] { return budget_->next_ == turn && budget_->free_ >= bytes_; });
      budget_->free_ -= bytes_;
      ++budget_->next_;
      budget_->changed_.notify_all();
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
  uint64_t last_ = 0;  ///< claims that have come
  uint64_t next_ = 0;  ///< the claim that is met next
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace assay
