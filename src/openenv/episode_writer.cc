#include "openenv/episode_writer.h"

#include <utility>

#include "base/log.h"

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

void EpisodeWriter::Put(const std::string& token, json::object document) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    const auto [entry, added] = waiting_.insert_or_assign(token, std::move(document));
    if (added) order_.push_back(entry->first);
  }
  changed_.notify_all();
}

std::optional<json::object> EpisodeWriter::Find(const std::string& token) const {
  const std::lock_guard lock(mutex_);
  for (const auto* documents : {&waiting_, &writing_})
    if (const auto found = documents->find(token); found != documents->end()) return found->second;
  return std::nullopt;
}

void EpisodeWriter::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return order_.empty() && writing_.empty(); });
}

void EpisodeWriter::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // One batch at a time, so that two versions of a document keep their order.
    changed_.wait(lock, [&] { return writing_.empty() && (stopping_ || !order_.empty()); });
    if (order_.empty()) return;
    const std::deque<std::string> tokens = std::exchange(order_, {});
    writing_ = std::exchange(waiting_, {});
    const std::unordered_map<std::string, json::object> batch = writing_;
    lock.unlock();
    for (const std::string& token : tokens)
      documents_->PutThen(kKind, token, batch.at(token),
                          [this, token](const Status& status) { Written(token, status); });
    lock.lock();
  }
}

void EpisodeWriter::Written(const std::string& token, const Status& status) {
  if (!status.ok()) LogWarn("openenv: an episode was not written: {}", status.error().message);
  const std::lock_guard lock(mutex_);
  writing_.erase(token);
  changed_.notify_all();
}

}  // namespace assay::openenv
