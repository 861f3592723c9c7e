#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/lease_desk.h"
#include "base/metrics.h"
#include "broker/broker.h"
#include "broker/runner_pool.h"
#include "http/server.h"
#include "server/gpu_metrics.h"
#include "server/options.h"
#include "task/task.h"

namespace assay {

/// The whole server in one process: store and queue, engines, listeners with every protocol.
///
///     Start ─▶ listening, nothing judged yet ──StartJudging──▶ ready ──BeginDrain──▶ draining ─▶ ~
///
/// It listens before the engines are warm, so that health checks and resets answer at once;
/// submissions wait in the queue meanwhile. Used from one thread, but for StartJudging().
class Service {
 public:
  /// Opens the store and listens. Errors say what to do.
  static Result<std::unique_ptr<Service>> Start(ServeOptions options);
  /// Stops at once: running submissions go back to the queue, which the store keeps.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Starts the engines (seconds) and takes jobs from the queue.
  Status StartJudging();

  /// Stops accepting, finishes the requests and judgements that have begun.
  void BeginDrain();
  /// Whether nothing is left to finish.
  [[nodiscard]] bool Drained();

  /// Stops at once, as the destructor does, beside a StartJudging() that has not returned. What was
  /// answered is written; the process should end now.
  void Abandon();

  /// Reads keys and certificates again.
  Status Reload() { return server_->Reload(); }

  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] uint16_t kernelgym_port() const { return kernelgym_port_; }  ///< 0: none
  [[nodiscard]] size_t tasks() const { return tasks_->tasks().size(); }
  /// Names of what judges; empty before StartJudging().
  [[nodiscard]] std::vector<std::string> workers() const;

 private:
  explicit Service(ServeOptions options) : options_(std::move(options)) {}

  Status LoadTasks();
  Status OpenBroker();
  Status Listen();
  /// Why it cannot judge now; empty: it can.
  [[nodiscard]] std::vector<std::string> Missing() const;
  /// A member of what the first runner says of itself.
  [[nodiscard]] json::object Details(std::string_view member) const;
  [[nodiscard]] std::vector<RunnerPool::WorkerState> WorkerStates() const;
  /// Of those and of workers in processes of their own.
  [[nodiscard]] json::array WorkerList() const;
  [[nodiscard]] std::vector<MetricSample> MachineSamples() const;
  [[nodiscard]] std::shared_ptr<RunnerPool> pool() const;

  const ServeOptions options_;
  http::ListenOptions listen_;  ///< of the main port, without its router
  std::shared_ptr<const TaskRegistry> tasks_;
  // In the order in which they use each other; destroyed in reverse.
  std::unique_ptr<MetricRegistry> metrics_ = std::make_unique<MetricRegistry>();
  GpuWatch gpus_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<http::Server> server_;
  std::shared_ptr<LeaseDesk> desk_;
  mutable std::mutex pool_mutex_;  ///< requests look for the pool while it comes into being
  std::shared_ptr<RunnerPool> pool_;
  std::shared_ptr<void> machine_metrics_;
  std::atomic<bool> draining_{false};
  uint16_t port_ = 0;
  uint16_t kernelgym_port_ = 0;
};

}  // namespace assay
