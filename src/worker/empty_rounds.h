#pragma once

#include <deque>
#include <vector>

#include "timing/clocks.h"

namespace assay {

/// What the latest rounds without calls took on a device, in microseconds of the outside clock.
class EmptyRoundTimes {
 public:
  void Add(double us) {
    times_.push_back(us);
    if (times_.size() > kKept) times_.pop_front();
  }
  void Clear() { times_.clear(); }

  [[nodiscard]] bool Enough() const { return times_.size() >= kNeeded; }
  [[nodiscard]] std::vector<double> times() const { return {times_.begin(), times_.end()}; }

  /// A low quantile, for noise only adds; 0 while nothing is known.
  [[nodiscard]] double Level() const { return LearnBracket(times(), {}).empty_us; }

 private:
  static constexpr size_t kNeeded = 6;
  static constexpr size_t kKept = 16;
  std::deque<double> times_;
};

}  // namespace assay
