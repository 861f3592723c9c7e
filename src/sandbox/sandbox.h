#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// How much of the sandbox this machine allows, strongest last. `--require-sandbox` compares them.
///
///     none < limits < filtered < isolated < full
///
/// limits:   rlimits, no-new-privileges, no capabilities, closed descriptors
/// filtered: limits + seccomp filter + (Landlock or a private root)
/// isolated: filtered + pid, mount, net, ipc and uts namespaces, fresh /proc, read-only private root
/// full:     isolated + user namespace + Landlock
enum class SandboxLevel { kNone, kLimits, kFiltered, kIsolated, kFull };

std::string_view ToString(SandboxLevel level);
Result<SandboxLevel> ParseSandboxLevel(std::string_view name);

/// What a candidate may use. Travels as JSON from the worker to the forked process.
struct SandboxSpec {
  std::vector<std::string> read_only;   ///< files and folders it may read and execute (absolute)
  std::vector<std::string> devices;     ///< device nodes it may read and write ("/dev/nvidia0", ...)
  std::string work_dir = "/work";       ///< private tmpfs inside; also HOME and TMPDIR live there
  uint64_t work_bytes = 2ull << 30;     ///< size of that tmpfs
  uint64_t work_files = 100'000;        ///< its number of files
  uint64_t max_processes = 256;         ///< RLIMIT_NPROC
  uint64_t max_open_files = 1024;       ///< RLIMIT_NOFILE
  uint64_t max_file_bytes = 1ull << 30; ///< RLIMIT_FSIZE
  uint64_t max_data_bytes = 0;          ///< RLIMIT_DATA, 0: none (CUDA reserves freely)
  uint32_t uid = 65534;                 ///< host user it becomes when the worker is root

  [[nodiscard]] json::object ToJson() const;
  static Result<SandboxSpec> FromJson(const json::object& object);
};

/// What was reached: one flag per mechanism, and why the missing ones are missing.
struct SandboxReport {
  SandboxLevel level = SandboxLevel::kNone;
  bool user_ns = false, pid_ns = false, mount_ns = false, net_ns = false, ipc_ns = false, uts_ns = false;
  bool fresh_proc = false, private_root = false, landlock = false, seccomp = false;
  bool no_new_privs = false, no_capabilities = false, rlimits = false;
  std::vector<std::string> missing;  ///< "landlock: kernel without it", ...

  [[nodiscard]] json::object ToJson() const;
};

/// Entering takes two calls around one fork, because a pid namespace begins with a child:
///
///     zygote --fork--> stem: Unshare()  --fork--> candidate (pid 1): Confine()
///                      stem reports the candidate's pid and exits
///
/// Unshare() must run in a single-threaded process. What the machine refuses is noted in the report
/// and skipped, in the order of SandboxLevel; nothing else fails.
SandboxReport Unshare(const SandboxSpec& spec);

/// Builds the private root, mounts /proc, drops privileges, sets limits, Landlock and seccomp, and
/// closes every descriptor not in `keep_fds`. `report` is what Unshare() returned; completed here.
Status Confine(const SandboxSpec& spec, const std::vector<int>& keep_fds, SandboxReport* report);

/// What this machine would allow, found by trying in a child process. For `assay doctor`.
SandboxReport ProbeSandbox();

}  // namespace assay
