#include "base/host.h"
#include "kernelgym/service.h"
#include "kernelgym/shapes.h"

namespace assay::kernelgym {
namespace {

std::string Optional(const http::Request& request, std::string_view name) {
  const auto value = request.Query(name);
  return value ? std::string(*value) : "";
}

}  // namespace

json::object Service::DescribeWorkers() {
  json::object all;
  const auto add = [&](const WorkerInfo& worker, bool serves) {
    all[worker.id] = {
        {"device", worker.device},
        {"status", worker.online ? "online" : "offline"},
        {"last_heartbeat", Timestamp(worker.last_heartbeat > 0 ? worker.last_heartbeat : Now())},
        {"node_id", worker.node_id.empty() ? HostName() : worker.node_id},
        {"hostname", worker.hostname.empty() ? HostName() : worker.hostname},
        {"serves_tasks", serves}};
  };
  for (const WorkerInfo& worker : workers_.List(Now())) add(worker, false);
  if (context_.workers)
    for (const WorkerInfo& worker : context_.workers()) add(worker, true);
  return all;
}

void Service::WorkersStatus(const http::Request& /*request*/, const http::Reply& reply) {
  reply(http::Response::Json(DescribeWorkers()));
}

void Service::RegisterWorker(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  WorkerInfo worker;
  worker.id = RequiredQuery(request, "worker_id", &issues);
  worker.device = RequiredQuery(request, "device", &issues);
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  worker.node_id = Optional(request, "node_id");
  worker.hostname = Optional(request, "hostname");
  workers_.Register(worker, Now());
  reply(http::Response::Json({{"success", true},
                              {"message", "Worker " + worker.id + " registered"},
                              {"node_id", worker.node_id}}));
}

void Service::UnregisterWorker(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  const std::string id = RequiredQuery(request, "worker_id", &issues);
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  workers_.Unregister(id);
  reply(http::Response::Json({{"success", true}, {"message", "Worker " + id + " unregistered"}}));
}

void Service::Heartbeat(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  WorkerInfo worker;
  worker.id = RequiredQuery(request, "worker_id", &issues);
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  worker.device = Optional(request, "device");
  worker.node_id = Optional(request, "node_id");
  worker.hostname = Optional(request, "hostname");
  if (const Status status = workers_.Heartbeat(worker, Now()); !status.ok())
    return reply(Detail(409, status.error().message));
  reply(
      http::Response::Json({{"success", true}, {"message", "Heartbeat updated for " + worker.id}}));
}

void Service::EvictWorker(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  const std::string id = RequiredQuery(request, "worker_id", &issues);
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  workers_.Evict(id);
  reply(
      http::Response::Json({{"success", true}, {"message", "Worker " + id + " evicted from LB"}}));
}

void Service::AllocateNode(const http::Request& request, const http::Reply& reply) {
  std::vector<Issue> issues;
  const std::string hostname = RequiredQuery(request, "hostname", &issues);
  if (!issues.empty()) return reply(InvalidRequest(issues, Now()));
  const Result<std::string> node = workers_.AllocateNode(hostname, Optional(request, "node_name"));
  if (node.ok()) return reply(http::Response::Json({{"node_id", *node}, {"hostname", hostname}}));
  const bool conflict = node.error().code == ErrorCode::kInvalid;
  reply(Detail(conflict ? 409 : 503, node.error().message));
}

}  // namespace assay::kernelgym
