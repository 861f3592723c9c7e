#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernelgym/kernelgym.h"
#include "kernelgym/statistics.h"
#include "kernelgym/tasks.h"
#include "kernelgym/workers.h"

namespace assay::kernelgym {

/// The routes' code. Owned by the handlers that the router holds; what waits for jobs holds it
/// weakly, so that it ends with the router.
class Service : public std::enable_shared_from_this<Service> {
 public:
  explicit Service(KernelGymContext context);

  void AddRoutes(http::Router* router);

 private:
  using Method = void (Service::*)(const http::Request&, const http::Reply&);
  struct Batch;
  /// Which of the two answers' forms a client gets.
  using Form = json::object (*)(const TaskRecord&, const Job*, const Outcome&);

  void Add(http::Router* router, std::string method, std::string_view path, http::Scope scope,
           Method handler);

  // evaluate.cc
  void Evaluate(const http::Request& request, const http::Reply& reply);
  void EvaluateBatch(const http::Request& request, const http::Reply& reply);
  void SubmitWorkflow(const http::Request& request, const http::Reply& reply);
  void Validate(const http::Request& request, const http::Reply& reply);
  void Judge(const std::string& owner, EvaluationRequest task, Form form, const http::Reply& reply);
  void Pump(const std::shared_ptr<Batch>& batch);
  void Took(const std::shared_ptr<Batch>& batch, size_t index, Tasks::Accepted accepted);
  void PumpLater(const std::shared_ptr<Batch>& batch);
  void Place(const std::shared_ptr<Batch>& batch, size_t index, json::object item);
  void Interrupt(const std::shared_ptr<Batch>& batch);
  void FinishBatch(const std::shared_ptr<Batch>& batch);

  // lookup.cc
  void TaskStatus(const http::Request& request, const http::Reply& reply);
  void Results(const http::Request& request, const http::Reply& reply);
  void WorkflowResults(const http::Request& request, const http::Reply& reply);
  void CancelTask(const http::Request& request, const http::Reply& reply);

  // monitoring.cc
  void Root(const http::Request& request, const http::Reply& reply);
  void Health(const http::Request& request, const http::Reply& reply);
  void Metrics(const http::Request& request, const http::Reply& reply);
  void QueueStatus(const http::Request& request, const http::Reply& reply);
  void ProblematicCodes(const http::Request& request, const http::Reply& reply);
  void RetryQueue(const http::Request& request, const http::Reply& reply);
  void WorkerHealth(const http::Request& request, const http::Reply& reply);
  void ClearErrorHistory(const http::Request& request, const http::Reply& reply);

  // worker_routes.cc
  void WorkersStatus(const http::Request& request, const http::Reply& reply);
  void RegisterWorker(const http::Request& request, const http::Reply& reply);
  void UnregisterWorker(const http::Request& request, const http::Reply& reply);
  void Heartbeat(const http::Request& request, const http::Reply& reply);
  void EvictWorker(const http::Request& request, const http::Reply& reply);
  void AllocateNode(const http::Request& request, const http::Reply& reply);

  [[nodiscard]] double Now() const { return context_.now(); }

  /// The answer to who waited for a task; `job` null: it is still being judged.
  [[nodiscard]] http::Response Answer(const TaskRecord& record, const Job* job, Form form) const;
  void AnswerWhenDone(Tasks::Accepted accepted, Form form, const http::Reply& reply);
  [[nodiscard]] http::Response ResultOf(const http::Request& request, Form form);
  /// The workers of this service and the registered ones, as /workers/status shows them.
  [[nodiscard]] json::object DescribeWorkers();

  KernelGymContext context_;
  Statistics statistics_;
  Tasks tasks_;
  WorkerBook workers_;
  std::unique_ptr<MachineMonitor> monitor_;
  double started_at_ = 0;
  std::mutex sleeping_mutex_;
  std::set<std::shared_ptr<Batch>> sleeping_;  ///< that wait for room in the queue, nothing running
};

/// The body as JSON, or the issue that it is none.
std::optional<json::value> ReadBody(const http::Request& request, std::vector<Issue>* issues);

/// A query parameter that must be there and not empty, or the issue that it is not.
std::string RequiredQuery(const http::Request& request, std::string_view name,
                          std::vector<Issue>* issues);

}  // namespace assay::kernelgym
