#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/process.h"

namespace assay {

/// Kills candidates whose resident memory, children included, passes a limit. An address-space
/// limit cannot do this: CUDA reserves hundreds of gigabytes. One thread for all; thread-safe.
class MemoryWatch {
 public:
  explicit MemoryWatch(uint64_t limit_bytes);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  /// Watches `pid` for as long as the token lives; the token says whether it was killed.
  using Token = std::shared_ptr<std::atomic<bool>>;
  Token Watch(pid_t pid);

 private:
  void Run();

  const uint64_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<pid_t, std::weak_ptr<std::atomic<bool>>> watched_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace assay
