#include "worker/process_tree.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/strings.h"

namespace assay {
namespace {

/// Calls `visit` with the /proc folder of every thread of `pid`.
template <typename Visit>
void ForEachThread(pid_t pid, Visit visit) {
  const std::string folder = fmt::format("/proc/{}/task", pid);
  DIR* threads = ::opendir(folder.c_str());
  if (threads == nullptr) return;
  while (const dirent* entry = ::readdir(threads))  // NOLINT(concurrency-mt-unsafe): own DIR
    if (entry->d_name[0] != '.') visit(folder + "/" + entry->d_name);
  ::closedir(threads);
}

/// Direct children of every thread of `pid`.
void AppendChildren(pid_t pid, std::vector<pid_t>* out) {
  ForEachThread(pid, [&](const std::string& folder) {
    Result<std::string> text = ReadFile(folder + "/children");
    if (!text.ok()) return;
    for (const std::string_view number : Split(*text, ' '))
      if (!Trim(number).empty())
        out->push_back(static_cast<pid_t>(std::strtol(std::string(number).c_str(), nullptr, 10)));
  });
}

/// The fields of a stat file behind the name, from the state on; "" when the thread is gone.
std::string FieldsIn(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return "";
  const size_t end = text->rfind(')');  // the name may hold anything, parentheses included
  return end == std::string::npos || end + 2 >= text->size() ? "" : text->substr(end + 2);
}

/// 'R', 'S', 'D', 'T', 'Z', ... or 0 when the thread is gone.
char StateIn(const std::string& path) {
  const std::string fields = FieldsIn(path);
  return fields.empty() ? '\0' : fields.front();
}

bool IsStopped(char state) {
  return state == 'T' || state == 't' || state == 'Z' || state == 'X' || state == 0;
}

/// Whether every thread of `pid` is stopped or gone. The leader alone says nothing: it may have
/// left, and a thread inside the kernel stops only when it leaves.
bool AllStopped(pid_t pid) {
  bool stopped = true;
  ForEachThread(pid, [&](const std::string& folder) {
    stopped = stopped && IsStopped(StateIn(folder + "/stat"));
  });
  return stopped;
}

constexpr Seconds kAlone{0.005};  // far longer than a process without children takes to stop

/// Until the kernel says that the whole process, all its threads, is stopped; at least one look.
Status AwaitStop(int pidfd, TimePoint deadline) {
  for (;;) {
    siginfo_t info{};
    if (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info,
                 WSTOPPED | WNOHANG | WNOWAIT | WEXITED) != 0 &&
        errno != EINTR)
      return ErrnoError("waitid", errno);
    if (info.si_pid != 0 && info.si_code == CLD_STOPPED) return {};
    if (info.si_pid != 0) return Err(ErrorCode::kClosed, "the process ended");
    if (Clock::now() >= deadline) return Err(ErrorCode::kTimeout, "the process does not stop");
    ::sched_yield();
  }
}

/// Stops all that is below `pid` until no new one appears; returns them.
Result<std::vector<pid_t>> StopDescendants(pid_t pid, TimePoint deadline) {
  size_t known = 0;
  for (;;) {
    std::vector<pid_t> children = Descendants(pid);
    for (const pid_t child : children) ::kill(child, SIGSTOP);
    for (const pid_t child : children)
      while (!AllStopped(child)) {
        if (Clock::now() >= deadline)
          return Err(ErrorCode::kTimeout, "a child process does not stop");
        ::sched_yield();
      }
    if (children.size() == known) return children;
    known = children.size();
  }
}

}  // namespace

std::vector<pid_t> Descendants(pid_t pid) {
  std::vector<pid_t> found;
  AppendChildren(pid, &found);
  for (size_t i = 0; i < found.size(); ++i) AppendChildren(found[i], &found);
  return found;
}

void SendStop(int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGSTOP, nullptr, 0); }

Result<int> StopTree(pid_t pid, int pidfd, bool with_children, TimePoint deadline,
                     TimePoint* stopped) {
  SendStop(pidfd);
  // Where it has children that wake it, this sees nothing, and they are stopped first.
  const Status first =
      AwaitStop(pidfd, with_children ? std::min(deadline, DeadlineIn(kAlone)) : deadline);
  if (!first.ok() && (!with_children || first.error().code != ErrorCode::kTimeout))
    return first.error();
  if (stopped != nullptr) *stopped = Clock::now();
  // A child may send SIGCONT to its parent, so the parent is stopped again, and looked at, after
  // the children: when all of them are stopped and it is too, nobody is left to wake anybody.
  if (!with_children) return 0;
  for (;;) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<pid_t> children, StopDescendants(pid, deadline));
    SendStop(pidfd);
    ASSAY_RETURN_IF_ERROR(AwaitStop(pidfd, deadline));
    const std::vector<pid_t> now = Descendants(pid);
    const bool stable =
        now.size() == children.size() &&
        std::all_of(now.begin(), now.end(), [](pid_t child) { return AllStopped(child); });
    if (stable && AwaitStop(pidfd, Clock::now()).ok()) {
      if (stopped != nullptr && !(now.empty() && first.ok())) *stopped = Clock::now();
      return static_cast<int>(now.size());
    }
    if (Clock::now() >= deadline)
      return Err(ErrorCode::kTimeout, "the processes do not stay stopped");
  }
}

void ContinueTree(pid_t pid, int pidfd, bool with_children) {
  if (with_children)
    for (const pid_t child : Descendants(pid)) ::kill(child, SIGCONT);
  ::syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, nullptr, 0);
}

uint64_t RunTimeNs(pid_t pid) {
  uint64_t sum = 0;
  for (const pid_t member : Descendants(pid))
    ForEachThread(member, [&](const std::string& folder) {
      if (Result<std::string> text = ReadFile(folder + "/schedstat"); text.ok())
        sum += std::strtoull(text->c_str(), nullptr, 10);
    });
  return sum;
}

bool IsEnding(pid_t pid) {
  constexpr uint64_t kExiting = 0x4;  // PF_EXITING of the kernel's sched.h
  const std::string text = FieldsIn(fmt::format("/proc/{}/stat", pid));
  const auto fields = Split(text, ' ');
  if (fields.size() <= 6) return true;
  return (std::strtoull(std::string(fields[6]).c_str(), nullptr, 10) & kExiting) != 0;
}

bool ConsumeStop(int pidfd) {
  siginfo_t info{};
  return ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info,
                  WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
         info.si_pid != 0;
}

namespace {

std::vector<pid_t> FamilyOf(pid_t pid) {
  std::vector<pid_t> family = Descendants(pid);
  family.push_back(pid);
  return family;
}

/// Sum over some processes of what `pages` takes from the fields of their statm.
template <typename Pages>
uint64_t FamilyBytes(const std::vector<pid_t>& family, Pages pages) {
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  uint64_t sum = 0;
  for (const pid_t member : family) {
    Result<std::string> text = ReadFile(fmt::format("/proc/{}/statm", member));
    if (!text.ok()) continue;
    const auto fields = Split(*text, ' ');
    const auto field = [&](size_t i) {
      return std::strtoull(std::string(fields[i]).c_str(), nullptr, 10);
    };
    if (fields.size() > 2) sum += pages(field(1), field(2));
  }
  return sum * page;
}

}  // namespace

uint64_t ResidentBytes(pid_t pid) {
  return FamilyBytes(FamilyOf(pid),
                     [](uint64_t resident, uint64_t /*shared*/) { return resident; });
}

uint64_t PrivateBytes(pid_t pid) {
  return FamilyBytes(FamilyOf(pid), [](uint64_t resident, uint64_t shared) {
    return resident - std::min(resident, shared);
  });
}

}  // namespace assay
