#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "base/json.h"
#include "broker/documents.h"

namespace assay::openenv {

/// Writes episodes' documents behind the replies, since a write waits for the disk. Of several
/// versions of one document only the newest is written; different ones share a commit. What a crash
/// takes with it is found again by the jobs: see EpisodeRun::Load. Thread-safe.
class EpisodeWriter {
 public:
  explicit EpisodeWriter(DocumentStore* documents);
  ~EpisodeWriter() { Stop(); }
  EpisodeWriter(const EpisodeWriter&) = delete;
  EpisodeWriter& operator=(const EpisodeWriter&) = delete;

  void Put(const std::string& token, json::object document);
  /// The newest version of a document that is not written yet.
  [[nodiscard]] std::optional<json::object> Find(const std::string& token) const;
  /// Returns when everything that was put before is written.
  void Flush();
  /// Writes what is left; what is put later is dropped. The store may go after this.
  void Stop();

  static constexpr const char* kKind = "openenv.episode";

 private:
  void Work();
  void Written(const std::string& token, const Status& status);

  DocumentStore* const documents_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::deque<std::string> order_;
  std::unordered_map<std::string, json::object> waiting_;
  std::unordered_map<std::string, json::object> writing_;  ///< given to the store, not done
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace assay::openenv
