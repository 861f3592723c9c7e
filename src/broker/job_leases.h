#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "broker/job_runner.h"
#include "broker/jobs.h"

namespace assay {

/// One job in the hands of one worker. The pair (job's id, number) is the fencing token: what an
/// earlier delivery still says is refused.
struct Delivery {
  std::shared_ptr<const Job> job;  ///< as it was when it was delivered
  int number = 0;                  ///< job->deliveries
  CancelFlag cancelled;
};

/// The workers' side of the job service. Thread-safe.
///
///     Lease ──▶ SetStage*, Renew* ──▶ Complete     the verdict is kept
///                       │       └───▶ Return       given back: queued again
///                       └── not renewed in time:   lost: queued again, 3 times; then infra_error
class JobLeases {
 public:
  virtual ~JobLeases() = default;

  /// The next job; nothing when none came within `wait` or the service drains. The delivery is
  /// written down behind this call and before anything else about the job. `ttl`: the lease ends
  /// unless it is renewed in time; 0: it does not (a worker that lives and dies with the service).
  /// Errors: the service cannot deliver now; try again later.
  virtual Result<std::optional<Delivery>> Lease(const std::string& worker, Seconds wait,
                                                Seconds ttl) = 0;

  // kClosed from any of these: the delivery is over, the worker should drop it.

  virtual Status Renew(const Delivery& delivery, Seconds ttl) = 0;
  virtual Status SetStage(const Delivery& delivery, std::string_view stage) = 0;
  /// Durable when it returns. Errors other than kClosed: not stored; call again.
  virtual Status Complete(const Delivery& delivery, json::object verdict) = 0;
  /// As Complete, for workers that have more to do: takes the verdict over and stores it behind
  /// this call, trying again for as long as the store cannot be written. Only then anybody sees it.
  virtual Status CompleteBehind(const Delivery& delivery, json::object verdict) = 0;
  /// The worker cannot do it; `lost` counts against the job (the worker broke on it).
  virtual Status Return(const Delivery& delivery, bool lost, std::string_view why) = 0;
};

}  // namespace assay
