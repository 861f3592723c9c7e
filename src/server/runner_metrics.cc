#include "server/runner_metrics.h"

#include <algorithm>

#include "base/json.h"

namespace assay {

std::vector<MetricSample> RunnerSamples(const std::vector<RunnerPool::WorkerState>& runners) {
  std::vector<MetricSample> samples;
  for (const RunnerPool::WorkerState& runner : runners) {
    const Labels labels = {{"runner", runner.name}};
    const auto add = [&](const char* name, const char* help, MetricType type, double value) {
      samples.push_back({name, help, type, labels, value});
    };
    add("assay_runner_fit", "0 while the runner fails its check and takes no jobs.",
        MetricType::kGauge, runner.fit ? 1 : 0);
    add("assay_runner_jobs", "Jobs that the runner works on.", MetricType::kGauge,
        static_cast<double>(runner.working_on.size()));
    add("assay_runner_judged_total", "Jobs that the runner judged.", MetricType::kCounter,
        static_cast<double>(runner.judged));
    add("assay_runner_faults_total", "Jobs that the runner gave back after a fault of its own.",
        MetricType::kCounter, static_cast<double>(runner.failed));
    if (runner.details.contains("warm"))
      add("assay_runner_warm_candidates", "Warmed candidates that wait for a submission.",
          MetricType::kGauge, static_cast<double>(GetInt(runner.details, "warm")));
  }
  return samples;
}

std::string NoneFit(const std::vector<RunnerPool::WorkerState>& runners) {
  const auto fit = [](const RunnerPool::WorkerState& runner) { return runner.fit; };
  if (runners.empty() || std::any_of(runners.begin(), runners.end(), fit)) return "";
  return fmt::format("no runner is fit to judge; {}: {}", runners.front().name,
                     runners.front().last_error);
}

}  // namespace assay
