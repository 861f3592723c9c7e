#pragma once

#include <chrono>

namespace assay {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;
using Microseconds = std::chrono::duration<double, std::micro>;
using Milliseconds = std::chrono::duration<double, std::milli>;
using Seconds = std::chrono::duration<double>;

inline TimePoint DeadlineIn(Seconds seconds) {
  return Clock::now() + std::chrono::duration_cast<Duration>(seconds);
}

inline double MillisecondsSince(TimePoint start) {
  return Milliseconds(Clock::now() - start).count();
}

/// Milliseconds until `deadline` for poll(2): at least 0, rounded up.
inline int PollTimeout(TimePoint deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left <= 0 ? 0 : left > 1'000'000 ? 1'000'000 : static_cast<int>(left);
}

}  // namespace assay
