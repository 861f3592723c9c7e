#include "broker/store_writer.h"

#include <future>

namespace assay {
namespace {

/// Bounds how long one transaction holds the others up: about 20 ms.
constexpr size_t kMaxBatch = 512;

}  // namespace

StoreWriter::StoreWriter(Store* store) : store_(store), thread_([this] { Work(); }) {}

StoreWriter::~StoreWriter() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StoreWriter::Post(Change change, Done done) {
  {
    const std::lock_guard guard(mutex_);
    queue_.push_back({std::move(change), std::move(done)});
  }
  changed_.notify_one();
}

Status StoreWriter::Run(Change change) {
  ASSAY_CHECK(std::this_thread::get_id() != thread_.get_id());
  // Shared: the waiting side may be gone before set_value() has returned.
  auto promise = std::make_shared<std::promise<Status>>();
  std::future<Status> future = promise->get_future();
  Post(std::move(change), [promise](const Status& status) { promise->set_value(status); });
  return future.get();
}

Status StoreWriter::Commit(std::deque<Entry>* batch) {
  const std::lock_guard guard(store_->db().mutex());
  ASSAY_RETURN_IF_ERROR(store_->db().Execute("BEGIN IMMEDIATE"));
  Status status;
  for (Entry& entry : *batch) {
    status = entry.change(store_);
    if (!status.ok()) break;
  }
  if (status.ok()) status = store_->db().Execute("COMMIT");
  // SQLite has undone it by itself after some errors; then this changes nothing.
  if (!status.ok()) static_cast<void>(store_->db().Execute("ROLLBACK"));
  return status;
}

void StoreWriter::Work() {
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::deque<Entry> batch;
    while (!queue_.empty() && batch.size() < kMaxBatch) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    guard.unlock();
    const Status status = Commit(&batch);
    if (!status.ok() && batch.size() > 1) {
      // One change's error must not be the others': each alone.
      for (Entry& entry : batch) {
        std::deque<Entry> single;
        single.push_back(std::move(entry));
        single.front().done(Commit(&single));
      }
    } else {
      for (Entry& entry : batch) entry.done(status);
    }
    batch.clear();
    guard.lock();
  }
}

}  // namespace assay
