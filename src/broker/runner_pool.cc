#include "broker/runner_pool.h"

#include <exception>

#include "base/log.h"

namespace assay {
namespace {

/// How long one look into the queue lasts, and so a stop at most.
constexpr Seconds kLook{0.5};
/// After a store that cannot be written, or a runner that cannot work.
constexpr Seconds kBackoff{1};

}  // namespace

RunnerPool::RunnerPool(JobLeases* leases, std::vector<std::shared_ptr<JobRunner>> runners)
    : leases_(leases) {
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
    Result<std::optional<Delivery>> lease = leases_->Lease(name, kLook, Seconds(0));
    if (!lease.ok()) {
      LogWarn("{} cannot take a job: {}", name, lease.error().message);
      static_cast<void>(PauseUnlessStopping(kBackoff));
    } else if (*lease) {
      Judge(worker, **lease);
    }
  }
}

void RunnerPool::Judge(Worker* worker, const Delivery& delivery) {
  const std::string& id = delivery.job->request->id;
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
                      worker->runner->Describe()});
  return states;
}

}  // namespace assay
