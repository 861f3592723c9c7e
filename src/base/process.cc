#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/strings.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace assay {
namespace {

constexpr int kHighestChildFd = 64;

Result<std::pair<UniqueFd, UniqueFd>> Pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return ErrnoError("pipe", errno);
  return std::pair(UniqueFd(fds[0]), UniqueFd(fds[1]));
}

std::vector<std::string> ChildEnvironment(const SpawnOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const std::string& name : options.unset_env) variables.erase(name);
  for (const auto& [name, value] : options.env) variables[name] = value;
  std::vector<std::string> lines;
  lines.reserve(variables.size());
  for (const auto& [name, value] : variables) lines.emplace_back(name).append("=").append(value);
  return lines;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs in the forked child: only async-signal-safe calls from here on.
[[noreturn]] void ExecChild(const std::string& program, char* const* argv, char* const* env,
                            const std::vector<std::pair<int, int>>& fds) {
  ::setpgid(0, 0);
  // Sources move above every target first, so that no dup2 overwrites a source not yet copied.
  int moved[kHighestChildFd];
  for (size_t i = 0; i < fds.size(); ++i)
    moved[i] = ::fcntl(fds[i].first, F_DUPFD, kHighestChildFd);
  for (size_t i = 0; i < fds.size(); ++i)
    if (::dup2(moved[i], fds[i].second) < 0) ::_exit(127);
  bool keep[kHighestChildFd] = {true, true, true};
  for (const auto& pair : fds) keep[pair.second] = true;
  for (int fd = 3; fd < kHighestChildFd; ++fd)
    if (!keep[fd]) ::close(fd);
  ::syscall(SYS_close_range, kHighestChildFd, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(program.c_str(), argv, env);
  ::_exit(127);
}

}  // namespace

std::string ExitStatus::ToString() const {
  if (signal != 0)
    return fmt::format("signal {} ({})", signal,
                       ::strsignal(signal));  // NOLINT(concurrency-mt-unsafe)
  return fmt::format("exit code {}", code);
}

Result<ChildProcess> ChildProcess::Adopt(pid_t pid, bool group) {
  ChildProcess child;
  child.pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!child.pidfd_.valid()) return ErrnoError("pidfd_open", errno);
  child.pid_ = pid;
  child.group_ = group;
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), group_(other.group_), pidfd_(std::move(other.pidfd_)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this != &other) {
    if (running()) static_cast<void>(Kill());
    pid_ = std::exchange(other.pid_, -1);
    group_ = other.group_;
    pidfd_ = std::move(other.pidfd_);
  }
  return *this;
}

ChildProcess::~ChildProcess() {
  if (running()) static_cast<void>(Kill());
}

void ChildProcess::Signal(int signal) const {
  if (!running()) return;
  if (group_) ::kill(-pid_, signal);
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

Result<ExitStatus> ChildProcess::Wait(TimePoint deadline) {
  ASSAY_CHECK(running());
  for (;;) {
    pollfd entry{pidfd_.get(), POLLIN, 0};
    const int ready = ::poll(&entry, 1, PollTimeout(deadline));
    if (ready > 0) break;
    if (ready == 0 && Clock::now() >= deadline)
      return Err(ErrorCode::kTimeout, "process {} still runs", pid_);
    if (ready < 0 && errno != EINTR) return ErrnoError("poll", errno);
  }
  siginfo_t info{};
  while (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info,
                  WEXITED) != 0)
    if (errno != EINTR) return ErrnoError("waitid", errno);
  // The leader is gone; what it left behind in its group goes too.
  if (group_) ::kill(-pid_, SIGKILL);
  pid_ = -1;
  pidfd_.Reset();
  ExitStatus status;
  if (info.si_code == CLD_EXITED) {
    status.code = info.si_status;
  } else {
    status.signal = info.si_status;
  }
  return status;
}

Result<ExitStatus> ChildProcess::Kill() {
  Signal(SIGKILL);
  return Wait(DeadlineIn(Seconds(10)));
}

Result<ChildProcess> Spawn(const SpawnOptions& options) {
  ASSAY_CHECK(!options.argv.empty());
  for (const auto& pair : options.fds)
    ASSAY_CHECK(pair.second >= 0 && pair.second < kHighestChildFd);
  ASSAY_ASSIGN_OR_RETURN(const std::string program, FindProgram(options.argv[0]));
  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> variables = ChildEnvironment(options);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> env = Pointers(variables);
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoError("fork", errno);
  if (pid == 0) ExecChild(program, argv.data(), env.data(), options.fds);
  ::setpgid(pid, pid);
  return ChildProcess::Adopt(pid, /*group=*/true);
}

Result<CommandOutput> RunCommand(const std::vector<std::string>& argv, Seconds timeout,
                                 size_t max_bytes) {
  const TimePoint deadline = DeadlineIn(timeout);
  ASSAY_ASSIGN_OR_RETURN(auto out_pipe, Pipe());
  ASSAY_ASSIGN_OR_RETURN(auto err_pipe, Pipe());
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  SpawnOptions options;
  options.argv = argv;
  options.fds = {{null.get(), 0}, {out_pipe.second.get(), 1}, {err_pipe.second.get(), 2}};
  ASSAY_ASSIGN_OR_RETURN(ChildProcess child, Spawn(options));
  out_pipe.second.Reset();
  err_pipe.second.Reset();

  CommandOutput output;
  pollfd entries[2] = {{out_pipe.first.get(), POLLIN, 0}, {err_pipe.first.get(), POLLIN, 0}};
  std::string* sinks[2] = {&output.out, &output.err};
  while (entries[0].fd >= 0 || entries[1].fd >= 0) {
    const int ready = ::poll(entries, 2, PollTimeout(deadline));
    if (ready == 0 && Clock::now() >= deadline) {
      static_cast<void>(child.Kill());
      return Err(ErrorCode::kTimeout, "'{}' did not end within {:.0f} s", argv[0], timeout.count());
    }
    for (int i = 0; i < 2; ++i) {
      if (entries[i].fd < 0 || entries[i].revents == 0) continue;
      char buffer[32 << 10];
      const ssize_t n = ::read(entries[i].fd, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        entries[i].fd = -1;
      } else {
        const size_t room = max_bytes - std::min(max_bytes, sinks[i]->size());
        sinks[i]->append(buffer, std::min(room, static_cast<size_t>(n)));
      }
    }
  }
  Result<ExitStatus> status = child.Wait(deadline);
  if (!status.ok()) {
    static_cast<void>(child.Kill());
    return status.error();
  }
  output.status = *status;
  return output;
}

Result<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), X_OK) == 0) return name;
    return Err(ErrorCode::kNotFound, "'{}' is not an executable file", name);
  }
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  for (const std::string_view folder : Split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    std::string candidate = std::string(folder) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return Err(ErrorCode::kNotFound, "'{}' is not on PATH", name);
}

}  // namespace assay
