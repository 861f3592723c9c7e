#include "worker/memory_watch.h"

#include <signal.h>

#include "worker/process_tree.h"

namespace assay {
namespace {

// At a page-fault rate of about 2 GB/s a candidate overshoots its limit by 100 MB.
constexpr std::chrono::milliseconds kInterval{50};

}  // namespace

MemoryWatch::MemoryWatch(uint64_t limit_bytes) : limit_(limit_bytes), thread_([this] { Run(); }) {}

MemoryWatch::~MemoryWatch() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

MemoryWatch::Token MemoryWatch::Watch(pid_t pid) {
  auto token = std::make_shared<std::atomic<bool>>(false);
  const std::lock_guard guard(mutex_);
  watched_[pid] = token;
  return token;
}

void MemoryWatch::Run() {
  std::unique_lock guard(mutex_);
  while (!changed_.wait_for(guard, kInterval, [&] { return stopping_; })) {
    for (auto entry = watched_.begin(); entry != watched_.end();) {
      const Token token = entry->second.lock();
      if (!token) {
        entry = watched_.erase(entry);
        continue;
      }
      // The owner reaps only after it dropped the token or was told of the death: the number is
      // ours.
      if (!token->load() && ResidentBytes(entry->first) > limit_) {
        token->store(true);
        ::kill(entry->first, SIGKILL);
      }
      ++entry;
    }
  }
}

}  // namespace assay
