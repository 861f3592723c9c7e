#include "sandbox/testing.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/strings.h"

namespace assay::sandbox {
namespace {

// Users of this test process alone: processes are bounded per user, and tests run side by side.
const uint32_t kOrdinaryUser = 1'000'000 + 2 * static_cast<uint32_t>(::getpid());
const uint32_t kCandidateUser = kOrdinaryUser + 1;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  ::_exit(99);
}

/// A container runtime's defaults, as far as they concern namespaces.
void BecomeContainerRoot() {
  scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  if (::seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW) != 0) Die("badarch");
  for (const int call : {SCMP_SYS(unshare), SCMP_SYS(mount), SCMP_SYS(setns), SCMP_SYS(pivot_root)})
    if (::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0) != 0) Die("seccomp_rule_add");
  if (::seccomp_load(filter) != 0) Die("seccomp_load");
  ::seccomp_release(filter);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2];
  if (::syscall(SYS_capget, &header, data) != 0) Die("capget");
  for (auto& word : data) word.inheritable = 0;
  data[0].effective &= ~(1u << CAP_SYS_ADMIN);
  data[0].permitted &= ~(1u << CAP_SYS_ADMIN);
  if (::syscall(SYS_capset, &header, data) != 0) Die("capset");
}

void BecomeOrdinaryUser() {
  if (::geteuid() != 0) return;
  if (::setgroups(0, nullptr) != 0 ||
      ::setresgid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser) != 0 ||
      ::setresuid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser) != 0)
    Die("setresuid");
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

void Send(int fd, const json::object& object) {
  const std::string text = json::serialize(object);
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) Die("write");
}

[[noreturn]] void RunCandidate(const SandboxSpec& spec, SandboxReport report, int out,
                               const Body& body) {
  const Status status = Confine(spec, {1, 2, out}, &report);
  json::object answer{{"report", report.ToJson()}, {"confined", status.ok()}};
  answer["text"] = status.ok() ? body(report) : status.error().message;
  Send(out, answer);
  // The adopter runs as the same user in the container case and may not remove it after us.
  if (status.ok() && !report.private_root) ::rmdir(report.work_dir.c_str());
  ::_exit(0);
}

[[noreturn]] void RunAdopter(Start start, const SandboxSpec& spec, int out, const Body& body) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (start == Start::kUser) BecomeOrdinaryUser();
  const pid_t stem = ::fork();
  if (stem < 0) Die("fork");
  if (stem == 0) {
    if (start == Start::kContainer) BecomeContainerRoot();
    const SandboxReport report = Unshare(spec);
    const pid_t candidate = ::fork();
    if (candidate < 0) Die("fork");
    if (candidate == 0) RunCandidate(spec, report, out, body);
    ::_exit(0);
  }
  ::close(out);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

std::string_view ToString(Start start) {
  switch (start) {
    case Start::kRoot:
      return "Root";
    case Start::kUser:
      return "User";
    case Start::kContainer:
      return "Container";
  }
  return "";
}

std::string Outcome::Missing() const { return Join(report.missing, "; "); }

Outcome RunInside(Start start, const SandboxSpec& spec, const Body& body) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) Die("pipe2");
  const UniqueFd in(fds[0]);
  UniqueFd out(fds[1]);
  std::fflush(nullptr);
  const pid_t adopter = ::fork();
  if (adopter < 0) Die("fork");
  if (adopter == 0) RunAdopter(start, spec, out.get(), body);
  out.Reset();
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(in.get(), buffer, sizeof buffer)) != 0;) {
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  ::waitpid(adopter, nullptr, 0);
  Outcome outcome;
  const Result<json::object> answer = ParseJsonObject(text);
  if (!answer.ok()) {
    outcome.text = "the candidate ended without an answer";
    return outcome;
  }
  outcome.report = SandboxReport::FromJson(GetObject(*answer, "report"));
  outcome.confined = GetBool(*answer, "confined");
  outcome.text = GetString(*answer, "text");
  return outcome;
}

SandboxSpec TestSpec() {
  SandboxSpec spec;
  spec.read_only = {"/usr", "/bin", "/lib", "/lib64", "/etc/alternatives"};
  spec.uid = kCandidateUser;
  return spec;
}

std::string MustFail(const char* what, long result, std::initializer_list<int> errors) {
  const int error = errno;
  if (result >= 0) return std::string(what) + " succeeded; ";
  for (const int expected : errors)
    if (error == expected) return "";
  return fmt::format("{} failed with '{}'; ", what, std::strerror(error));
}

}  // namespace assay::sandbox
