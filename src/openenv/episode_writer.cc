#include "openenv/episode_writer.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "openenv/openenv.h"

namespace assay::openenv {

EpisodeWriter::EpisodeWriter(DocumentStore* documents)
    : documents_(documents), thread_([this] { Work(); }) {}

void EpisodeWriter::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EpisodeWriter::Put(const std::string& token, Source source, bool fresh) {
  Queue* const queue = fresh ? &new_ : &changed_later_;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    const auto [entry, added] = waiting_.try_emplace(token);
    std::swap(entry->second.source, source);  // the older one goes after the lock
    if (!added) return;
    entry->second.fresh = fresh;
    wake = queue->empty();
    queue->push_back({token, DeadlineIn(fresh ? kNewDelay : kChangeDelay)});
  }
  if (wake) changed_.notify_all();
}

void EpisodeWriter::Drop(const std::string& token) {
  decltype(waiting_)::node_type dropped;  // goes after the lock
  const std::lock_guard lock(mutex_);
  dropped = waiting_.extract(token);
}

void EpisodeWriter::Flush() {
  std::unique_lock lock(mutex_);
  ++flushing_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return waiting_.empty() && writing_ == 0; });
  --flushing_;
}

/// The lock is held.
std::vector<std::string> EpisodeWriter::TakeDue() {
  std::vector<std::string> due;
  const TimePoint now = stopping_ || flushing_ > 0 ? TimePoint::max() : Clock::now();
  for (Queue* queue : {&new_, &changed_later_}) {
    for (; !queue->empty() && queue->front().at <= now; queue->pop_front())
      if (waiting_.contains(queue->front().token))  // else it was dropped, or written already
        due.push_back(std::move(queue->front().token));
  }
  return due;
}

/// The lock is held.
TimePoint EpisodeWriter::NextDue() const {
  TimePoint next = TimePoint::max();
  for (const Queue* queue : {&new_, &changed_later_})
    if (!queue->empty()) next = std::min(next, queue->front().at);
  return next;
}

/// One at a time, so that two versions of a document keep their order.
void EpisodeWriter::Write(const std::string& token, bool only_fresh) {
  const std::lock_guard giving(giving_);
  // Shared: what it holds must not be copied with the call.
  auto source = std::make_shared<Source>();
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(token);
    if (found == waiting_.end() || (only_fresh && !found->second.fresh)) return;
    *source = std::move(found->second.source);
    waiting_.erase(found);
    ++writing_;
  }
  std::string document = (*source)();
  documents_->PutTextThen(kEpisodeDocuments, token, std::move(document),
                          [this, source](const Status& status) { Written(status); });
}

void EpisodeWriter::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // One batch at a time: while the store is slow, what changes is not made yet.
    std::vector<std::string> due;
    if (writing_ == 0) due = TakeDue();
    if (due.empty()) {
      if (stopping_ && writing_ == 0) return;
      if (flushing_ > 0 && writing_ == 0) changed_.notify_all();
      const TimePoint next = writing_ > 0 ? TimePoint::max() : NextDue();
      if (next == TimePoint::max())
        changed_.wait(lock);
      else
        changed_.wait_until(lock, next);
      continue;
    }
    lock.unlock();
    for (const std::string& token : due) Write(token, /*only_fresh=*/false);
    lock.lock();
  }
}

void EpisodeWriter::Written(const Status& status) {
  if (!status.ok()) LogWarn("openenv: an episode was not written: {}", status.error().message);
  const std::lock_guard lock(mutex_);
  if (--writing_ == 0) changed_.notify_all();
}

}  // namespace assay::openenv
