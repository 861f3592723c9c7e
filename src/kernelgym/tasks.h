#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "http/message.h"
#include "kernelgym/kernelgym.h"
#include "kernelgym/outcome.h"
#include "kernelgym/plan.h"
#include "kernelgym/waits.h"

namespace assay::kernelgym {

/// The tasks of this protocol: from requests to jobs, and from names to what became of them.
/// Thread-safe.
class Tasks {
 public:
  explicit Tasks(const KernelGymContext* context);

  /// Called on any thread for each task that this process submitted, when it has ended; also while
  /// this object is being destroyed.
  void OnFinished(std::function<void(const TaskRecord&, const Job&)> finished) {
    finished_ = std::move(finished);
  }

  /// What a request came to: a record, with a job or a refusal in it, or an answer that says why
  /// there is none (unknown workflow, full queue).
  struct Accepted {
    TaskRecord record;  ///< where there is an answer: its id at least
    std::optional<http::Response> refused;
  };
  using Done = std::function<void(Accepted)>;
  /// Calls `done` once, on any thread, when the job and its record are on the disk (at once where
  /// nothing has to be written). Does not wait for the disk itself. `done` keeps this object alive.
  void Accept(const std::string& owner, EvaluationRequest request, Done done);

  /// A task by the client's name, or one of its halves (`<id>_kernel`, `<id>_ref`).
  struct Found {
    TaskRecord record;
    std::shared_ptr<const Job> job;  ///< null: refused without a judgement
    Part part = Part::kWhole;
    std::string name;  ///< as it was asked for

    [[nodiscard]] bool finished() const { return !job || job->state == JobState::kDone; }
  };
  std::optional<Found> Find(const std::string& owner, const std::string& name);

  /// Of a finished task.
  [[nodiscard]] Outcome OutcomeOf(const TaskRecord& record, const Job* job) const;

  /// The client's name of a job; empty when it is not of this protocol, or not plain ASCII.
  static std::string NameOf(const Job& job);

  Waits& waits() { return waits_; }

 private:
  std::optional<TaskRecord> Load(const std::string& owner, const std::string& id);
  /// Whether what is known under this name answers `request`.
  bool StillGood(const TaskRecord& record, const EvaluationRequest& request);
  /// What became of a submission: the job's name in the record, or a refusal.
  void Submitted(const Result<SharedJob>& job, Accepted* accepted);
  void Store(Accepted accepted, Done done);
  void TellWhenDone(const TaskRecord& record);

  const KernelGymContext* const context_;
  std::function<void(const TaskRecord&, const Job&)> finished_;
  Waits waits_;
};

/// "" or why the names in a request are none that this service has.
std::string CheckNames(const EvaluationRequest& request);

}  // namespace assay::kernelgym
