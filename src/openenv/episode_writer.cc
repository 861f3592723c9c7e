#include "openenv/episode_writer.h"

#include <utility>

#include "base/log.h"

namespace assay::openenv {

EpisodeWriter::EpisodeWriter(DocumentStore* documents)
    : documents_(documents), thread_([this] { Work(); }) {}

EpisodeWriter::~EpisodeWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EpisodeWriter::Put(const std::string& token, json::object document) {
  {
    const std::lock_guard lock(mutex_);
    const auto [entry, added] = waiting_.insert_or_assign(token, std::move(document));
    if (added) order_.push_back(entry->first);
  }
  changed_.notify_all();
}

void EpisodeWriter::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return order_.empty() && !writing_; });
}

void EpisodeWriter::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !order_.empty(); });
    if (order_.empty()) return;
    const std::string token = std::move(order_.front());
    order_.pop_front();
    const auto found = waiting_.find(token);
    const json::object document = std::move(found->second);
    waiting_.erase(found);
    writing_ = true;
    lock.unlock();
    if (const Status status = documents_->Put(kKind, token, document); !status.ok())
      LogWarn("openenv: an episode was not written: {}", status.error().message);
    lock.lock();
    writing_ = false;
    changed_.notify_all();
  }
}

}  // namespace assay::openenv
