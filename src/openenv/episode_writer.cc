#include "openenv/episode_writer.h"

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

void EpisodeWriter::Put(const std::string& token, Source source, TimePoint due) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    const auto [entry, added] = waiting_.try_emplace(token);
    std::swap(entry->second, source);  // the older one goes after the lock
    if (!added) return;
    if (due == TimePoint()) {
      wake = fresh_.empty();
      fresh_.push_back(token);
    } else {
      wake = changed_later_.empty();
      changed_later_.push_back({token, due});
    }
  }
  if (wake) changed_.notify_all();
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
  std::vector<std::string> due = std::exchange(fresh_, {});
  const TimePoint now = stopping_ || flushing_ > 0 ? TimePoint::max() : Clock::now();
  while (!changed_later_.empty() && changed_later_.front().at <= now) {
    due.push_back(std::move(changed_later_.front().token));
    changed_later_.pop_front();
  }
  return due;
}

void EpisodeWriter::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // One batch at a time, so that two versions of a document keep their order.
    const std::vector<std::string> due = writing_ == 0 ? TakeDue() : std::vector<std::string>();
    if (due.empty()) {
      if (stopping_ && writing_ == 0) return;
      if (writing_ > 0 || changed_later_.empty())
        changed_.wait(lock);
      else
        changed_.wait_until(lock, changed_later_.front().at);
      continue;
    }
    std::vector<Source> sources;
    for (const std::string& token : due) sources.push_back(waiting_.extract(token).mapped());
    writing_ = due.size();
    lock.unlock();
    for (size_t i = 0; i < due.size(); ++i) {
      json::object document = sources[i]();
      documents_->PutThen(
          kEpisodeDocuments, due[i], std::move(document),
          [this, source = std::move(sources[i])](const Status& status) { Written(status); });
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
