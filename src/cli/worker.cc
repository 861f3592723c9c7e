#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/host.h"
#include "base/log.h"
#include "base/strings.h"
#include "broker/runner_pool.h"
#include "cli/allocator.h"
#include "cli/commands.h"
#include "cli/runner_flags.h"
#include "cli/signals.h"
#include "server/exposure.h"
#include "server/gpu_metrics.h"
#include "server/remote_leases.h"
#include "server/runners.h"

namespace assay {
namespace {

/// Of a look into the server's queue, and so of a stop at most.
constexpr Seconds kLook{5};
/// After a second signal, for the server to hear of what is given back.
constexpr Seconds kLastWords{5};

struct Options {
  RunnerOptions runners;
  RunnerFlags flags;
  std::string server = "http://127.0.0.1:8000";
  std::string key_file;
  std::string name;
  double ttl_s = 60;
  bool log_json = false;
  bool as_json = false;
};

/// `answered`: the server has taken this worker; else it is not there yet.
void Announce(const Options& options, const std::vector<std::shared_ptr<JobRunner>>& runners,
              bool answered) {
  json::array names;
  for (const auto& runner : runners) names.emplace_back(options.name + "/" + runner->name());
  if (options.as_json) {
    fmt::print("{}\n", json::serialize(json::object{{"ready", true},
                                                    {"server", options.server},
                                                    {"server_answers", answered},
                                                    {"name", options.name},
                                                    {"workers", names},
                                                    {"pid", ::getpid()}}));
  } else {
    fmt::print("assay judges for {} as {}{}\n", options.server, json::serialize(names),
               answered ? "" : ", when it answers");
  }
  std::fflush(stdout);
}

/// Until a signal, or until the server has refused this worker; then what has begun is finished, or
/// after a second signal cut short.
void Judge(const Options& options, const std::atomic<bool>& refused, RemoteLeases* leases,
           const std::vector<std::shared_ptr<JobRunner>>& runners) {
  RunnerPool pool(leases, runners, {.look = kLook, .ttl = Seconds(options.ttl_s)});
  Announce(options, runners, leases->Check().ok());
  while (Terminations() == 0 && !refused) SleepUnlessWoken(Seconds(3600));
  LogInfo("finishing what has begun; once more gives it back");
  std::atomic<bool> stopped{false};
  const std::jthread stopper([&] {
    pool.Stop();
    stopped.store(true);
    Wake();
  });
  while (Terminations() <= 1 && !stopped) SleepUnlessWoken(Seconds(0.1));
  if (!stopped) leases->Interrupt(kLastWords);
}

int RunWorker(Options* options) {
  TuneHeapsForServing();
  if (options->name.empty()) options->name = HostName();
  if (Status status = ApplyRunnerFlags(options->flags, &options->runners); !status.ok())
    return Report(status.error());
  const Result<http::ServerAddress> server = http::ParseServerUrl(options->server);
  if (!server.ok()) return Report(server.error());
  const Result<std::string> key = ReadKey(options->key_file);
  if (!key.ok()) return Report(key.error());
  if (!key->empty() && server->unix_path.empty() && !server->tls && !IsLoopback(server->host))
    LogWarn("the key goes to {} unencrypted; name the server with https://", server->host);
  CatchSignals();
  const GpuWatch gpus;
  std::map<std::string, std::shared_ptr<JobRunner>> by_name;
  std::atomic<bool> refused{false};
  RemoteLeases leases(
      {.server = *server,
       .key = *key,
       .name = options->name,
       .describe =
           [&by_name, &gpus](const std::string& name) {
             const std::shared_ptr<JobRunner>& runner = by_name.at(name);
             json::object details = runner->Describe();
             const std::string uuid = GetString(GetObject(details, "environment"), "gpu_uuid");
             if (!uuid.empty()) details["gpu"] = gpus.FiguresOf(uuid);
             return json::object{{"jobs", runner->jobs()}, {"details", std::move(details)}};
           },
       .refused =
           [&refused](const std::string& why) {
             LogWarn("{}", why);
             refused = true;
             Wake();
           }});
  // Before the engines, which take their time. A server that is not there yet may come.
  if (Status taken = leases.Check(); !taken.ok()) {
    const ErrorCode code = taken.error().code;
    if (code != ErrorCode::kUnavailable && code != ErrorCode::kTimeout)
      return Report(taken.error());
    LogWarn("{}; it is asked again", taken.error().message);
  }
  // Tasks come with the jobs.
  const Result<std::vector<std::shared_ptr<JobRunner>>> runners =
      StartRunners(options->runners, std::make_shared<const TaskRegistry>());
  if (!runners.ok()) return Report(runners.error());
  for (const std::shared_ptr<JobRunner>& runner : *runners) by_name.emplace(runner->name(), runner);
  Judge(*options, refused, &leases, *runners);
  LogInfo("stopping");
  return refused ? kExitUsage : kExitOk;
}

}  // namespace

void AddWorker(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app->add_subcommand("worker", "Judge for a server in another process or on another machine");
  command->add_option("--server", options->server, "http://host:port, https://..., unix:/path")
      ->capture_default_str();
  command->add_option("--api-key-file", options->key_file,
                      "file with the key to send, of scope worker (default: $ASSAY_API_KEY)");
  command->add_option("--name", options->name, "of this worker (default: the host's)");
  command
      ->add_option("--ttl", options->ttl_s,
                   "seconds until the server gives away what a worker had that is not heard")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  AddRunnerFlags(command, &options->flags, &options->runners, {"engine", "echo"});
  command->add_flag("--log-json", options->log_json, "logs as JSON, one object a line");
  command->add_flag("--json", options->as_json, "print the line of readiness as JSON");
  command->footer(
      "Signals: TERM or INT finishes what has begun, a second one gives it back.\n"
      "Exit codes: 0 stopped by a signal, 2 wrong usage or key, 3 infrastructure.\n"
      "Examples:\n"
      "  assay serve --runner none --unix-socket /run/assay.sock\n"
      "  assay worker --server unix:/run/assay.sock --device cuda:0\n"
      "  assay keys new --name gpu-7 --scope worker --file keys.txt > gpu-7.key\n"
      "  assay worker --server https://assay.example --api-key-file gpu-7.key --jobs 8");
  command->callback([app, options, exit_code] {
    SetUpServiceLogging(app, options->log_json);
    *exit_code = RunWorker(options.get());
  });
}

}  // namespace assay
