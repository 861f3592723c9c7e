#include "api/waiting.h"

#include <mutex>

namespace assay::api {
namespace {

/// One long poll. The timer keeps it alive; the job service knows it weakly.
class LongPoll {
 public:
  explicit LongPoll(std::function<void(const Job&)> answer) : answer_(std::move(answer)) {}

  /// The first caller wins; handles that are no more needed go with it.
  void Answer(const Job& job) {
    if (const std::function<void(const Job&)> answer = Take()) answer(job);
  }
  /// Ends it without an answer.
  std::function<void(const Job&)> Take() {
    std::function<void(const Job&)> answer;
    std::shared_ptr<void> watch;
    std::shared_ptr<void> timer;
    {
      const std::lock_guard guard(mutex_);
      answer.swap(answer_);
      watch.swap(watch_);
      timer.swap(timer_);
      answered_ = true;
    }
    return answer;
  }

  void Keep(std::shared_ptr<void> watch, std::shared_ptr<void> timer) {
    const std::lock_guard guard(mutex_);
    if (answered_) return;
    watch_ = std::move(watch);
    timer_ = std::move(timer);
  }

 private:
  std::mutex mutex_;
  std::function<void(const Job&)> answer_;
  std::shared_ptr<void> watch_;
  std::shared_ptr<void> timer_;
  bool answered_ = false;
};

}  // namespace

Status WhenDoneOrLater(JobService* jobs, http::Timers* timers, const std::string& id, Seconds wait,
                       std::function<void(const Job&)> answer) {
  auto poll = std::make_shared<LongPoll>(std::move(answer));
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<void> watch,
                         jobs->WhenDoneOrKept(id, [weak = std::weak_ptr(poll)](const Job& job) {
                           if (const std::shared_ptr<LongPoll> alive = weak.lock())
                             alive->Answer(job);
                         }));
  std::shared_ptr<void> timer = timers->After(wait, [poll, jobs, id] {
    // A job is never forgotten, but a store may fail to read it: then the sender hears nothing of
    // it and gets 500.
    const Result<std::shared_ptr<const Job>> job = jobs->Peek(id);
    if (job.ok())
      poll->Answer(**job);
    else
      static_cast<void>(poll->Take());
  });
  poll->Keep(std::move(watch), std::move(timer));
  return {};
}

}  // namespace assay::api
