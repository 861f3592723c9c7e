#include "server/service.h"

#include <sys/stat.h>

#include <filesystem>

#include "api/api.h"
#include "base/host.h"
#include "base/log.h"
#include "broker/request_task.h"
#include "kernelgym/kernelgym.h"
#include "openenv/catalog.h"
#include "openenv/openenv.h"
#include "server/exposure.h"
#include "server/runner_metrics.h"
#include "server/runners.h"
#include "server/status.h"

namespace assay {
namespace {

json::object WorkerJson(const RunnerPool::WorkerState& state) {
  return {{"name", state.name},
          {"jobs", state.jobs},
          {"working_on", json::array(state.working_on.begin(), state.working_on.end())},
          {"judged", state.judged},
          {"failed", state.failed},
          {"fit", state.fit},
          {"last_error", state.last_error},
          {"remote", false},
          {"details", state.details}};
}

json::object WorkerJson(const LeaseDesk::WorkerState& state) {
  return {{"name", state.worker.name},
          {"jobs", state.worker.jobs},
          {"working_on", json::array(state.working_on.begin(), state.working_on.end())},
          {"judged", state.judged},
          {"failed", state.failed},
          {"last_error", state.last_error},
          {"remote", true},
          {"key", state.worker.key},
          {"last_heard_s", state.silent_s},
          {"details", state.worker.details}};
}

}  // namespace

Result<std::string> DefaultStorePath() {
  std::filesystem::path folder;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    folder = state;
  } else if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    folder = std::filesystem::path(home) / ".local" / "state";
  } else {
    return Err(ErrorCode::kInvalid,
               "neither HOME nor XDG_STATE_HOME is set; name the store with "
               "--store PATH");
  }
  folder /= "assay";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Err(ErrorCode::kIo, "cannot make '{}' ({}); name another place with --store PATH",
               folder.string(), error.message());
  ::chmod(folder.c_str(), S_IRWXU);  // submissions and hidden data are nobody else's
  return (folder / "serve.db").string();
}

Status ApplyHostSettings(const openenv::HostSettings& host, ServeOptions* options) {
  if (!host.trace_dir.empty())
    return Err(ErrorCode::kInvalid,
               "KERNEL_ENV_TRACE_DIR: every verdict is kept with its samples "
               "in the store (--store); `assay export` writes them out");
  if (!host.roofline.empty() && host.roofline != "calibrated")
    return Err(ErrorCode::kInvalid,
               "KERNEL_ENV_ROOFLINE: this server measures its card; only "
               "'calibrated' can be chosen");
  if (options->devices.empty() && host.gpus) {
    for (const int gpu : *host.gpus) options->devices.push_back(fmt::format("cuda:{}", gpu));
    if (host.gpus->empty()) options->devices = {"cpu"};
  }
  if (options->tasks.empty()) options->tasks = host.tasks;
  ExposureOptions& exposure = options->exposure;
  if (exposure.api_key_file.empty()) exposure.api_key_file = host.api_key_file;
  if (exposure.hosts.empty()) exposure.hosts = host.allowed_hosts;
  if (host.trials) options->device.limits.trials = *host.trials;
  if (host.compile_workers) options->jobs = *host.compile_workers;
  if (options->secret.empty() && !host.secret_file.empty()) {
    ASSAY_ASSIGN_OR_RETURN(options->secret, ReadFile(host.secret_file, 4096));
    if (options->secret.size() < 16)
      return Err(ErrorCode::kInvalid, "KERNEL_ENV_SECRET_FILE holds {} bytes; 16 is the least",
                 options->secret.size());
  }
  return {};
}

Result<std::unique_ptr<Service>> Service::Start(ServeOptions options) {
  std::unique_ptr<Service> service(new Service(std::move(options)));
  ASSAY_ASSIGN_OR_RETURN(service->listen_, MakeListenOptions(service->options_.exposure));
  ASSAY_RETURN_IF_ERROR(service->LoadTasks());
  ASSAY_RETURN_IF_ERROR(service->OpenBroker());
  ASSAY_RETURN_IF_ERROR(service->Listen());
  service->machine_metrics_ = service->metrics_->AddCollector(
      [service = service.get()] { return service->MachineSamples(); });
  return service;
}

Service::~Service() {
  draining_.store(true);
  // Requests end first: they hold pointers to all that follows.
  if (server_ != nullptr) server_->Stop();
  if (desk_ != nullptr) desk_->Close();
  if (broker_ != nullptr) broker_->Interrupt();
  pool_.reset();
}

void Service::Abandon() {
  draining_.store(true);
  server_->Stop();
  broker_->Interrupt();
  server_.reset();  // with what writes episodes behind their replies
}

Status Service::LoadTasks() {
  auto registry = std::make_shared<TaskRegistry>(options_.device.python);
  if (options_.tasks.empty()) ASSAY_RETURN_IF_ERROR(registry->Add("builtin"));
  for (const std::string& spec : options_.tasks) ASSAY_RETURN_IF_ERROR(registry->Add(spec));
  for (const TaskProblem& problem : registry->problems())
    LogWarn("task left out: {}: {}", problem.origin, problem.message);
  for (const std::string& idle : IdleOverrides(options_.device.overrides, *registry))
    LogWarn("{}", idle);
  tasks_ = std::move(registry);
  if (const std::string& split = options_.openenv.default_split; !split.empty()) {
    const auto drawn = openenv::Catalog(tasks_).Choose({.split = split});
    if (!drawn.ok()) return Err(ErrorCode::kInvalid, "KERNEL_ENV_SPLIT: {}", drawn.error().message);
  }
  return {};
}

Status Service::OpenBroker() {
  BrokerOptions broker;
  broker.path = options_.store;
  broker.retain = Seconds(options_.retain_days * 86'400);
  broker.retained = {openenv::kEpisodeDocuments, kernelgym::kTaskDocuments};
  broker.metrics = metrics_.get();
  broker.log_jobs = options_.access_log;
  broker.check = [tasks = tasks_](const JobRequest& request) {
    return CheckRequest(*tasks, request);
  };
  if (listen_.keys != nullptr)
    broker.quota = [keys = listen_.keys](const std::string& owner) {
      const std::optional<http::KeyQuota> quota = keys->Quota(owner);
      return quota ? quota->queued : 0;
    };
  ASSAY_ASSIGN_OR_RETURN(broker_, Broker::Open(std::move(broker)));
  return {};
}

Status Service::Listen() {
  http::ServerOptions server;
  server.limits = options_.limits;
  server.threads = options_.threads;
  server.metrics = metrics_.get();
  server.access_log = options_.access_log;
  ASSAY_ASSIGN_OR_RETURN(server_, http::Server::Start(server));

  desk_ = std::make_shared<LeaseDesk>(broker_.get(), &server_->timers());

  kernelgym::KernelGymContext gym;
  gym.jobs = broker_.get();
  gym.documents = broker_->documents();
  gym.timers = &server_->timers();
  gym.cpu = options_.devices == std::vector<std::string>{"cpu"};
  gym.workers = [this] {
    std::vector<kernelgym::WorkerInfo> workers;
    for (const RunnerPool::WorkerState& state : WorkerStates())
      workers.push_back({fmt::format("local-{}", workers.size()), state.name, state.fit, 0,
                         HostName(), HostName()});
    for (const LeaseDesk::WorkerState& state : desk_->Workers()) {
      const std::string& name = state.worker.name;
      const size_t slash = name.rfind('/');
      const std::string host = name.substr(0, slash);
      workers.push_back(
          {name, name.substr(slash + 1), true, UnixNow() - state.silent_s, host, host});
    }
    return workers;
  };

  auto main = std::make_shared<http::Router>();
  AddStatus(main.get(), metrics_.get(), [this] { return Readiness{Missing()}; });
  AddApi(main.get(), {broker_.get(),
                      &server_->timers(),
                      tasks_,
                      [this] { return WorkerList(); },
                      options_.version,
                      broker_->documents(),
                      openenv::kEpisodeDocuments,
                      {},
                      desk_});
  OpenEnvContext openenv;
  openenv.settings = options_.openenv;
  openenv.tasks = tasks_;
  openenv.jobs = broker_.get();
  openenv.documents = broker_->documents();
  openenv.timers = &server_->timers();
  openenv.metrics = metrics_.get();
  openenv.hardware = [this] { return Details("environment"); };
  openenv.about = [this, bytes = options_.limits.message_bytes]() -> json::object {
    return {{"ready", Missing().empty()},
            {"roofline", Details("roofline")},
            {"limits", {{"max_message_bytes", bytes}}}};
  };
  AddOpenEnv(main.get(), std::move(openenv));

  if (options_.kernelgym_port) {
    auto router = std::make_shared<http::Router>();
    kernelgym::AddKernelGym(router.get(), gym);
    http::ListenOptions own = listen_;
    own.port = *options_.kernelgym_port;
    own.router = std::move(router);
    ASSAY_ASSIGN_OR_RETURN(kernelgym_port_, server_->Listen(std::move(own)));
  } else {
    gym.prefix = "/kernelgym";
    gym.own_port = false;
    kernelgym::AddKernelGym(main.get(), std::move(gym));
  }
  if (!options_.unix_path.empty()) {
    http::ListenOptions unix_socket = listen_;
    unix_socket.unix_path = options_.unix_path;
    unix_socket.router = main;
    unix_socket.tls_certificate.clear();
    unix_socket.tls_key.clear();
    unix_socket.hosts.clear();  // no web page reaches it
    ASSAY_RETURN_IF_ERROR([&]() -> Status {
      Result<uint16_t> bound = server_->Listen(std::move(unix_socket));
      return bound.ok() ? Status() : bound.error();
    }());
  }
  http::ListenOptions listen = listen_;
  listen.port = options_.port;
  listen.router = std::move(main);
  ASSAY_ASSIGN_OR_RETURN(port_, server_->Listen(std::move(listen)));
  return {};
}

Status Service::StartJudging() {
  ASSAY_ASSIGN_OR_RETURN(std::vector<std::shared_ptr<JobRunner>> runners,
                         StartRunners(options_, tasks_));
  auto started = std::make_shared<RunnerPool>(broker_.get(), std::move(runners));
  const std::lock_guard lock(pool_mutex_);
  pool_ = std::move(started);
  return {};
}

std::shared_ptr<RunnerPool> Service::pool() const {
  const std::lock_guard lock(pool_mutex_);
  return pool_;
}

std::vector<RunnerPool::WorkerState> Service::WorkerStates() const {
  const std::shared_ptr<RunnerPool> workers = pool();
  return workers == nullptr ? std::vector<RunnerPool::WorkerState>{} : workers->Workers();
}

std::vector<std::string> Service::workers() const {
  std::vector<std::string> names;
  for (const RunnerPool::WorkerState& state : WorkerStates()) names.push_back(state.name);
  return names;
}

std::vector<std::string> Service::Missing() const {
  std::vector<std::string> missing;
  if (draining_.load()) missing.emplace_back("the server is draining");
  if (desk_->HasWorkers()) return missing;
  if (options_.none)
    missing.emplace_back("no worker is connected");
  else if (pool() == nullptr)
    missing.emplace_back("the engine is starting");
  else if (std::string none = NoneFit(WorkerStates()); !none.empty())
    missing.push_back(std::move(none));
  return missing;
}

json::array Service::WorkerList() const {
  json::array workers;
  for (const RunnerPool::WorkerState& state : WorkerStates()) workers.push_back(WorkerJson(state));
  for (const LeaseDesk::WorkerState& state : desk_->Workers()) workers.push_back(WorkerJson(state));
  return workers;
}

std::vector<MetricSample> Service::MachineSamples() const {
  std::vector<MetricSample> samples = RunnerSamples(WorkerStates());
  const auto add = [&](const std::vector<MetricSample>& more) {
    samples.insert(samples.end(), more.begin(), more.end());
  };
  for (const GpuInfo& gpu : gpus_.Gpus()) add(GpuSamples(GpuFigures(gpu), ""));
  add(RemoteSamples(desk_->Workers()));
  return samples;
}

json::object Service::Details(std::string_view member) const {
  for (const json::value& worker : WorkerList())
    return GetObject(GetObject(worker.get_object(), "details"), member);
  return {};
}

void Service::BeginDrain() {
  draining_.store(true);
  broker_->Drain();
  static_cast<void>(Drained());
}

bool Service::Drained() {
  // Workers of their own bring what they have begun over this server's connections.
  if (desk_->Holds()) return false;
  server_->BeginDrain();
  return server_->Drained() && broker_->WaitIdle(Clock::now());
}

}  // namespace assay
