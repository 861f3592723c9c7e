#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>

#include "base/fd.h"
#include "base/strings.h"
#include "sandbox/internal.h"

namespace assay::sandbox {
namespace {

// Names inside the new root while it is built; both are gone when it is entered.
constexpr std::string_view kHost = "/.host";
constexpr std::string_view kScratch = "/.scratch";

// Since Linux 5.12; older libc headers lack them.
constexpr int kMountSetattr = 442;
struct MountAttributes {
  uint64_t set = 0, clear = 0, propagation = 0, userns_fd = 0;
};
constexpr uint64_t kReadOnly = 0x1, kNoSetuid = 0x2, kNoDevices = 0x4, kNoExecute = 0x8;
constexpr int kRecursive = 0x8000;

enum class Kind { kReadOnlyBind, kDevice, kScratchFolder };

struct Mount {
  Kind kind;
  std::string source;  ///< inside the new root while it is built
};

/// What the private root will hold. Keys are paths inside it; their order puts parents first.
struct Plan {
  std::map<std::string, Mount> mounts;
  std::map<std::string, std::string> links;
};

/// Follows an absolute path on the host and notes each symbolic link that it meets. Nothing if the
/// path does not exist.
std::optional<std::string> Resolve(const std::string& path, Plan* plan) {
  constexpr int kMaxLinks = 40;  // as the kernel
  std::deque<std::string> rest;
  for (const std::string_view part : Split(path, '/')) rest.emplace_back(part);
  std::string at;
  int links = 0;
  while (!rest.empty()) {
    const std::string part = std::move(rest.front());
    rest.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at.resize(at.empty() ? 0 : at.rfind('/'));
      continue;
    }
    std::string next = at;
    next.append("/").append(part);
    struct stat status {};
    if (::lstat(next.c_str(), &status) != 0) return std::nullopt;
    if (!S_ISLNK(status.st_mode)) {
      at = std::move(next);
      continue;
    }
    char target[PATH_MAX];
    const ssize_t size = ::readlink(next.c_str(), target, sizeof target);
    if (size <= 0 || ++links > kMaxLinks) return std::nullopt;
    const std::string_view text(target, static_cast<size_t>(size));
    plan->links.emplace(next, text);
    if (text.front() == '/') at.clear();
    std::deque<std::string> parts;
    for (const std::string_view piece : Split(text, '/')) parts.emplace_back(piece);
    rest.insert(rest.begin(), parts.begin(), parts.end());
  }
  if (at.empty()) return std::nullopt;  // The whole host is never bound.
  return at;
}

void AddHostPath(const std::string& path, Kind kind, Plan* plan) {
  if (const auto resolved = Resolve(path, plan))
    plan->mounts.emplace(*resolved, Mount{kind, std::string(kHost) + *resolved});
}

Plan MakePlan(const SandboxSpec& spec) {
  Plan plan;
  const auto scratch = [&](const std::string& path, const char* name) {
    plan.mounts.emplace(path, Mount{Kind::kScratchFolder, fmt::format("{}/{}", kScratch, name)});
  };
  scratch(spec.work_dir, "work");
  scratch("/tmp", "tmp");
  scratch("/dev/shm", "shm");
  for (const char* device : kBasicDevices) AddHostPath(device, Kind::kDevice, &plan);
  for (const std::string& device : spec.devices) AddHostPath(device, Kind::kDevice, &plan);
  for (const std::string& path : spec.read_only) AddHostPath(path, Kind::kReadOnlyBind, &plan);
  for (const char* path : {"/etc/ld.so.cache", "/etc/localtime"})
    AddHostPath(path, Kind::kReadOnlyBind, &plan);
  // Where /bin and its like are links into /usr, programs name them; where they are folders, they
  // are there only if listed.
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    char target[PATH_MAX];
    const ssize_t size = ::readlink(path, target, sizeof target);
    if (size > 0) plan.links.emplace(path, std::string(target, static_cast<size_t>(size)));
  }
  return plan;
}

/// Whether `path` lies inside (not at) a planned read-only bind, with nothing writable between.
bool InReadOnlyBind(const Plan& plan, const std::string& path) {
  for (size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    const auto found = plan.mounts.find(path.substr(0, slash));
    if (found != plan.mounts.end()) return found->second.kind == Kind::kReadOnlyBind;
  }
  return false;
}

/// Creates the folders above `path`.
void MakeParents(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0755);
}

/// Creates what a mount of `source` needs to stand on: a folder or an empty file.
void MakeTarget(const std::string& source, const std::string& target) {
  struct stat status {};
  if (::stat(source.c_str(), &status) != 0) return;
  MakeParents(target);
  if (S_ISDIR(status.st_mode))
    ::mkdir(target.c_str(), 0755);
  else
    UniqueFd(::open(target.c_str(), O_CREAT | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0644));
}

int Remount(const char* target, uint64_t attributes, bool recursive) {
  const MountAttributes change{.set = attributes};
  if (::syscall(kMountSetattr, AT_FDCWD, target, recursive ? kRecursive : 0, &change,
                sizeof change) == 0)
    return 0;
  if (errno != ENOSYS) return -1;
  // Flags that the mount has may be locked, so they are kept (statvfs's numbers are mount's).
  struct statvfs status {};
  if (::statvfs(target, &status) != 0) return -1;
  unsigned long flags = status.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC | ST_NOATIME |
                                         ST_NODIRATIME | ST_RELATIME);
  if ((attributes & kReadOnly) != 0) flags |= MS_RDONLY;
  if ((attributes & kNoSetuid) != 0) flags |= MS_NOSUID;
  if ((attributes & kNoDevices) != 0) flags |= MS_NODEV;
  if ((attributes & kNoExecute) != 0) flags |= MS_NOEXEC;
  return ::mount(nullptr, target, nullptr, MS_REMOUNT | MS_BIND | flags, nullptr);
}

bool HasMountSetattr() {
  // Bad arguments: EINVAL from a kernel that knows the call.
  return ::syscall(kMountSetattr, -1, nullptr, 0, nullptr, 0) != 0 && errno != ENOSYS;
}

/// One planned mount; on failure nothing is left at `target`. Read-only binds bring what is mounted
/// below them only where the kernel can make all of it read-only.
int PerformMount(const std::string& target, const Mount& mount, bool recursive) {
  const unsigned long flags = recursive ? MS_BIND | MS_REC : MS_BIND;
  if (::mount(mount.source.c_str(), target.c_str(), nullptr, flags, nullptr) != 0) return -1;
  if (mount.kind == Kind::kScratchFolder) return 0;
  const uint64_t attributes =
      mount.kind == Kind::kDevice ? kNoSetuid | kNoExecute : kReadOnly | kNoSetuid | kNoDevices;
  if (Remount(target.c_str(), attributes, recursive) == 0) return 0;
  const int error = errno;
  // A writable piece of the host must not stay.
  ASSAY_CHECK(::umount2(target.c_str(), MNT_DETACH) == 0);
  errno = error;
  return -1;
}

Status MakeScratch(const SandboxSpec& spec, uint32_t uid) {
  const std::string scratch(kScratch);
  ::mkdir(scratch.c_str(), 0755);
  const std::string options =
      fmt::format("mode=0755,size={},nr_inodes={}", spec.work_bytes, spec.work_files);
  if (::mount("tmpfs", scratch.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return ErrnoError("sandbox: tmpfs for the work folder", errno);
  for (const char* name : {"/work", "/tmp", "/shm"}) {
    const std::string folder = scratch + name;
    if (::mkdir(folder.c_str(), 0700) != 0 || ::chown(folder.c_str(), uid, uid) != 0)
      return ErrnoError("sandbox: " + folder, errno);
  }
  return {};
}

void WriteSmallFile(const Plan& plan, const std::string& path, const std::string& text) {
  if (plan.mounts.contains(path) || InReadOnlyBind(plan, path)) return;
  MakeParents(path);
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
  if (fd.valid() && ::write(fd.get(), text.data(), text.size()) < 0) ::unlink(path.c_str());
}

void FillEtcAndDev(const Plan& plan, const SandboxSpec& spec, uint32_t uid) {
  WriteSmallFile(plan, "/etc/passwd",
                 fmt::format("assay:x:{0}:{0}::{1}:/bin/sh\n", uid, spec.work_dir));
  WriteSmallFile(plan, "/etc/group", fmt::format("assay:x:{}:\n", uid));
  WriteSmallFile(plan, "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
  WriteSmallFile(plan, "/etc/hosts", "127.0.0.1 localhost\n");
  for (const auto& [link, target] :
       {std::pair("/dev/fd", "/proc/self/fd"), std::pair("/dev/stdin", "/proc/self/fd/0"),
        std::pair("/dev/stdout", "/proc/self/fd/1"), std::pair("/dev/stderr", "/proc/self/fd/2")})
    if (::symlink(target, link) != 0 && errno != EEXIST) return;
}

Status MountProc(SandboxReport* report) {
  ::mkdir("/proc", 0555);
  if (report->pid_ns) {
    if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
      return ErrnoError("sandbox: /proc of the new pid namespace", errno);
    report->fresh_proc = true;
    return {};
  }
  // Nearly everything reads /proc/self; without a pid namespace only the host's can show it.
  const std::string host = std::string(kHost) + "/proc";
  if (::mount(host.c_str(), "/proc", nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return ErrnoError("sandbox: the host's /proc", errno);
  return {};
}

/// Turns a fresh tmpfs into the root and the old root into kHost. errno on refusal, which leaves
/// the old root in place; else 0.
int SwitchRoot() {
  // What happens here must not reach the host, nor later mounts of the host reach here.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  // Any folder will do: it is only covered while the root is switched.
  const char* base = ::access("/tmp", F_OK) == 0 ? "/tmp" : "/proc";
  if (::mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=10000") !=
      0)
    return errno;
  const std::string old_root = base + std::string(kHost);
  if (::mkdir(old_root.c_str(), 0700) != 0 ||
      ::syscall(SYS_pivot_root, base, old_root.c_str()) != 0) {
    const int error = errno;
    ::umount2(base, MNT_DETACH);
    return error;
  }
  ASSAY_CHECK(::chdir("/") == 0);
  return 0;
}

}  // namespace

Status EnterPrivateRoot(const SandboxSpec& spec, uint32_t uid, SandboxReport* report) {
  // Links and paths are resolved while the host's root is still the root.
  const Plan plan = MakePlan(spec);
  const mode_t old_mask = ::umask(0);
  if (const int error = SwitchRoot(); error != 0) {
    ::umask(old_mask);
    Miss(report, "private root", "pivot_root", error);
    return {};
  }
  ASSAY_RETURN_IF_ERROR(MakeScratch(spec, uid));
  const bool recursive = HasMountSetattr();
  for (const auto& [path, mount] : plan.mounts) {
    const bool covered = InReadOnlyBind(plan, path);
    if (covered && mount.kind == Kind::kReadOnlyBind) continue;
    if (!covered) MakeTarget(mount.source, path);
    if (PerformMount(path, mount, recursive) == 0) continue;
    if (mount.kind == Kind::kScratchFolder)
      return ErrnoError("sandbox: cannot mount " + path, errno);
    Miss(report, "private root", "cannot bind " + path, errno);
  }
  for (const auto& [link, target] : plan.links) {
    if (InReadOnlyBind(plan, link)) continue;
    MakeParents(link);
    if (::symlink(target.c_str(), link.c_str()) != 0 && errno != EEXIST)
      return ErrnoError("sandbox: cannot link " + link, errno);
  }
  FillEtcAndDev(plan, spec, uid);
  ASSAY_RETURN_IF_ERROR(MountProc(report));
  for (const std::string_view place : {kScratch, kHost}) {
    const std::string path(place);
    if (::umount2(path.c_str(), MNT_DETACH) != 0 || ::rmdir(path.c_str()) != 0)
      return ErrnoError("sandbox: cannot leave " + path, errno);
  }
  if (Remount("/", kReadOnly | kNoSetuid | kNoDevices, false) != 0)
    return ErrnoError("sandbox: read-only root", errno);
  ::umask(old_mask);
  report->private_root = true;
  report->work_dir = spec.work_dir;
  return {};
}

Status MakeHostWorkDir(uint32_t uid, SandboxReport* report) {
  const char* base = std::getenv("TMPDIR");
  std::string folder =
      std::string(base != nullptr && *base == '/' ? base : "/tmp") + "/assay-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr)
    return ErrnoError("sandbox: cannot make a work folder " + folder, errno);
  if (::geteuid() == 0 && ::chown(folder.c_str(), uid, uid) != 0)
    return ErrnoError("sandbox: " + folder, errno);
  report->work_dir = folder;
  return {};
}

}  // namespace assay::sandbox
