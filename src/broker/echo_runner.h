#pragma once

#include "base/clock.h"
#include "broker/job_runner.h"

namespace assay {

/// Judges nothing: answers after a time with a verdict that says so, `cancelled` with the error
/// "echo". For tests and load benches of the service, without GPU and Python. It can never be
/// mistaken for a judgement: it is not correct, has no times, and every reward masks it.
class EchoRunner final : public JobRunner {
 public:
  EchoRunner(std::string name, int jobs, Seconds delay)
      : name_(std::move(name)), jobs_(jobs), delay_(delay) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int jobs() const override { return jobs_; }
  [[nodiscard]] json::object Describe() const override;
  Result<json::object> Run(const JobRequest& request, const Stage& stage,
                           const CancelFlag& cancelled) override;
  Status Check(const CancelFlag&) override { return {}; }

 private:
  const std::string name_;
  const int jobs_;
  const Seconds delay_;
};

}  // namespace assay
