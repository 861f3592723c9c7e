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

/// Writes episodes' documents behind the replies, since a write waits for the disk. A document is
/// made when it is written, a while after its first change: however often it changed until then, it
/// is made and written once; different ones share a commit. What a crash takes with it is found
/// again by the jobs (see EpisodeRun::Load), which needs a document: the first goes to the store
/// before the episode's first job does. Thread-safe.
class EpisodeWriter {
 public:
  /// A new episode's document waits so long: one that ends sooner is written once.
  static constexpr Seconds kNewDelay{0.1};
  /// And a change, for the next one: a turn that takes less is not worth a write.
  static constexpr Seconds kChangeDelay{0.25};

  /// Makes the document's JSON as it is now. Called on the writer's thread, under no lock; what it
  /// holds stays alive until the document is written.
  using Source = std::function<std::string()>;

  explicit EpisodeWriter(DocumentStore* documents);
  ~EpisodeWriter() { Stop(); }
  EpisodeWriter(const EpisodeWriter&) = delete;
  EpisodeWriter& operator=(const EpisodeWriter&) = delete;

  /// There is a new document, or one changed. Quick; may be called under the lock that `source`
  /// takes.
  void PutNew(const std::string& token, Source source) {
    Put(token, std::move(source), /*fresh=*/true);
  }
  void PutChanged(const std::string& token, Source source) {
    Put(token, std::move(source), /*fresh=*/false);
  }
  /// When this returns, a document that was new has been given to the store, before what the caller
  /// gives it next. Not under the lock that `source` takes.
  void WriteFirst(const std::string& token) { Write(token, /*only_fresh=*/true); }
  /// The document is wanted no more, if it is not on its way already.
  void Drop(const std::string& token);
  /// Returns when everything that was put before is written.
  void Flush();
  /// Writes what is left; what is put later is dropped. The store may go after this.
  void Stop();

 private:
  struct Due {
    std::string token;
    TimePoint at;
  };
  using Queue = std::deque<Due>;  ///< in the order of their times
  struct Waiting {
    Source source;
    bool fresh = false;  ///< the store has nothing of it yet
  };

  void Put(const std::string& token, Source source, bool fresh);
  [[nodiscard]] std::vector<std::string> TakeDue();
  void Write(const std::string& token, bool only_fresh);
  [[nodiscard]] TimePoint NextDue() const;
  void Work();
  void Written(const Status& status);

  DocumentStore* const documents_;
  std::mutex giving_;  ///< held while one document is made and given to the store; before mutex_
  std::mutex mutex_;   ///< guards what follows
  std::condition_variable changed_;
  Queue new_;
  Queue changed_later_;
  std::unordered_map<std::string, Waiting> waiting_;
  size_t writing_ = 0;   ///< given to the store, not done
  size_t flushing_ = 0;  ///< somebody waits: everything is due
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace assay::openenv
