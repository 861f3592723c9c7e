#pragma once

#include <functional>
#include <memory>

#include "base/json.h"
#include "base/metrics.h"
#include "broker/documents.h"
#include "broker/jobs.h"
#include "http/router.h"
#include "http/timer.h"
#include "openenv/settings.h"
#include "task/task.h"

namespace assay {
namespace openenv {

/// Kind of the documents that episodes are.
inline constexpr const char* kEpisodeDocuments = "openenv.episode";

}  // namespace openenv

/// What the environment server stands on. The pointers outlive the router and all connections.
struct OpenEnvContext {
  openenv::Settings settings;
  std::shared_ptr<const TaskRegistry> tasks;  ///< does not change any more
  JobService* jobs = nullptr;
  DocumentStore* documents = nullptr;  ///< episodes, so that they survive a restart
  http::Timers* timers = nullptr;
  MetricRegistry* metrics = nullptr;  ///< null: counted nowhere
  /// gpu, arch, driver, torch, triton: for prompts and /health. May be empty, cheap, any thread.
  std::function<json::object()> hardware;
  /// What else /metadata says of the server: `ready`, `roofline`, further `limits`. As `hardware`.
  std::function<json::object()> about;
};

/// Adds Kernel Env's routes for OpenEnv clients (openenv-core 0.3.0 and newer): WebSocket /ws and
/// /mcp; /reset, /step, /state (not in production mode); /health, /schema, /metadata,
/// /openapi.json, /docs; POST /mcp; the Task API; /web.
///
/// One request's life: a WebSocket message waits for the ones before it, becomes an action, then a
/// job with a ticket in the episode's document; the reply is the verdict's observation, or at the
/// deadline a ticket to poll. Nothing here blocks, opens a socket or runs a submission.
///
/// Out of scope: judging (JobService), transport, keys and limits of bytes (http), other protocols.
void AddOpenEnv(http::Router* router, OpenEnvContext context);

}  // namespace assay
