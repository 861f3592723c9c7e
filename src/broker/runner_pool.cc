#include "broker/runner_pool.h"

#include <algorithm>
#include <exception>

#include "base/log.h"
#include "base/log_request.h"

namespace assay {
namespace {

/// After a store that cannot be written, or a job that was given back.
constexpr Seconds kBackoff{1};
/// Between two checks of a runner that fails them, at most.
constexpr Seconds kLongestPause{60};

}  // namespace

RunnerPool::RunnerPool(JobLeases* leases, std::vector<std::shared_ptr<JobRunner>> runners,
                       Pace pace)
    : leases_(leases), pace_(pace) {
  for (std::shared_ptr<JobRunner>& runner : runners) {
    workers_.push_back(std::make_unique<Worker>());
    Worker* worker = workers_.back().get();
    worker->runner = std::move(runner);
    for (int i = 0; i < worker->runner->jobs(); ++i)
      threads_.emplace_back([this, worker] { Work(worker); });
  }
}

RunnerPool::~RunnerPool() { Stop(); }

void RunnerPool::Stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  end_checks_->store(true);
  stop_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

bool RunnerPool::PauseUnlessStopping(Seconds pause) {
  std::unique_lock guard(mutex_);
  if (pause.count() > 0) stop_.wait_for(guard, pause, [&] { return stopping_; });
  return !stopping_;
}

void RunnerPool::Work(Worker* worker) {
  const std::string name = worker->runner->name();
  while (PauseUnlessStopping(Seconds(0))) {
    if (!IsFit(*worker)) {
      AwaitFit(worker);
      continue;
    }
    Result<std::optional<Delivery>> lease = leases_->Lease(name, pace_.look, pace_.ttl);
    if (!lease.ok()) {
      LogWarn("{} cannot take a job: {}", name, lease.error().message);
      static_cast<void>(PauseUnlessStopping(kBackoff));
    } else if (*lease && !IsFit(*worker)) {
      // Another thread of it found out meanwhile.
      static_cast<void>(leases_->Return(**lease, /*lost=*/false, name + " failed its check"));
    } else if (*lease && PauseUnlessStopping(Seconds(0))) {
      Judge(worker, **lease);
    } else if (*lease) {
      static_cast<void>(leases_->Return(**lease, /*lost=*/false, "the worker stops"));
    }
  }
}

bool RunnerPool::IsFit(const Worker& worker) const {
  const std::lock_guard guard(mutex_);
  return worker.fit;
}

/// What the check says is the worker's state from then on.
Status RunnerPool::Check(Worker* worker) {
  Status passed = [&]() -> Status {
    try {
      return worker->runner->Check(end_checks_);
    } catch (const std::exception& exception) {
      return Err(ErrorCode::kInternal, "the check failed: {}", exception.what());
    }
  }();
  if (*end_checks_) return {};  // then it says nothing
  const std::lock_guard guard(mutex_);
  worker->fit = passed.ok();
  if (!passed.ok()) worker->last_error = passed.error().message;
  return passed;
}

/// One of the worker's threads checks it until it passes; the others wait for that.
void RunnerPool::AwaitFit(Worker* worker) {
  const std::string name = worker->runner->name();
  {
    std::unique_lock guard(mutex_);
    if (std::exchange(worker->checking, true)) {
      stop_.wait(guard, [&] { return stopping_ || !worker->checking; });
      return;
    }
  }
  for (Seconds pause = pace_.first_pause; PauseUnlessStopping(pause);
       pause = std::min(2 * pause, kLongestPause)) {
    const Status passed = Check(worker);
    if (passed.ok()) {
      LogInfo("{} passes its check and takes jobs again", name);
      break;
    }
    LogWarn("{} fails its check again: {}", name, passed.error().message);
  }
  {
    const std::lock_guard guard(mutex_);
    worker->checking = false;
  }
  stop_.notify_all();
}

void RunnerPool::Judge(Worker* worker, const Delivery& delivery) {
  const std::string& id = delivery.job->request->id;
  const LogRequest of(delivery.job->request->request_id);
  {
    const std::lock_guard guard(mutex_);
    worker->working_on.insert(id);
  }
  Result<json::object> verdict = [&]() -> Result<json::object> {
    try {
      return worker->runner->Run(
          delivery.job->request,
          [&](std::string_view stage) { static_cast<void>(leases_->SetStage(delivery, stage)); },
          delivery.cancelled);
    } catch (const std::exception& exception) {
      return Err(ErrorCode::kInternal, "the runner failed: {}", exception.what());
    }
  }();
  {
    const std::lock_guard guard(mutex_);
    worker->working_on.erase(id);
    if (verdict.ok()) {
      ++worker->judged;
    } else {
      ++worker->failed;
      worker->last_error = verdict.error().message;
    }
  }
  if (!verdict.ok()) {
    // While the job is still here, so that no other thread of a broken runner gets it.
    if (IsFit(*worker))
      if (const Status passed = Check(worker); !passed.ok())
        LogWarn("{} fails its check and takes no jobs until it passes: {}", worker->runner->name(),
                passed.error().message);
    static_cast<void>(leases_->Return(delivery, /*lost=*/true, verdict.error().message));
    // Another worker should have it, not this one again at once.
    static_cast<void>(PauseUnlessStopping(kBackoff));
    return;
  }
  if (const Status kept = leases_->CompleteBehind(delivery, *std::move(verdict)); !kept.ok())
    LogWarn("a verdict is dropped: {}", kept.error().message);
}

std::vector<RunnerPool::WorkerState> RunnerPool::Workers() const {
  std::vector<WorkerState> states;
  const std::lock_guard guard(mutex_);
  for (const std::unique_ptr<Worker>& worker : workers_)
    states.push_back({worker->runner->name(),
                      worker->runner->jobs(),
                      {worker->working_on.begin(), worker->working_on.end()},
                      worker->judged,
                      worker->failed,
                      worker->last_error,
                      worker->fit,
                      worker->runner->Describe()});
  return states;
}

}  // namespace assay
