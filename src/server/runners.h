#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/job_runner.h"
#include "server/options.h"
#include "task/task.h"

namespace assay {

/// Starts what judges: an engine for each device (at the same time; each imports torch), the echo,
/// or nothing. Blocks for seconds. The error names the device.
Result<std::vector<std::shared_ptr<JobRunner>>> StartRunners(
    const RunnerOptions& options, const std::shared_ptr<const TaskRegistry>& tasks);

}  // namespace assay
