#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "broker/store.h"

namespace assay {

/// The one thread that writes a store. Everything that is waiting shares one transaction and so one
/// fsync (group commit): the more there is to do, the less each costs. Thread-safe.
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
  /// Called on the writer's thread once the change is durable, or with why it is not.
  using Done = std::function<void(const Status&)>;
  void Post(Change change, Done done);

  /// Posts and waits. Not on the writer's own thread.
  Status Run(Change change);

 private:
  struct Entry {
    Change change;
    Done done;
  };

  void Work();
  Status Commit(std::deque<Entry>* batch);

  Store* const store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace assay
