#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "broker/documents.h"
#include "kernelgym/kernelgym.h"

namespace assay::kernelgym {

/// Workers that registered themselves over HTTP, and the names of nodes. A ledger only: work goes
/// to this service's own workers, so one that registers here gets none; KernelGYM's worker scripts
/// and dashboards see what they expect. Thread-safe; node names survive a restart.
class WorkerBook {
 public:
  /// After this long without a heartbeat a worker is offline; after the second it is forgotten.
  static constexpr double kFreshSeconds = 30;
  static constexpr double kForgetSeconds = 120;

  explicit WorkerBook(DocumentStore* documents) : documents_(documents) {}

  /// Registering again replaces what was known.
  void Register(const WorkerInfo& worker, double now);
  void Unregister(const std::string& id);
  /// kInvalid: the worker is unknown and names no device, its device is another worker's of the
  /// same node, or it is not the device that it registered with. An unknown worker with a device
  /// registers itself.
  Status Heartbeat(const WorkerInfo& worker, double now);
  void Evict(const std::string& id);

  [[nodiscard]] std::vector<WorkerInfo> List(double now);

  /// The node of a host: by the name it asks for, else the one it has, else a new "node-<n>".
  /// kInvalid: the name is another host's. kUnavailable: it could not be stored.
  Result<std::string> AllocateNode(const std::string& hostname, const std::string& node_name);

 private:
  void DropForgotten(double now);

  DocumentStore* const documents_;
  std::mutex mutex_;
  std::map<std::string, WorkerInfo> workers_;
};

}  // namespace assay::kernelgym
