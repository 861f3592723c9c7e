#pragma once

#include <memory>
#include <string>

#include "broker/job_runner.h"
#include "task/task.h"
#include "worker/engine.h"

namespace assay {

/// Judges in this process, with an engine on one device.
class EngineRunner final : public JobRunner {
 public:
  struct Options {
    EngineOptions engine;
    std::string name;  ///< empty: the device's
    int jobs = 4;      ///< submissions judged at once; one of them is timed
  };
  /// Starts the engine (seconds: it imports torch). `registry` is not changed any more.
  static Result<std::unique_ptr<EngineRunner>> Start(Options options,
                                                     std::shared_ptr<const TaskRegistry> registry);

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int jobs() const override { return jobs_; }
  [[nodiscard]] json::object Describe() const override;
  Result<json::object> Run(const JobRequest& request, const Stage& stage,
                           const CancelFlag& cancelled) override;
  Status Check(const CancelFlag& cancelled) override;

 private:
  EngineRunner(std::unique_ptr<Engine> engine, std::shared_ptr<const TaskRegistry> registry,
               std::string name, int jobs)
      : engine_(std::move(engine)),
        registry_(std::move(registry)),
        name_(std::move(name)),
        jobs_(jobs) {}

  const std::unique_ptr<Engine> engine_;
  const std::shared_ptr<const TaskRegistry> registry_;
  const std::string name_;
  const int jobs_;
};

}  // namespace assay
