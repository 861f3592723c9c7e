#pragma once

#include <memory>
#include <optional>
#include <string>

#include "broker/jobs.h"
#include "http/message.h"

namespace assay::api {

/// Reads a SubmissionRequest. kInvalid names the member and what it must be; unknown members are
/// errors, since a misspelt option would otherwise be judged as if it were not there.
Result<JobRequest> ParseSubmission(const json::object& body);

/// The job is the sender's, and so is its name; the log tells which request brought it.
void SetOwner(const http::Request& request, JobRequest* job);

/// JSON Schema of what ParseSubmission takes.
json::object SubmissionRequestSchema();

/// The service's id of the submission that `owner` calls `name`: owners share no names, so none can
/// learn another's or take it. "step-1" of alice is "step-1@alice". The one owner where there are
/// no keys shares with nobody: its names are the ids.
std::string JobIdOf(std::string_view owner, std::string_view name);

/// The id under which `viewer` (the name of a key) knows a job.
std::string VisibleId(const Job& job, std::string_view viewer);

/// How a job looks to `viewer`. `raw`: the verdict with its samples and output.
json::object SubmissionJson(const Job& job, std::string_view viewer, bool raw);

/// The verdict without raw samples and output.
json::object BriefVerdict(const json::object& verdict);

std::string_view StateName(JobState state);
std::optional<JobState> ParseState(std::string_view name);

/// The HTTP answer to an error of the job service: 404, 422, 429 or 503 with Retry-After.
http::Response ErrorResponse(const http::Request& request, const Error& error, JobService* jobs);

/// Whether the sender may see the job: its own, or any for admins.
bool MaySee(const http::Request& request, const Job& job);

/// The job, or the answer: 404 also for those of others, so that ids cannot be probed.
std::shared_ptr<const Job> FindVisible(const http::Request& request, JobService* jobs,
                                       std::string_view id, http::Response* refusal);

}  // namespace assay::api
