#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/log.h"
#include "base/strings.h"
#include "cli/allocator.h"
#include "cli/commands.h"
#include "cli/runner_flags.h"
#include "cli/signals.h"
#include "server/exposure.h"
#include "server/service.h"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace assay {
namespace {

struct Options {
  ServeOptions serve;
  RunnerFlags runners;
  double drain_s = 30;
  int max_sessions = 0;
  bool has_port = false;
  bool no_access_log = false;
  bool log_json = false;
  bool as_json = false;
};

Status Complete(Options* options) {
  ServeOptions& serve = options->serve;
  ASSAY_ASSIGN_OR_RETURN(openenv::Configuration environment, openenv::ReadEnvironment(environ));
  serve.openenv = std::move(environment.settings);
  if (options->max_sessions > 0)
    serve.openenv.max_sessions = static_cast<size_t>(options->max_sessions);
  if (!options->has_port && environment.host.port)
    serve.port = static_cast<uint16_t>(*environment.host.port);
  ASSAY_RETURN_IF_ERROR(ApplyRunnerFlags(options->runners, &serve));
  if (options->runners.has_jobs) environment.host.compile_workers.reset();
  ASSAY_RETURN_IF_ERROR(ApplyHostSettings(environment.host, &serve));
  if (serve.store.empty()) {
    ASSAY_ASSIGN_OR_RETURN(serve.store, DefaultStorePath());
  }
  serve.access_log = !options->no_access_log;
  serve.version = ASSAY_VERSION;
  return {};
}

void Announce(const Options& options, const Service& service) {
  const ExposureOptions& exposure = options.serve.exposure;
  const char* scheme = exposure.tls_certificate.empty() ? "http" : "https";
  const std::string url = fmt::format("{}://{}:{}", scheme, exposure.host, service.port());
  if (options.as_json) {
    json::value gym = nullptr;
    if (service.kernelgym_port() != 0) gym = service.kernelgym_port();
    const std::vector<std::string> workers = service.workers();
    fmt::print("{}\n", json::serialize(
                           json::object{{"ready", true},
                                        {"url", url},
                                        {"port", service.port()},
                                        {"kernelgym_port", gym},
                                        {"pid", ::getpid()},
                                        {"tasks", service.tasks()},
                                        {"workers", json::array(workers.begin(), workers.end())},
                                        {"store", options.serve.store}}));
  } else {
    std::string gym;
    if (service.kernelgym_port() != 0)
      gym = fmt::format(", KernelGYM on port {}", service.kernelgym_port());
    fmt::print("assay serves {} tasks at {}{}, judged by {}; {}\n", service.tasks(), url, gym,
               options.serve.none ? "`assay worker`" : Join(service.workers(), ", "),
               exposure.api_key_file.empty() ? "no keys asked for" : "keys asked for");
  }
  std::fflush(stdout);
}

/// Until everything has finished, the grace is over, or a second signal comes.
void Drain(const Options& options, Service* service) {
  LogInfo("draining, {} s at most; once more stops at once", options.drain_s);
  service->BeginDrain();
  const TimePoint deadline = DeadlineIn(Seconds(options.drain_s));
  while (!service->Drained() && Terminations() < 2 && Clock::now() < deadline)
    SleepUnlessWoken(Seconds(0.05));
}

int Serve(Options* options) {
  TuneHeapsForServing();
  if (Status status = Complete(options); !status.ok()) return Report(status.error());
  CatchSignals();
  Result<std::unique_ptr<Service>> service = Service::Start(options->serve);
  if (!service.ok()) return Report(service.error());
  // The engines start while the signals are watched.
  std::atomic<bool> started{false};
  Status judging;
  std::jthread starter([&] {
    judging = (*service)->StartJudging();
    started.store(true);
    Wake();
  });
  bool announced = false;
  while (Terminations() == 0) {
    SleepUnlessWoken(Seconds(3600));
    if (TakeHangup()) {
      const Status status = (*service)->Reload();
      if (status.ok()) {
        LogInfo("keys and certificates were read again");
      } else {
        LogWarn("kept the old keys and certificates: {}", status.error().message);
      }
    }
    if (announced || !started.load()) continue;
    announced = true;
    if (!judging.ok()) return Report(judging.error());
    Announce(*options, **service);
  }
  Drain(*options, service->get());
  LogInfo("stopping");
  if (!started.load()) {
    // An engine cannot be stopped while it starts, and nobody waits for it any more.
    (*service)->Abandon();
    std::_Exit(kExitOk);
  }
  starter.join();
  service->reset();
  return kExitOk;
}

void AddOptions(CLI::App* command, Options* options) {
  ServeOptions& serve = options->serve;
  ExposureOptions& exposure = serve.exposure;
  command->add_option("--host", exposure.host, "address to listen on")->capture_default_str();
  command
      ->add_option_function<uint16_t>(
          "--port",
          [options](const uint16_t& port) {
            options->serve.port = port;
            options->has_port = true;
          },
          "OpenEnv, native API (/v1), KernelGYM's below /kernelgym unless --kernelgym-port; 0: any "
          "(default: 8000)")
      ->check(CLI::Range(0, 65535));
  command
      ->add_option_function<uint16_t>(
          "--kernelgym-port",
          [options](const uint16_t& port) { options->serve.kernelgym_port = port; },
          "KernelGYM's API at its own paths (its default is 10907)")
      ->check(CLI::Range(0, 65535));
  command->add_option("--unix-socket", serve.unix_path, "serve on this socket too");
  command->add_option("--tasks", serve.tasks,
                      "builtin, kernelbench:PATH, or a .py, folder, .jsonl or .parquet; repeatable "
                      "(default: builtin)");
  AddRunnerFlags(command, &options->runners, &serve, {"engine", "echo", "none"});
  command->add_option("--store", serve.store,
                      "SQLite file of jobs and verdicts (default: below $XDG_STATE_HOME)");
  command
      ->add_option_function<double>(
          "--retain-days", [options](const double& days) { options->serve.retain_days = days; },
          "days that finished submissions, verdicts and episodes are kept (default: for ever)")
      ->check(CLI::Range(0.04, 36'500.0));
  command->add_option("--max-sessions", options->max_sessions, "OpenEnv sessions at once")
      ->check(CLI::Range(1, 100'000));
}

void AddExposureOptions(CLI::App* command, Options* options) {
  ServeOptions& serve = options->serve;
  ExposureOptions& exposure = serve.exposure;
  command->add_option("--api-key-file", exposure.api_key_file,
                      "who may do what: lines of 'name sha256:HEX scope'; see `assay keys new`");
  command->add_flag("--insecure", exposure.insecure,
                    "serve without keys on an address that is not loopback");
  command->add_flag("--allow-token-query", exposure.token_query,
                    "WebSocket clients may send the key as ?token=");
  command->add_option("--tls-cert", exposure.tls_certificate, "PEM file with the chain");
  command->add_option("--tls-key", exposure.tls_key, "PEM file");
  command->add_option("--cors-origin", exposure.origins,
                      "web pages of this origin may use the server; repeatable; '*': all");
  command->add_option(
      "--allow-host", exposure.hosts,
      "a name of this server: no other Host is served, but localhost and addresses; "
      "repeatable (default: those on loopback without keys, elsewhere all)");
  command->add_option("--threads", serve.threads, "that serve HTTP (default: cores, at most 4)")
      ->check(CLI::Range(1, 64));
  command->add_option("--max-connections", serve.limits.connections, "open at once")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--max-body", serve.limits.body_bytes, "largest request body, e.g. 16MB")
      ->transform(CLI::AsSizeValue(false));
  command
      ->add_option("--max-message", serve.limits.message_bytes,
                   "largest WebSocket message, e.g. 16MB")
      ->transform(CLI::AsSizeValue(false));
  command
      ->add_option_function<double>(
          "--ping-interval",
          [options](const double& s) { options->serve.limits.ping = Seconds(s); },
          "seconds between pings to a WebSocket (default: 20)")
      ->check(CLI::Range(0.1, 3600.0));
  command
      ->add_option_function<double>(
          "--peer-timeout",
          [options](const double& s) { options->serve.limits.unacknowledged = Seconds(s); },
          "seconds until a peer that acknowledges nothing counts as lost (default: 60)")
      ->check(CLI::Range(1.0, 86'400.0));
  command->add_option("--drain", options->drain_s, "seconds for requests to finish on SIGTERM")
      ->check(CLI::Range(0, 3600))
      ->capture_default_str();
  command->add_flag("--no-access-log", options->no_access_log, "no line for each request");
  command->add_flag("--log-json", options->log_json, "logs as JSON, one object a line");
  command->add_flag("--json", options->as_json, "print the line of readiness as JSON");
}

}  // namespace

void AddServe(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app->add_subcommand("serve", "Serve the engine: OpenEnv, KernelGYM's API, native API");
  AddOptions(command, options.get());
  AddExposureOptions(command, options.get());
  command->footer(
      "KERNEL_ENV_* variables configure the environment too; the command line goes before them.\n"
      "Signals: TERM or INT drains, a second one stops at once; HUP reads keys and certificates.\n"
      "Exit codes: 0 stopped by a signal, 2 wrong usage, 3 infrastructure.\n"
      "Examples:\n"
      "  assay serve\n"
      "  assay serve --device cuda:0,cuda:1 --kernelgym-port 10907\n"
      "  assay serve --runner none    # judged by `assay worker`, elsewhere\n"
      "  assay keys new --name me --scope submit --file keys.txt\n"
      "  assay serve --host 0.0.0.0 --api-key-file keys.txt --tls-cert c.pem --tls-key k.pem");
  command->callback([app, options, exit_code] {
    SetUpServiceLogging(app, options->log_json);
    *exit_code = Serve(options.get());
  });
}

}  // namespace assay
