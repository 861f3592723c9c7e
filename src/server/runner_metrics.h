#pragma once

#include <string>
#include <vector>

#include "api/lease_desk.h"
#include "base/metrics.h"
#include "broker/runner_pool.h"

namespace assay {

/// Gauges and counters of what judges, one series a runner, for a collector.
std::vector<MetricSample> RunnerSamples(const std::vector<RunnerPool::WorkerState>& runners);

/// The same of workers in processes of their own, as far as the server knows it, and of their GPUs.
std::vector<MetricSample> RemoteSamples(const std::vector<LeaseDesk::WorkerState>& workers);

/// Why nothing can be judged: every runner failed its check, and how. Empty while one is fit.
std::string NoneFit(const std::vector<RunnerPool::WorkerState>& runners);

}  // namespace assay
