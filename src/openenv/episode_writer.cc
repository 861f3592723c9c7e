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

void EpisodeWriter::Put(const std::string& token, Source source, Seconds delay, Queue* queue) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    const auto [entry, added] = waiting_.try_emplace(token);
    std::swap(entry->second, source);  // the older one goes after the lock
    if (!added) return;
    wake = queue->empty();
    queue->push_back({token, DeadlineIn(delay)});
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
std::vector<std::pair<std::string, EpisodeWriter::Source>> EpisodeWriter::TakeDue() {
  std::vector<std::pair<std::string, Source>> due;
  const TimePoint now = stopping_ || flushing_ > 0 ? TimePoint::max() : Clock::now();
  for (Queue* queue : {&new_, &changed_later_}) {
    for (; !queue->empty() && queue->front().at <= now; queue->pop_front())
      if (auto entry = waiting_.extract(queue->front().token))  // else it was dropped
        due.emplace_back(std::move(entry.key()), std::move(entry.mapped()));
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

void EpisodeWriter::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // One batch at a time, so that two versions of a document keep their order.
    std::vector<std::pair<std::string, Source>> due;
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
    writing_ = due.size();
    lock.unlock();
    for (auto& [token, source] : due) {
      std::string document = source();
      // Shared: what it holds must not be copied with the call.
      auto held = std::make_shared<Source>(std::move(source));
      documents_->PutTextThen(kEpisodeDocuments, token, std::move(document),
                              [this, held](const Status& status) { Written(status); });
    }
    lock.lock();
  }
}

void EpisodeWriter::Written(const Status& status) {
  if (!status.ok()) LogWarn("openenv: an episode was not written: {}", status.error().message);
  const std::lock_guard lock(mutex_);
  if (--writing_ == 0) changed_.notify_all();
}

}  // namespace assay::openenv
