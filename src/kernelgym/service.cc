#include "kernelgym/service.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <utility>

#include "base/log.h"
#include "kernelgym/shapes.h"

namespace assay::kernelgym {
namespace {

double SystemTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::optional<json::value> ReadBody(const http::Request& request, std::vector<Issue>* issues) {
  if (request.body.empty()) {
    issues->push_back({"missing", {"body"}, "Field required"});
    return std::nullopt;
  }
  if (CountValues(request.body) > kMaxValues) {
    issues->push_back({"too_long",
                       {"body"},
                       fmt::format("Body should have at most {} JSON values; "
                                   "send fewer tasks at once",
                                   kMaxValues)});
    return std::nullopt;
  }
  Result<json::value> body = ParseJson(request.body);
  if (body.ok()) return *std::move(body);
  issues->push_back({"json_invalid", {"body"}, "JSON decode error: " + body.error().message});
  return std::nullopt;
}

std::string RequiredQuery(const http::Request& request, std::string_view name,
                          std::vector<Issue>* issues) {
  const auto value = request.Query(name);
  if (value && !value->empty()) return std::string(*value);
  issues->push_back({"missing", {"query", json::string(name)}, "Field required"});
  return "";
}

Service::Service(KernelGymContext context)
    : context_(std::move(context)), tasks_(&context_), workers_(context_.documents) {
  ASSAY_CHECK(context_.jobs != nullptr && context_.documents != nullptr &&
              context_.timers != nullptr);
  if (!context_.now) context_.now = SystemTime;
  if (!context_.machine) {
    monitor_ = std::make_unique<MachineMonitor>();
    context_.machine = [monitor = monitor_.get()] { return monitor->Latest(); };
  }
  started_at_ = Now();
}

void Service::Add(http::Router* router, std::string method, std::string_view path,
                  http::Scope scope, Method handler) {
  const std::shared_ptr<Service> self = shared_from_this();
  router->Add(std::move(method), context_.prefix + std::string(path), scope,
              [self, handler](const http::Request& request, const http::Reply& reply) {
                // Whatever goes wrong the client gets one answer.
                const auto answered = std::make_shared<std::atomic<bool>>(false);
                const http::Reply once = [answered, reply](http::Response response) {
                  if (!answered->exchange(true)) reply(std::move(response));
                };
                try {
                  (self.get()->*handler)(request, once);
                } catch (const std::exception& error) {
                  LogWarn("kernelgym: {} {} [{}]: {}", request.method, request.path, request.id,
                          error.what());
                  once(InternalError("internal error in request " + request.id, self->Now()));
                }
              });
}

void Service::AddRoutes(http::Router* router) {
  tasks_.OnFinished([weak = weak_from_this()](const TaskRecord& record, const Job& job) {
    if (const auto self = weak.lock())
      self->statistics_.Count(job, self->tasks_.OutcomeOf(record, &job), self->Now());
  });
  using http::Scope;
  Add(router, "GET", "/", Scope::kNone, &Service::Root);
  Add(router, "POST", "/evaluate", Scope::kSubmit, &Service::Evaluate);
  Add(router, "POST", "/evaluate/batch", Scope::kSubmit, &Service::EvaluateBatch);
  Add(router, "POST", "/workflow/submit", Scope::kSubmit, &Service::SubmitWorkflow);
  Add(router, "GET", "/workflow/results/{task_id...}", Scope::kRead, &Service::WorkflowResults);
  Add(router, "GET", "/status/{task_id...}", Scope::kRead, &Service::TaskStatus);
  Add(router, "GET", "/results/{task_id...}", Scope::kRead, &Service::Results);
  Add(router, "DELETE", "/tasks/{task_id...}", Scope::kSubmit, &Service::CancelTask);
  Add(router, "POST", "/debug/validate", Scope::kSubmit, &Service::Validate);
  Add(router, "GET", "/health", Scope::kNone, &Service::Health);
  Add(router, "GET", "/metrics", Scope::kRead, &Service::Metrics);
  Add(router, "GET", "/queue/status", Scope::kRead, &Service::QueueStatus);
  Add(router, "GET", "/workers/status", Scope::kRead, &Service::WorkersStatus);
  Add(router, "POST", "/worker/register", Scope::kAdmin, &Service::RegisterWorker);
  Add(router, "POST", "/worker/unregister", Scope::kAdmin, &Service::UnregisterWorker);
  Add(router, "POST", "/worker/heartbeat", Scope::kAdmin, &Service::Heartbeat);
  Add(router, "POST", "/worker/evict_from_lb", Scope::kAdmin, &Service::EvictWorker);
  Add(router, "POST", "/node/allocate", Scope::kAdmin, &Service::AllocateNode);
  Add(router, "GET", "/monitoring/problematic-codes", Scope::kRead, &Service::ProblematicCodes);
  Add(router, "GET", "/monitoring/retry-queue", Scope::kRead, &Service::RetryQueue);
  Add(router, "GET", "/monitoring/worker-health", Scope::kRead, &Service::WorkerHealth);
  Add(router, "POST", "/monitoring/clear-error-history/{code_hash}", Scope::kAdmin,
      &Service::ClearErrorHistory);
  const auto refuse = [](const http::Request& /*request*/, int status, std::string_view message) {
    return Detail(status, message);
  };
  if (context_.own_port || !context_.prefix.empty())
    return router->SetRefusal(context_.own_port ? "/" : context_.prefix, refuse);
  for (const char* path : {"/evaluate", "/workflow", "/status", "/results", "/tasks", "/debug",
                           "/queue", "/workers", "/worker", "/node", "/monitoring"})
    router->SetRefusal(path, refuse);
}

void AddKernelGym(http::Router* router, KernelGymContext context) {
  std::make_shared<Service>(std::move(context))->AddRoutes(router);
}

}  // namespace assay::kernelgym
