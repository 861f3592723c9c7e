#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "broker/documents.h"

namespace assay::openenv {

/// Writes episodes' documents behind the replies, since a write waits for the disk. A new episode
/// is written at once; what changes in it is written together after a while, as it is then;
/// different ones share a commit. What a crash takes with it is found again by the jobs: see
/// EpisodeRun::Load. Thread-safe.
class EpisodeWriter {
 public:
  /// A change waits this long for the next one: a turn that takes less is not worth a write.
  static constexpr Seconds kDelay{0.25};

  /// Makes the document as it is now. Called on the writer's thread, under no lock; what it holds
  /// stays alive until the document is written.
  using Source = std::function<json::object()>;

  explicit EpisodeWriter(DocumentStore* documents);
  ~EpisodeWriter() { Stop(); }
  EpisodeWriter(const EpisodeWriter&) = delete;
  EpisodeWriter& operator=(const EpisodeWriter&) = delete;

  /// There is a new document, or one changed. Quick; may be called under the lock that `source`
  /// takes.
  void PutNew(const std::string& token, Source source) { Put(token, std::move(source), {}); }
  void PutChanged(const std::string& token, Source source) {
    Put(token, std::move(source), DeadlineIn(kDelay));
  }
  /// Returns when everything that was put before is written.
  void Flush();
  /// Writes what is left; what is put later is dropped. The store may go after this.
  void Stop();

 private:
  void Put(const std::string& token, Source source, TimePoint due);
  [[nodiscard]] std::vector<std::string> TakeDue();
  void Work();
  void Written(const Status& status);

  DocumentStore* const documents_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  struct Due {
    std::string token;
    TimePoint at;
  };
  std::vector<std::string> fresh_;  ///< due now
  std::deque<Due> changed_later_;   ///< in the order of their times
  std::unordered_map<std::string, Source> waiting_;
  size_t writing_ = 0;   ///< given to the store, not done
  size_t flushing_ = 0;  ///< somebody waits: everything is due
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace assay::openenv
