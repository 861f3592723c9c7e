#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/jobs.h"
#include "http/message.h"
#include "http/timer.h"

namespace assay::api {

/// Calls `answer` once: with the finished job, or with the job as it is after `wait` or when the
/// service drains while it is queued. No thread waits. kNotFound.
Status WhenDoneOrLater(JobService* jobs, http::Timers* timers, const std::string& id, Seconds wait,
                       std::function<void(const Job&)> answer);

}  // namespace assay::api
