#include "kernelgym/waits.h"

#include <atomic>
#include <utility>

namespace assay::kernelgym {

struct Waits::Wait {
  uint64_t number = 0;
  std::atomic<bool> over{false};
  std::function<void(const Job*)> done;
  std::shared_ptr<void> job_handle;  ///< these two under the book's lock
  std::shared_ptr<void> timer;
};

void Waits::Finish(const std::shared_ptr<Book>& book, const std::shared_ptr<Wait>& wait,
                   const Job* job) {
  if (wait->over.exchange(true)) return;
  std::shared_ptr<void> job_handle;
  std::shared_ptr<void> timer;
  {
    const std::lock_guard lock(book->mutex);
    job_handle = std::move(wait->job_handle);
    timer = std::move(wait->timer);
    book->waits.erase(wait->number);
  }
  const auto done = std::move(wait->done);
  done(job);
}

void Waits::Await(const std::string& job_id, std::optional<Seconds> limit,
                  std::function<void(const Job*)> done) {
  auto wait = std::make_shared<Wait>();
  wait->done = std::move(done);
  {
    const std::lock_guard lock(book_->mutex);
    wait->number = ++book_->next;
    book_->waits.emplace(wait->number, wait);
  }
  // The callbacks hold the wait weakly: the book alone keeps it alive, so dropping the book drops
  // everything, and a handle inside the wait makes no cycle.
  const std::weak_ptr<Wait> weak = wait;
  const std::weak_ptr<Book> book = book_;
  const auto finish = [weak, book](const Job* job) {
    const auto held = weak.lock();
    const auto alive = book.lock();
    if (held && alive) Finish(alive, held, job);
  };
  const auto ended = [finish](const Job& job) { finish(&job); };
  Result<std::shared_ptr<void>> handle =
      limit ? jobs_->WhenDoneOrKept(job_id, ended) : jobs_->WhenDone(job_id, ended);
  if (!handle.ok()) {
    finish(nullptr);
    return;
  }
  std::shared_ptr<void> timer;
  if (limit && !wait->over) timer = timers_->After(*limit, [finish] { finish(nullptr); });
  const std::lock_guard lock(book_->mutex);
  if (wait->over) return;  // the handles go with this scope
  wait->job_handle = *std::move(handle);
  wait->timer = std::move(timer);
}

size_t Waits::pending() const {
  const std::lock_guard lock(book_->mutex);
  return book_->waits.size();
}

}  // namespace assay::kernelgym
