#include "broker/store_writer.h"

#include <algorithm>
#include <future>

#include "base/clock.h"

namespace assay {
namespace {

/// Bounds how long one transaction holds the others up, to a few milliseconds: while one is
/// committed, those before it are answered. A commit's own cost is shared by enough of them.
constexpr size_t kMaxBatch = 96;
/// Where many write, a commit waits for those who come so soon after the one before: it costs the
/// same for all of them. Whoever writes alone (a job has three changes at most) does not wait.
constexpr Duration kGather = std::chrono::microseconds(500);
constexpr size_t kMany = 4;

}  // namespace

StoreWriter::StoreWriter(Store* store) : store_(store) {
  if (store->on_disk()) syncer_ = std::thread([this] { SyncCommitted(); });
  committer_ = std::thread([this] { CommitPosted(); });
}

StoreWriter::~StoreWriter() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  posted_.notify_one();
  committer_.join();
  {
    const std::lock_guard guard(mutex_);
    all_committed_ = true;
  }
  committed_.notify_one();
  if (syncer_.joinable()) syncer_.join();
}

bool StoreWriter::Queue(Change change, Done durable, Done committed) {
  const std::lock_guard guard(mutex_);
  queue_.push_back({std::move(change), std::move(durable), std::move(committed), {}});
  return queue_.size() == 1;
}

Status StoreWriter::Run(Change change) {
  const std::thread::id self = std::this_thread::get_id();
  ASSAY_CHECK(self != committer_.get_id() && self != syncer_.get_id());
  // Shared: the waiting side may be gone before set_value() has returned.
  auto promise = std::make_shared<std::promise<Status>>();
  std::future<Status> future = promise->get_future();
  Post(std::move(change), [promise](const Status& status) { promise->set_value(status); });
  return future.get();
}

Status StoreWriter::Commit(Entry* first, Entry* last, bool* begun) {
  const std::lock_guard guard(store_->mutex());
  ASSAY_RETURN_IF_ERROR(store_->Begin());
  *begun = true;
  Status status;
  for (Entry* entry = first; entry != last && status.ok(); ++entry) status = entry->change(store_);
  if (status.ok()) status = store_->Commit();
  if (!status.ok()) store_->Rollback();
  return status;
}

void StoreWriter::CommitPosted() {
  TimePoint next = Clock::now();
  std::unique_lock<std::mutex> guard(mutex_);
  for (;;) {
    posted_.wait(guard, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    guard.unlock();
    std::this_thread::sleep_until(next);
    next = Clock::now() + kGather;
    guard.lock();
    std::vector<Entry> posted = std::exchange(queue_, {});
    guard.unlock();
    for (size_t begin = 0; begin < posted.size(); begin += kMaxBatch) {
      Entry* const first = posted.data() + begin;
      Entry* const last = first + std::min(kMaxBatch, posted.size() - begin);
      bool begun = false;
      const Status status = Commit(first, last, &begun);
      // One change's error must not be the others': each alone.
      const bool again = !status.ok() && begun && last - first > 1;
      for (Entry* entry = first; entry != last; ++entry) {
        entry->status = again ? Commit(entry, entry + 1, &begun) : status;
        entry->change = nullptr;
        if (entry->committed) entry->committed(entry->status);
        if (!syncer_.joinable() && entry->durable) entry->durable(entry->status);
      }
    }
    if (posted.size() < kMany) next = Clock::now();
    guard.lock();
    if (!syncer_.joinable()) continue;
    const bool idle = unsynced_.empty();
    for (Entry& entry : posted)
      if (entry.durable) unsynced_.push_back(std::move(entry));
    if (idle && !unsynced_.empty()) committed_.notify_one();
  }
}

void StoreWriter::SyncCommitted() {
  std::unique_lock<std::mutex> guard(mutex_);
  for (;;) {
    committed_.wait(guard, [&] { return all_committed_ || !unsynced_.empty(); });
    if (unsynced_.empty()) return;
    std::vector<Entry> batch = std::exchange(unsynced_, {});
    guard.unlock();
    if (const Status synced = store_->Sync(); !synced.ok())
      Fatal(synced.error().message.c_str(), __FILE__, __LINE__);
    for (Entry& entry : batch) {
      entry.durable(entry.status);
      entry.durable = nullptr;
    }
    guard.lock();
  }
}

}  // namespace assay
