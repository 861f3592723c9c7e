#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"

namespace assay::http {

/// Runs things later; the seam that lets protocols be tested without wall time.
class Timers {
 public:
  virtual ~Timers() = default;
  /// Calls `action` once after `delay` on a serving thread; it must not block. Destroying or
  /// resetting the handle cancels it (a call that has begun goes on).
  [[nodiscard]] virtual std::shared_ptr<void> After(Seconds delay,
                                                    std::function<void()> action) = 0;
};

}  // namespace assay::http
