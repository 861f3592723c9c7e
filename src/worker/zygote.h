#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "sandbox/sandbox.h"
#include "worker/limits.h"
#include "worker/runtime_process.h"

namespace assay {

/// What a zygote is started with.
struct ZygoteOptions {
  std::string python;  ///< interpreter with torch
  bool cuda = false;
  std::string gpu_uuid;  ///< the one GPU its children see
  int capability = 0;    ///< e.g. 90; 0 without a GPU
  int threads = 1;       ///< CPU threads of torch in each process
};

enum class Role {
  kJudge,
  kReference,
  kCandidate,
  kTool,  ///< becomes a program that looks into a run of a submission
};

/// CUDA_DEVICE_MAX_CONNECTIONS of a process: with one its context is made in a third of the time,
/// and a chain of short kernels runs some percent faster; streams need the driver's own default.
inline constexpr int kOneConnection = 1;
inline constexpr int kDefaultConnections = 8;

/// A Python process that has torch imported and forks others in milliseconds. Restarts itself when
/// it has died. Thread-safe; forks are served one at a time.
class Zygote {
 public:
  /// Starts it and waits until torch is imported. Errors name the interpreter and what it lacks.
  static Result<std::unique_ptr<Zygote>> Start(ZygoteOptions options, const Limits& limits,
                                               OutputDrain* drain);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  /// Forks a process and returns once it exists, before it is warm: its first message will be
  /// {"event": "ready"}. `connections` is CUDA_DEVICE_MAX_CONNECTIONS. With a sandbox spec the
  /// process is confined before it does anything.
  Result<std::unique_ptr<RuntimeProcess>> Fork(Role role, int connections,
                                               const SandboxSpec* sandbox);

  /// {torch, triton, cuda, python, cuda_home, paths} as the interpreter reported them.
  [[nodiscard]] const json::object& environment() const { return environment_; }

 private:
  Zygote(ZygoteOptions options, const Limits& limits, OutputDrain* drain)
      : options_(std::move(options)), limits_(limits), drain_(drain) {}
  Status Launch();
  Result<std::unique_ptr<RuntimeProcess>> ForkOnce(const json::object& request);

  const ZygoteOptions options_;
  const Limits limits_;
  OutputDrain* const drain_;
  std::mutex mutex_;
  std::string tools_;  ///< folder of what the zygote builds once for all its children
  ChildProcess process_;
  Channel channel_;
  std::shared_ptr<CapturedOutput> stderr_;
  json::object environment_;
};

/// Waits for the process's {"event": "ready"}.
Result<json::object> WaitReady(RuntimeProcess* process, TimePoint deadline);

}  // namespace assay
