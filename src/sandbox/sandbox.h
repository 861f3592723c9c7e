#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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
/// isolated: filtered + pid, mount, net, ipc and uts namespaces, fresh /proc, read-only private
/// root full:     isolated + user namespace + Landlock
enum class SandboxLevel { kNone, kLimits, kFiltered, kIsolated, kFull };

std::string_view ToString(SandboxLevel level);
Result<SandboxLevel> ParseSandboxLevel(std::string_view name);

/// What a candidate may use. Travels as JSON from the worker to the forked process.
///
/// Besides `read_only` and `devices` a private root holds: /dev with null, zero, full, random,
/// urandom and the fd links; /proc; /etc with a one-user passwd, group and nsswitch.conf, and the
/// host's ld.so.cache and localtime; the top-level links such as /bin -> usr/bin. The work folder,
/// /tmp and /dev/shm are one tmpfs and share its limits.
struct SandboxSpec {
  std::vector<std::string> read_only;    ///< files and folders it may read and execute (absolute)
  std::vector<std::string> devices;      ///< device nodes it may read and write ("/dev/nvidia0")
  std::string work_dir = "/work";        ///< private tmpfs inside; also HOME and TMPDIR live there
  uint64_t work_bytes = 2ull << 30;      ///< size of that tmpfs
  uint64_t work_files = 100'000;         ///< its number of files
  uint64_t max_processes = 256;          ///< RLIMIT_NPROC: processes and threads of its uid
  uint64_t max_open_files = 1024;        ///< RLIMIT_NOFILE
  uint64_t max_file_bytes = 1ull << 30;  ///< RLIMIT_FSIZE
  uint64_t max_data_bytes = 0;           ///< RLIMIT_DATA, 0: none (CUDA reserves freely)
  bool loopback = false;  ///< 127.0.0.1 inside, where the network namespace is its own
  uint32_t uid = 65534;   ///< user and group it becomes when the worker is root;
                          ///< unique per candidate, for RLIMIT_NPROC counts per uid

  [[nodiscard]] json::object ToJson() const;
  /// kInvalid for a path that is not absolute, a "..", uid 0, or a limit that is not positive.
  static Result<SandboxSpec> FromJson(const json::object& object);
};

/// What was reached: one flag per mechanism, and why the missing ones are missing.
struct SandboxReport {
  SandboxLevel level = SandboxLevel::kNone;
  bool user_ns = false;
  bool pid_ns = false;
  bool mount_ns = false;
  bool net_ns = false;
  bool ipc_ns = false;
  bool uts_ns = false;
  bool fresh_proc = false;    ///< /proc shows the candidate's own processes only
  bool private_root = false;  ///< nothing of the host outside `read_only` and `devices` is there
  bool landlock = false;
  bool seccomp = false;
  bool no_new_privs = false;
  bool no_capabilities = false;  ///< none effective, permitted, ambient or in the bounding set
  bool rlimits = false;
  bool loopback = false;          ///< it may speak to itself over 127.0.0.1, and to nobody else
  bool own_uid = false;           ///< runs as `SandboxSpec::uid`, not as the worker's user
  bool dies_with_worker = false;  ///< SIGKILL when the adopting worker's main thread ends
  std::string work_dir;  ///< the writable folder; SandboxSpec::work_dir with a private root,
                         ///< else a fresh folder of the host that the worker must remove
  int stem_pidfd = -1;   ///< from Unshare() to Confine(): the stem, whose end is awaited
  std::vector<std::string> missing;  ///< "landlock: the kernel lacks it", ...

  [[nodiscard]] json::object ToJson() const;
  static SandboxReport FromJson(const json::object& object);
};

/// Entering takes two calls around one fork, because a pid namespace begins with a child:
///
///     zygote --fork--> stem: Unshare()  --fork--> candidate (pid 1): Confine()
///                      stem reports the candidate's pid and exits; the worker (a child
///                      subreaper) adopts the candidate
///
/// Unshare() must run in a single-threaded process. What the machine refuses is noted in the report
/// and skipped, in the order of SandboxLevel; nothing else fails.
SandboxReport Unshare(const SandboxSpec& spec);

/// Builds the private root, mounts /proc, drops privileges, sets limits, Landlock and seccomp, and
/// closes every descriptor not in `keep_fds` (0, 1 and 2 become /dev/null unless kept). `report` is
/// what Unshare() returned; completed here. The process ends in `report->work_dir`, a session
/// leader.
///
/// What the machine refuses is noted in `report->missing`. An Error means that the process is
/// half-way between two worlds and must exit at once.
///
/// Death: the candidate is killed when the worker dies. Confine() waits (at most 10 s) until the
/// stem is gone and only then arms PR_SET_PDEATHSIG, which therefore names the adopter's main
/// thread; seccomp refuses to disarm it, and as pid 1 the candidate takes its namespace along. A
/// worker that died before this moment is seen as end-of-file on the candidate's channel.
///
/// It stays dumpable: a non-dumpable process does not own its /proc/self, which CUDA and torch
/// read. Nobody of its uid is outside the pid namespace, Landlock refuses ptrace from a sibling
/// domain, and RLIMIT_CORE (1, which also stops piped core handlers) prevents dumps.
///
/// abort() of a namespace's pid 1 shows as SIGSEGV, for pid 1 ignores an unhandled SIGABRT.
Status Confine(const SandboxSpec& spec, const std::vector<int>& keep_fds, SandboxReport* report);

/// What this machine would allow, found by trying in a child process. For `assay doctor`.
SandboxReport ProbeSandbox();

}  // namespace assay
