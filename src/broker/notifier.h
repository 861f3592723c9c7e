#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <thread>

#include "base/adaptive_mutex.h"

namespace assay {

/// Runs callbacks of others one after another on a thread of its own, so that they run under no
/// lock of the caller and cannot hold up the writer. Thread-safe.
class Notifier {
 public:
  Notifier();
  /// Runs what was posted.
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void Post(std::function<void()> call);

 private:
  void Work();

  AdaptiveMutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace assay
