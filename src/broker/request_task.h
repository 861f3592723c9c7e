#pragma once

#include <memory>

#include "broker/jobs.h"
#include "task/task.h"

namespace assay {

/// The task that a request names or brings. kNotFound, or kInvalid with what is wrong with it.
Result<std::shared_ptr<const Task>> TaskOf(const TaskRegistry& registry, const JobRequest& request);

/// Whether a request can be judged: its task is known and its options are valid. What
/// BrokerOptions::check asks.
Status CheckRequest(const TaskRegistry& registry, const JobRequest& request);

}  // namespace assay
