#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broker/documents.h"
#include "broker/jobs.h"
#include "http/router.h"
#include "http/timer.h"
#include "kernelgym/machine.h"

namespace assay::kernelgym {

/// Kind of the documents that tasks are.
inline constexpr const char* kTaskDocuments = "kernelgym.task";

/// One worker of this service, as /workers/status shows it.
struct WorkerInfo {
  std::string id;      ///< "local-0"
  std::string device;  ///< "cuda:0", "cpu"
  bool online = true;
  double last_heartbeat = 0;  ///< Unix time; 0: now (it lives in this process)
  std::string node_id;
  std::string hostname;
};

/// What the protocol needs of the rest of the service. The pointers must outlive the router that
/// the routes are added to; the functions may be called on any thread and must not block.
struct KernelGymContext {
  JobService* jobs = nullptr;
  DocumentStore* documents = nullptr;
  http::Timers* timers = nullptr;
  std::string prefix;    ///< of all paths; with "/kernelgym" nothing collides on a shared port
  bool own_port = true;  ///< the router has no other protocol: unknown paths answer as KernelGYM's
  bool cpu = false;      ///< submissions are judged on the CPU device
  std::function<std::vector<WorkerInfo>()> workers;  ///< unset: no workers are listed
  std::function<MachineState()> machine;             ///< unset: a MachineMonitor of its own
  std::function<double()> now;                       ///< Unix time; unset: the system's clock
  /// A request is held open this long at most, then told to come again; below the 1800 s after
  /// which the usual training client gives up.
  double max_wait_s = 1700;
  bool timeout_status = false;  ///< "timeout" where a deadline passed; KernelGYM says "failed"
};

/// Adds KernelGYM's 22 routes: the protocol of hkust-nlp/KernelGYM on Assay's engine. See
/// docs/kernelgym-compatibility.md for what is done otherwise and why.
///
///     POST /evaluate ─▶ checked, planned (plan.h) ─▶ Submit ─▶ ... ─▶ verdict translated
///     (outcome.h) ─▶ 200; an infrastructure fault is 503, a full queue 429, both with Retry-After
///
/// A task is known by the client's id below the key that sent it; its record is in the document
/// store, its verdict with the job, so both survive a restart. The same id with the same content is
/// the same task; with other content it is judged anew.
void AddKernelGym(http::Router* router, KernelGymContext context);

}  // namespace assay::kernelgym
