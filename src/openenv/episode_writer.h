#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/json.h"
#include "broker/documents.h"

namespace assay::openenv {

/// Writes episodes' documents behind the replies, since a write waits for the disk. A document is
/// made when it is written: however often it changed since the last time, it is made and written
/// once; different ones share a commit. What a crash takes with it is found again by the jobs: see
/// EpisodeRun::Load. Thread-safe.
class EpisodeWriter {
 public:
  /// Makes the document as it is now. Called on the writer's thread, under no lock; what it holds
  /// stays alive until the document is written.
  using Source = std::function<json::object()>;

  explicit EpisodeWriter(DocumentStore* documents);
  ~EpisodeWriter() { Stop(); }
  EpisodeWriter(const EpisodeWriter&) = delete;
  EpisodeWriter& operator=(const EpisodeWriter&) = delete;

  /// The document changed. Quick; may be called under the lock that `source` takes.
  void Put(const std::string& token, Source source);
  /// Returns when everything that was put before is written.
  void Flush();
  /// Writes what is left; what is put later is dropped. The store may go after this.
  void Stop();

 private:
  void Work();
  void Written(const Status& status);

  DocumentStore* const documents_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<std::string> order_;
  std::unordered_map<std::string, Source> waiting_;
  size_t writing_ = 0;  ///< given to the store, not done
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace assay::openenv
