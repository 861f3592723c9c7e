#include "server/runners.h"

#include <optional>
#include <thread>

#include "base/hash.h"
#include "broker/echo_runner.h"
#include "broker/engine_runner.h"

namespace assay {

Result<std::vector<std::shared_ptr<JobRunner>>> StartRunners(
    const RunnerOptions& options, const std::shared_ptr<const TaskRegistry>& tasks) {
  std::vector<std::shared_ptr<JobRunner>> runners;
  if (options.none) return runners;
  if (options.echo) {
    runners.push_back(std::make_shared<EchoRunner>("echo", options.jobs, options.echo_delay));
    return runners;
  }
  std::vector<std::string> devices = options.devices;
  if (devices.empty()) devices = {"auto"};
  std::vector<std::optional<Result<std::unique_ptr<EngineRunner>>>> started(devices.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < devices.size(); ++i) {
      threads.emplace_back([&, i] {
        EngineRunner::Options runner;
        runner.engine.device = options.device;
        runner.engine.device.device = devices[i];
        runner.engine.secret = options.secret;
        runner.jobs = options.jobs;
        started[i].emplace(EngineRunner::Start(std::move(runner), tasks));
      });
    }
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    Result<std::unique_ptr<EngineRunner>>& result = *started[i];
    if (!result.ok())
      return Error{result.error().code,
                   fmt::format("device '{}': {}", devices[i], result.error().message)};
    runners.push_back(*std::move(result));
  }
  return runners;
}

}  // namespace assay
