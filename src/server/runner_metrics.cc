#include "server/runner_metrics.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "server/gpu_metrics.h"

namespace assay {

namespace {

/// Series of one runner, which is named in their label.
class Series {
 public:
  explicit Series(const std::string& runner) : labels_{{"runner", runner}} {}

  void Gauge(const char* name, const char* help, double value) {
    samples_.push_back({name, help, MetricType::kGauge, labels_, value});
  }
  void Counter(const char* name, const char* help, uint64_t value) {
    samples_.push_back({name, help, MetricType::kCounter, labels_, static_cast<double>(value)});
  }
  /// What runners here and elsewhere have in common.
  void Work(size_t jobs, uint64_t judged, uint64_t failed, const json::object& details) {
    Gauge("assay_runner_jobs", "Jobs that the runner works on.", static_cast<double>(jobs));
    Counter("assay_runner_judged_total", "Jobs that the runner judged.", judged);
    Counter("assay_runner_faults_total", "Jobs that the runner gave back after a fault of its own.",
            failed);
    if (details.contains("warm"))
      Gauge("assay_runner_warm_candidates", "Warmed candidates that wait for a submission.",
            static_cast<double>(GetInt(details, "warm")));
  }
  void MoveTo(std::vector<MetricSample>* samples) {
    samples->insert(samples->end(), samples_.begin(), samples_.end());
  }

 private:
  const Labels labels_;
  std::vector<MetricSample> samples_;
};

}  // namespace

std::vector<MetricSample> RunnerSamples(const std::vector<RunnerPool::WorkerState>& runners) {
  std::vector<MetricSample> samples;
  for (const RunnerPool::WorkerState& runner : runners) {
    Series series(runner.name);
    series.Gauge("assay_runner_fit", "0 while the runner fails its check and takes no jobs.",
                 runner.fit ? 1 : 0);
    series.Work(runner.working_on.size(), runner.judged, runner.failed, runner.details);
    series.MoveTo(&samples);
  }
  return samples;
}

std::vector<MetricSample> RemoteSamples(const std::vector<LeaseDesk::WorkerState>& workers) {
  // A process that was started anew is known beside its predecessor for a while.
  std::map<std::string, const LeaseDesk::WorkerState*> latest;
  for (const LeaseDesk::WorkerState& state : workers) {
    const LeaseDesk::WorkerState*& known = latest[state.worker.name];
    if (known == nullptr || state.silent_s < known->silent_s) known = &state;
  }
  std::vector<MetricSample> samples;
  for (const auto& [name, state] : latest) {
    Series series(name);
    series.Gauge("assay_runner_silent_seconds", "Since a runner elsewhere was heard.",
                 state->silent_s);
    series.Work(state->working_on.size(), state->judged, state->failed, state->worker.details);
    series.MoveTo(&samples);
    for (MetricSample& sample : GpuSamples(GetObject(state->worker.details, "gpu"), name))
      samples.push_back(std::move(sample));
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
