#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "broker/jobs.h"

namespace assay {

/// Set by anyone, once, to end a judging.
using CancelFlag = std::shared_ptr<const std::atomic<bool>>;

/// Judges jobs on one device. The seam between the job service and what does the work: the engine,
/// an echo for load tests, a script in unit tests. Thread-safe: `jobs()` threads call Run() at
/// once.
class JobRunner {
 public:
  using Stage = std::function<void(std::string_view stage)>;

  virtual ~JobRunner() = default;

  [[nodiscard]] virtual std::string name() const = 0;  ///< of the device, e.g. "cuda:0"
  [[nodiscard]] virtual int jobs() const = 0;          ///< that it can work on at once
  /// For people and /v1/workers.
  [[nodiscard]] virtual json::object Describe() const = 0;

  /// Judges; blocks. Returns the assay.verdict/1 document with raw samples, `cancelled` soon after
  /// the flag is set. An error is a fault of this runner, or of its device: the job is given to a
  /// runner again. What no runner could do (a task whose reference is broken) is an `infra_error`
  /// document.
  virtual Result<json::object> Run(const JobRequest& request, const Stage& stage,
                                   const CancelFlag& cancelled) = 0;

  /// Whether it can judge: tries what is known to pass. Asked after an error of Run(), so that a
  /// job that only fails itself is not taken for a broken device. Blocks; ends soon after the flag
  /// is set.
  virtual Status Check(const CancelFlag& cancelled) = 0;
};

/// The document of a job that came to no judgement: `name` and `message` say why. `kind` is
/// kInfrastructure or kCancelled.
json::object UnjudgedVerdict(const JobRequest& request, bool cancelled, std::string_view name,
                             std::string_view message);

}  // namespace assay
