#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/documents.h"
#include "broker/jobs.h"
#include "http/router.h"
#include "http/timer.h"
#include "task/task.h"

namespace assay {

class LeaseDesk;

/// Limits of the native API, with their reasons.
struct ApiLimits {
  double max_wait_s = 60;     ///< of a long poll: less than the idle limit of most proxies
  size_t page = 50;           ///< jobs on a page of a listing
  size_t max_page = 200;      ///< ... at most: a page is read while others wait
  size_t max_batch = 10'000;  ///< lines of a batch
  size_t batch_window = 64;   ///< jobs of one batch in the queue at once; the rest wait for them
  double keep_alive_s = 15;   ///< between signs of life on a silent event stream
};

/// What the handlers work with; everything outlives the router.
struct ApiContext {
  JobService* jobs = nullptr;
  http::Timers* timers = nullptr;
  std::shared_ptr<const TaskRegistry> tasks;  ///< not changed any more
  /// One object a worker: {name, jobs, working_on, judged, failed, ...}; null: there are none here.
  std::function<json::array()> workers;
  std::string version;                 ///< of Assay, for the OpenAPI document
  DocumentStore* documents = nullptr;  ///< where episodes are; null: there are none
  std::string episodes;                ///< the kind of their documents
  ApiLimits limits;
  std::shared_ptr<LeaseDesk> desk{};  ///< of workers in processes of their own; null: none can come
};

/// The native HTTP API below /v1. A table of operations registers the handlers and makes the
/// OpenAPI document (/v1/openapi.json), so that neither can say what the other does not.
///
///     POST /v1/submissions?wait=20      judge a submission: 200 with the verdict, or 202
///     GET  /v1/submissions/{id}?wait=20 its state, stage and verdict; a long poll
///     GET  /v1/submissions              pages, newest first; filters
///     DELETE /v1/submissions/{id}       cancel
///     GET  /v1/submissions/{id}/events  server-sent events: stages, then the verdict
///     GET  /v1/submissions/{id}/source | reward
///     GET  /v1/episodes[/{id}]          Kernel Env's, newest change first
///     GET  /v1/traces/{id}              a submission as a row of `assay export`
///     POST /v1/batches                  NDJSON in, NDJSON out as verdicts come
///     GET  /v1/tasks, /v1/tasks/{id...}, /v1/queue, /v1/workers, /v1/rewards
///     POST /v1/rewards                  a verdict's worth under a mode
///     POST /v1/leases, /v1/leases/renew, /v1/leases/{lease}/complete, .../return
///                                       for workers in processes of their own (LeaseDesk)
///
/// A key sees its own submissions; a key with the scope admin sees all.
void AddApi(http::Router* router, ApiContext context);

}  // namespace assay
