#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>

namespace assay {

/// Keeps submissions that are judged at once within a device's memory. Claims are met in the order
/// they came, so that a large one is not kept waiting by small ones; one of more than the whole
/// waits until it is alone. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t bytes) : total_(bytes), free_(bytes) {}

  /// Holds a share until destroyed.
  class Share {
   public:
    Share(MemoryBudget* budget, uint64_t bytes)
        : budget_(budget), bytes_(std::min(bytes, budget->total_)) {
      std::unique_lock guard(budget_->mutex_);
      turn_ = budget_->last_++;
      budget_->changed_.wait(guard,
                             [&] { return budget_->next_ == turn_ && budget_->free_ >= bytes_; });
      budget_->free_ -= bytes_;
      budget_->held_.insert(turn_);
      ++budget_->next_;
      budget_->changed_.notify_all();
    }
    ~Share() {
      {
        const std::lock_guard guard(budget_->mutex_);
        budget_->free_ += bytes_;
        budget_->held_.erase(turn_);
      }
      budget_->changed_.notify_all();
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    MemoryBudget* const budget_;
    const uint64_t bytes_;
    uint64_t turn_ = 0;
  };

  /// Until those who hold a share now hold it no more, or `stop` says so; it is asked often.
  void AwaitHolders(const std::function<bool()>& stop) {
    constexpr std::chrono::milliseconds kAsk{50};
    std::unique_lock guard(mutex_);
    const uint64_t now = next_;
    while (!stop() && !held_.empty() && *held_.begin() < now) changed_.wait_for(guard, kAsk);
  }

 private:
  const uint64_t total_;
  uint64_t free_;
  uint64_t last_ = 0;        ///< claims that have come
  uint64_t next_ = 0;        ///< the claim that is met next
  std::set<uint64_t> held_;  ///< turns of the shares that are held
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace assay
