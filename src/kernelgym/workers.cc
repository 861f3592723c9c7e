#include "kernelgym/workers.h"

#include <algorithm>
#include <cstdlib>

namespace assay::kernelgym {
namespace {

constexpr const char* kNodes = "kernelgym.node";  // "name/<node>", "host/<hostname>", "counter"
/// Anyone with an administrator's key may register; the ledger stays small all the same.
constexpr size_t kMostWorkers = 10'000;

}  // namespace

void WorkerBook::Register(const WorkerInfo& worker, double now) {
  const std::lock_guard lock(mutex_);
  DropForgotten(now);
  if (workers_.size() >= kMostWorkers && !workers_.contains(worker.id)) return;
  WorkerInfo& entry = workers_[worker.id];
  entry = worker;
  entry.online = true;
  entry.last_heartbeat = now;
}

void WorkerBook::Unregister(const std::string& id) {
  const std::lock_guard lock(mutex_);
  workers_.erase(id);
}

Status WorkerBook::Heartbeat(const WorkerInfo& worker, double now) {
  {
    const std::lock_guard lock(mutex_);
    DropForgotten(now);
    const auto known = workers_.find(worker.id);
    if (known != workers_.end()) {
      if (!worker.device.empty() && worker.device != known->second.device)
        return Err(ErrorCode::kInvalid, "Worker {} registered with device {}, not {}", worker.id,
                   known->second.device, worker.device);
      known->second.last_heartbeat = now;
      known->second.online = true;
      return {};
    }
    if (worker.device.empty())
      return Err(ErrorCode::kInvalid, "Worker {} is not registered and names no device", worker.id);
    const auto holder = std::find_if(workers_.begin(), workers_.end(), [&](const auto& other) {
      return other.second.device == worker.device && other.second.node_id == worker.node_id;
    });
    if (holder != workers_.end())
      return Err(ErrorCode::kInvalid, "Device {} of node '{}' belongs to worker {}", worker.device,
                 worker.node_id, holder->first);
  }
  Register(worker, now);
  return {};
}

void WorkerBook::Evict(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto known = workers_.find(id);
  if (known != workers_.end()) known->second.online = false;
}

std::vector<WorkerInfo> WorkerBook::List(double now) {
  const std::lock_guard lock(mutex_);
  DropForgotten(now);
  std::vector<WorkerInfo> all;
  for (const auto& [id, worker] : workers_) {
    all.push_back(worker);
    all.back().online = worker.online && now - worker.last_heartbeat <= kFreshSeconds;
  }
  return all;
}

void WorkerBook::DropForgotten(double now) {
  std::erase_if(workers_, [now](const auto& entry) {
    return now - entry.second.last_heartbeat > kForgetSeconds;
  });
}

Result<std::string> WorkerBook::AllocateNode(const std::string& hostname,
                                             const std::string& node_name) {
  const std::lock_guard lock(mutex_);
  const auto text = [this](const std::string& key) {
    const Result<json::object> found = documents_->Get(kNodes, key);
    return found.ok() ? GetString(*found, "value") : "";
  };
  const auto put = [this](const std::string& key, const std::string& value) {
    return documents_->Put(kNodes, key, {{"value", value}});
  };
  std::string node = node_name;
  if (node.empty()) node = text("host/" + hostname);
  if (node.empty()) {
    int number = std::atoi(text("counter").c_str());
    do {  // a host may have asked for such a name
      node = "node-" + std::to_string(++number);
    } while (!text("name/" + node).empty());
    ASSAY_RETURN_IF_ERROR(put("counter", std::to_string(number)));
  }
  const std::string holder = text("name/" + node);
  if (!holder.empty() && holder != hostname)
    return Err(ErrorCode::kInvalid, "Node name {} belongs to host {}", node, holder);
  ASSAY_RETURN_IF_ERROR(put("name/" + node, hostname));
  ASSAY_RETURN_IF_ERROR(put("host/" + hostname, node));
  return node;
}

}  // namespace assay::kernelgym
