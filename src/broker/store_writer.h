#pragma once

#include <condition_variable>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/adaptive_mutex.h"
#include "broker/store.h"

namespace assay {

/// Writes a store. A change is first committed, by one thread, and survives the process from then
/// on; then synced, by another, and survives a loss of power. Everything that is waiting shares one
/// transaction, and what was committed meanwhile one sync: the more there is to do, the less each
/// costs, and no commit waits for the disk. Thread-safe.
///
///     Post ──▶ commit ── committed() ──▶ sync ── durable()
///
/// A disk that fails to sync ends the process: what it holds is not known any more, and the next
/// start finds out.
class StoreWriter {
 public:
  /// `store` outlives this.
  explicit StoreWriter(Store* store);
  /// Finishes what was posted.
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  /// Statements of one change. An error undoes the change; it may then run once more, alone.
  using Change = std::function<Status(Store*)>;
  /// Called on one of the writer's threads, in the order of the posts; must not block.
  using Done = std::function<void(const Status&)>;
  /// Both are called with why it could not be, if it could not. Either may be null; a change whose
  /// `durable` is null waits for no sync.
  void Post(Change change, Done durable, Done committed = nullptr) {
    if (Queue(std::move(change), std::move(durable), std::move(committed))) Wake();
  }
  /// As Post, for callers that hold a lock which the writer's callbacks want: true, and then Wake()
  /// is to be called, after the lock.
  [[nodiscard]] bool Queue(Change change, Done durable, Done committed = nullptr);
  void Wake() { posted_.notify_one(); }

  /// Posts and waits until it is durable. Not on the writer's own threads.
  Status Run(Change change);

 private:
  struct Entry {
    Change change;
    Done durable;
    Done committed;
    Status status;
  };

  void CommitPosted();
  void SyncCommitted();
  Status Commit(Entry* first, Entry* last, bool* begun);

  Store* const store_;
  AdaptiveMutex mutex_;  ///< guards what follows
  std::condition_variable posted_;
  std::condition_variable committed_;
  std::vector<Entry> queue_;
  std::vector<Entry> unsynced_;
  bool stopping_ = false;       ///< nothing is posted any more
  bool all_committed_ = false;  ///< nor committed
  std::thread committer_;
  std::thread syncer_;  ///< of a store on a disk
};

}  // namespace assay
