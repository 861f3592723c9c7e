#pragma once

#include <string>
#include <vector>

#include "base/metrics.h"
#include "broker/runner_pool.h"

namespace assay {

/// Gauges and counters of what judges, one series a runner, for a collector.
std::vector<MetricSample> RunnerSamples(const std::vector<RunnerPool::WorkerState>& runners);

/// Why nothing can be judged: every runner failed its check, and how. Empty while one is fit.
std::string NoneFit(const std::vector<RunnerPool::WorkerState>& runners);

}  // namespace assay
