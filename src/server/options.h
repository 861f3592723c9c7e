#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "http/limits.h"
#include "openenv/settings.h"
#include "worker/engine.h"

namespace assay {

/// Who may connect, and how.
struct ExposureOptions {
  std::string host = "127.0.0.1";
  std::string api_key_file;  ///< empty: no keys are asked for
  bool insecure = false;     ///< open to everybody on an address that is not loopback
  bool token_query = false;
  std::string tls_certificate;
  std::string tls_key;
  std::vector<std::string> origins;  ///< --cors-origin
  std::vector<std::string>
      hosts;  ///< --allow-host; with one of them no others but localhost and addresses
};

/// What judges in a process: of `assay serve`, or of `assay worker`.
struct RunnerOptions {
  std::vector<std::string> devices;  ///< "auto", "cpu", "cuda:0", ...; one engine each
  int jobs = 4;                      ///< submissions in work at once on each device
  DeviceOptions device;              ///< the rest of an engine's options; `device` is not used
  std::string secret;                ///< key of the hidden seeds; empty: random
  bool none = false;                 ///< nothing: workers in processes of their own do
  bool echo = false;                 ///< no engine: every submission is answered as EchoRunner does
  Seconds echo_delay{0};
};

/// Everything that `assay serve` can be told.
struct ServeOptions : RunnerOptions {
  ExposureOptions exposure;
  uint16_t port = 8000;  ///< OpenEnv, the native API, KernelGYM's below /kernelgym
  std::optional<uint16_t> kernelgym_port;  ///< KernelGYM's API alone, at its own paths
  std::string unix_path;                   ///< if set, a Unix socket beside the port
  http::Limits limits;
  int threads = 0;  ///< that serve HTTP; 0: one per core, at most 4
  bool access_log = true;

  std::vector<std::string> tasks;  ///< for TaskRegistry::Add; empty: builtin
  std::string store;               ///< SQLite file
  double retain_days = 0;          ///< of what is finished in it; 0: for ever
  openenv::Settings openenv;
  std::string version;
};

/// $XDG_STATE_HOME/assay/serve.db, or ~/.local/state/assay/serve.db; makes the folder.
Result<std::string> DefaultStorePath();

/// Takes over what KERNEL_ENV_* says about the server; the command line goes before it. kInvalid
/// for what this server cannot do.
Status ApplyHostSettings(const openenv::HostSettings& host, ServeOptions* options);

}  // namespace assay
