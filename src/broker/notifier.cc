#include "broker/notifier.h"

namespace assay {

Notifier::Notifier() : thread_([this] { Work(); }) {}

Notifier::~Notifier() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Notifier::Post(std::function<void()> call) {
  bool first = false;
  {
    const std::lock_guard guard(mutex_);
    first = queue_.empty();
    queue_.push_back(std::move(call));
  }
  if (first) changed_.notify_one();
}

void Notifier::Work() {
  std::unique_lock<std::mutex> guard(mutex_);
  for (;;) {
    changed_.wait(guard, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::deque<std::function<void()>> calls;
    calls.swap(queue_);
    guard.unlock();
    for (std::function<void()>& call : calls) {
      call();
      call = nullptr;  // what it holds goes now, not with the whole batch
    }
    guard.lock();
  }
}

}  // namespace assay
