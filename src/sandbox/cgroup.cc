#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "base/fd.h"
#include "base/strings.h"

namespace assay {
namespace {

constexpr int kRemoveAttempts = 100;
constexpr useconds_t kRemovePauseMicroseconds = 2'000;

Status Write(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || ::write(fd.get(), text.data(), text.size()) < 0)
    return ErrnoError("cannot write '" + path + "'", errno);
  return {};
}

Error Unavailable(const std::string& why) {
  return Err(ErrorCode::kUnavailable, "cgroup: {}", why);
}

/// The path of this process's cgroup below the mount point: the "0::" line of version 2.
Result<std::string> OwnCgroup() {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile("/proc/self/cgroup"));
  for (const std::string_view line : Split(text, '\n'))
    if (line.starts_with("0::")) return std::string(line.substr(3));
  return Unavailable("this process is in no version 2 cgroup");
}

Result<uint64_t> ParseNumber(std::string_view text) {
  text = Trim(text);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return Err(ErrorCode::kProtocol, "cgroup: '{}' is not a number", text);
  return value;
}

/// The worker's own cgroup below `root`, if it is writable and has the two controllers.
Result<std::string> FindDelegated(const std::string& root) {
  struct statfs status {};
  if (::statfs(root.c_str(), &status) != 0 || status.f_type != CGROUP2_SUPER_MAGIC)
    return Unavailable(root + " is not a version 2 hierarchy");
  ASSAY_ASSIGN_OR_RETURN(std::string relative, OwnCgroup());
  // A worker that has moved itself before is in the leaf; candidates stand beside it.
  if (relative.ends_with("/worker")) relative.resize(relative.rfind('/'));
  const std::string own = root + (relative == "/" ? "" : relative);
  if (::access(own.c_str(), W_OK) != 0)
    return Unavailable(ErrnoError("not delegated: " + own, errno).message);
  ASSAY_ASSIGN_OR_RETURN(const std::string controllers, ReadFile(own + "/cgroup.controllers"));
  for (const char* needed : {"memory", "pids"}) {
    bool found = false;
    for (const std::string_view controller : Split(Trim(controllers), ' '))
      found = found || controller == needed;
    if (!found) return Unavailable(fmt::format("no {} controller in {}", needed, own));
  }
  return own;
}

/// Gives children of `own` the two controllers, moving this process out of the way.
Status Delegate(const std::string& own) {
  if (Write(own + "/cgroup.subtree_control", "+memory +pids").ok()) return {};
  // EBUSY: this process is in it.
  const std::string leaf = own + "/worker";
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST)
    return Unavailable(ErrnoError("not delegated: mkdir " + leaf, errno).message);
  for (const Status& status : {Write(leaf + "/cgroup.procs", "0"),
                               Write(own + "/cgroup.subtree_control", "+memory +pids")})
    if (!status.ok()) return Unavailable("not delegated: " + status.error().message);
  return {};
}

}  // namespace

Result<Cgroup> Cgroup::Create(const std::string& name, const CgroupLimits& limits,
                              const std::string& root) {
  if (name.empty() || name.find('/') != std::string::npos || name[0] == '.')
    return Err(ErrorCode::kInvalid, "cgroup: bad name '{}'", name);
  ASSAY_ASSIGN_OR_RETURN(const std::string own, FindDelegated(root));
  ASSAY_RETURN_IF_ERROR(Delegate(own));

  const std::string path = own + "/" + name;
  if (::mkdir(path.c_str(), 0755) != 0)
    return Unavailable(ErrnoError("mkdir " + path, errno).message);
  Cgroup cgroup(path);
  if (limits.memory_bytes != 0) {
    ASSAY_RETURN_IF_ERROR(Write(path + "/memory.max", std::to_string(limits.memory_bytes)));
    // Absent without swap accounting; with swap the limit would only move pages there.
    (void)Write(path + "/memory.swap.max", "0").ok();
  }
  if (limits.processes != 0)
    ASSAY_RETURN_IF_ERROR(Write(path + "/pids.max", std::to_string(limits.processes)));
  return cgroup;
}

Status Cgroup::CheckAvailable(const std::string& root) {
  const Result<std::string> own = FindDelegated(root);
  if (!own.ok()) return own.error();
  return {};
}

Cgroup::Cgroup(Cgroup&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  if (this != &other) {
    Remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

Cgroup::~Cgroup() { Remove(); }

void Cgroup::Remove() {
  if (path_.empty()) return;
  (void)Kill().ok();
  // EBUSY until the killed processes are gone.
  for (int attempt = 0; attempt < kRemoveAttempts && ::rmdir(path_.c_str()) != 0 && errno == EBUSY;
       ++attempt)
    ::usleep(kRemovePauseMicroseconds);
  path_.clear();
}

Status Cgroup::Add(pid_t pid) const { return Write(path_ + "/cgroup.procs", std::to_string(pid)); }

Status Cgroup::Kill() const { return Write(path_ + "/cgroup.kill", "1"); }

Status Cgroup::Freeze(bool frozen) const {
  return Write(path_ + "/cgroup.freeze", frozen ? "1" : "0");
}

Result<uint64_t> Cgroup::MemoryBytes() const {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path_ + "/memory.current"));
  return ParseNumber(text);
}

Result<uint64_t> Cgroup::OutOfMemoryKills() const {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path_ + "/memory.events"));
  constexpr std::string_view kKey = "oom_kill ";
  for (const std::string_view line : Split(text, '\n'))
    if (line.starts_with(kKey)) return ParseNumber(line.substr(kKey.size()));
  return Err(ErrorCode::kProtocol, "cgroup: no oom_kill in {}/memory.events", path_);
}

}  // namespace assay
