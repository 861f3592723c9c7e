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

void EpisodeWriter::Put(const std::string& token, Source source) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    const auto [entry, added] = waiting_.try_emplace(token);
    std::swap(entry->second, source);  // the older one goes after the lock
    if (!added) return;
    order_.push_back(token);
  }
  changed_.notify_all();
}

void EpisodeWriter::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return order_.empty() && writing_ == 0; });
}

void EpisodeWriter::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // One batch at a time, so that two versions of a document keep their order.
    changed_.wait(lock, [&] { return writing_ == 0 && (stopping_ || !order_.empty()); });
    if (order_.empty()) return;
    const std::deque<std::string> tokens = std::exchange(order_, {});
    std::unordered_map<std::string, Source> batch = std::exchange(waiting_, {});
    writing_ = tokens.size();
    lock.unlock();
    for (const std::string& token : tokens) {
      const Source& source = batch.at(token);
      documents_->PutThen(kEpisodeDocuments, token, source(),
                          [this, source](const Status& status) { Written(status); });
    }
    batch.clear();
    lock.lock();
  }
}

void EpisodeWriter::Written(const Status& status) {
  if (!status.ok()) LogWarn("openenv: an episode was not written: {}", status.error().message);
  const std::lock_guard lock(mutex_);
  if (--writing_ == 0) changed_.notify_all();
}

}  // namespace assay::openenv
