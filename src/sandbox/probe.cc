#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/fd.h"
#include "sandbox/internal.h"

namespace assay {
namespace {

constexpr int kProbeTimeoutMs = 15'000;

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

/// The candidate: sends its report, or the reason why there is none, and ends.
[[noreturn]] void RunCandidate(const SandboxSpec& spec, SandboxReport report, int out) {
  const Status status = Confine(spec, {out}, &report);
  if (!status.ok()) {
    report = SandboxReport{};
    report.missing.push_back(status.error().message);
  }
  // A work folder of the host has served its purpose.
  if (!report.private_root && !report.work_dir.empty()) ::rmdir(report.work_dir.c_str());
  WriteAll(out, json::serialize(report.ToJson()));
  ::_exit(0);
}

/// Adopts the candidate as a worker would, so that the parent-death signal is tried too.
[[noreturn]] void RunAdopter(const SandboxSpec& spec, int out) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::fork() == 0) {
    const SandboxReport report = Unshare(spec);
    const pid_t candidate = ::fork();
    if (candidate == 0) RunCandidate(spec, report, out);
    ::_exit(candidate < 0 ? 1 : 0);
  }
  ::close(out);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  ::_exit(0);
}

std::string ReadToEnd(int fd) {
  std::string text;
  const TimePoint deadline = DeadlineIn(Seconds(kProbeTimeoutMs / 1000.0));
  char buffer[4096];
  for (;;) {
    pollfd readable{fd, POLLIN, 0};
    const int ready = ::poll(&readable, 1, PollTimeout(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return text;
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) return text;
    text.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

SandboxReport ProbeSandbox() {
  SandboxReport failed;
  SandboxSpec spec;
  spec.read_only = {"/usr"};
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    sandbox::Miss(&failed, "probe", "pipe", errno);
    return failed;
  }
  const UniqueFd in(fds[0]);
  UniqueFd out(fds[1]);
  const pid_t adopter = ::fork();
  if (adopter < 0) {
    sandbox::Miss(&failed, "probe", "fork", errno);
    return failed;
  }
  if (adopter == 0) RunAdopter(spec, out.get());
  out.Reset();
  const std::string text = ReadToEnd(in.get());
  ::kill(adopter, SIGKILL);
  ::waitpid(adopter, nullptr, 0);
  const Result<json::object> object = ParseJsonObject(text);
  if (object.ok()) return SandboxReport::FromJson(*object);
  failed.missing.emplace_back("probe: the trial candidate ended without a report");
  return failed;
}

}  // namespace assay
