#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/json.h"
#include "broker/documents.h"

namespace assay::openenv {

/// Writes episodes' documents behind the replies, since a write waits for the disk. Of several
/// versions of one document only the newest is written. What a crash takes with it is found again
/// by the jobs: see EpisodeRun::Load. Thread-safe.
class EpisodeWriter {
 public:
  explicit EpisodeWriter(DocumentStore* documents);
  /// Writes what is left.
  ~EpisodeWriter();
  EpisodeWriter(const EpisodeWriter&) = delete;
  EpisodeWriter& operator=(const EpisodeWriter&) = delete;

  void Put(const std::string& token, json::object document);
  /// Returns when everything that was put before is written.
  void Flush();

  static constexpr const char* kKind = "openenv.episode";

 private:
  void Work();

  DocumentStore* const documents_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<std::string> order_;
  std::unordered_map<std::string, json::object> waiting_;
  bool writing_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace assay::openenv
