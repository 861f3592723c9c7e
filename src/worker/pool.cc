#include "worker/pool.h"

#include <algorithm>
#include <vector>

#include "base/log.h"

namespace assay {
namespace {

constexpr std::chrono::milliseconds kRetry{300};
constexpr int kFailuresToReport = 3;     // in a row, before a waiting lease is told
constexpr uint32_t kFirstUid = 200'000;  // above every user of a usual system
constexpr uint32_t kUids = 60'000;

}  // namespace

CandidatePool::CandidatePool(Zygote* zygote, DeviceLock* lock, BackgroundSet* background,
                             SandboxSpec sandbox, const Limits& limits)
    : zygote_(zygote),
      lock_(lock),
      background_(background),
      sandbox_(std::move(sandbox)),
      limits_(limits) {
  forker_ = std::thread([this] { Fork(); });
  warmer_ = std::thread([this] { Warm(); });
}

CandidatePool::~CandidatePool() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  forker_.join();
  warmer_.join();
}

Result<WarmCandidate> CandidatePool::Lease(bool default_connections, TimePoint deadline) {
  if (default_connections) {
    {
      const std::lock_guard guard(mutex_);
      ++leased_;
    }
    std::unique_ptr<BackgroundSet::Member> member;
    ASSAY_ASSIGN_OR_RETURN(WarmCandidate candidate,
                           Make(Role::kCandidate, kDefaultConnections, sandbox_, &member));
    ASSAY_ASSIGN_OR_RETURN(candidate.hello, WaitReady(candidate.process.get(), deadline));
    return candidate;
  }
  std::unique_lock guard(mutex_);
  ++leased_;
  for (;;) {
    ++waiting_;
    changed_.notify_all();
    const bool woken = changed_.wait_until(
        guard, deadline, [&] { return !ready_.empty() || failures_ >= kFailuresToReport; });
    --waiting_;
    if (!woken) return Err(ErrorCode::kTimeout, "no warm candidate became ready in time");
    if (ready_.empty())
      return Err(ErrorCode::kUnavailable, "no candidate can be started: {}", last_error_);
    WarmCandidate candidate = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    if (candidate.process->Alive()) return candidate;
    LogWarn("a pooled candidate died while waiting: {}", candidate.process->exit().ToString());
  }
}

bool CandidatePool::Destroy(std::unique_ptr<RuntimeProcess> process) {
  if (!process) return true;
  const std::shared_lock device(*lock_);
  process->Kill();
  return !process->process().running();
}

Result<WarmCandidate> CandidatePool::ForkTool(const std::vector<std::string>& folders,
                                              std::unique_ptr<BackgroundSet::Member>* member) {
  SandboxSpec spec = sandbox_;
  spec.read_only.insert(spec.read_only.end(), folders.begin(), folders.end());
  spec.loopback = true;
  spec.max_processes *= 2;  // the tool's own threads and those of what it runs
  return Make(Role::kTool, kDefaultConnections, std::move(spec), member);
}

Result<WarmCandidate> CandidatePool::Make(Role role, int connections, SandboxSpec spec,
                                          std::unique_ptr<BackgroundSet::Member>* member) {
  bool with_cgroup = false;
  {
    const std::lock_guard guard(mutex_);
    spec.uid = kFirstUid + made_++ % kUids;  // process limits count per user
    with_cgroup = cgroups_;
  }
  WarmCandidate candidate;
  // Not during a timing; and from its first moment the new process is one that a timing stops.
  const std::shared_lock device(*lock_);
  ASSAY_ASSIGN_OR_RETURN(candidate.process, zygote_->Fork(role, connections, &spec));
  *member = std::make_unique<BackgroundSet::Member>(background_, *candidate.process);
  if (!with_cgroup) return candidate;
  const pid_t pid = candidate.process->process().pid();
  Result<Cgroup> cgroup =
      Cgroup::Create(fmt::format("assay-{}", pid), {limits_.memory_bytes, spec.max_processes});
  if (cgroup.ok() && cgroup->Add(pid).ok()) {
    candidate.cgroup = *std::move(cgroup);
  } else {
    LogDebug("no cgroups: {}", cgroup.ok() ? "a process cannot be moved" : cgroup.error().message);
    const std::lock_guard guard(mutex_);
    cgroups_ = false;
  }
  return candidate;
}

size_t CandidatePool::warm() const {
  const std::lock_guard guard(mutex_);
  return ready_.size();
}

bool CandidatePool::Wanting() const {
  const auto warming = static_cast<int>(warming_.size());
  const int coming = static_cast<int>(ready_.size()) + warming;
  int wanted = limits_.pool;
  if (limits_.leases > 0) wanted = std::min(wanted, limits_.leases - leased_);
  return coming < std::max(wanted, waiting_) && warming < limits_.warm_at_once;
}

void CandidatePool::Failed(const Error& error) {
  ++failures_;
  last_error_ = error.message;
  LogWarn("cannot warm a candidate: {}", error.message);
  changed_.notify_all();
}

void CandidatePool::Fork() {
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [&] { return stopping_ || Wanting(); });
    if (stopping_) return;
    guard.unlock();
    const TimePoint start = Clock::now();
    Warming warming;
    Result<WarmCandidate> made = Make(Role::kCandidate, kOneConnection, sandbox_, &warming.member);
    guard.lock();
    if (!made.ok()) {
      Failed(made.error());
      changed_.wait_for(guard, kRetry, [&] { return stopping_; });
      continue;
    }
    LogDebug("{}: forked in {:.1f} ms", made->process->process().pid(), MillisecondsSince(start));
    warming.candidate = *std::move(made);
    warming_.push_back(std::move(warming));
    changed_.notify_all();
  }
}

void CandidatePool::Warm() {
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [&] { return stopping_ || !warming_.empty(); });
    if (stopping_) return;
    Warming& first = warming_.front();  // nobody else takes from there
    guard.unlock();
    Result<json::object> hello =
        WaitReady(first.candidate.process.get(), DeadlineIn(Seconds(limits_.warm_s)));
    guard.lock();
    Warming warm = std::move(first);
    warming_.pop_front();
    if (!hello.ok()) {
      Failed(hello.error());
      guard.unlock();
      warm = {};  // it ends outside the lock
      guard.lock();
      changed_.wait_for(guard, kRetry, [&] { return stopping_; });
      continue;
    }
    guard.unlock();
    LogDebug("{}: warm, which took it {:.1f} ms", warm.candidate.process->process().pid(),
             GetDouble(*hello, "warm_ms"));
    warm.candidate.hello = *std::move(hello);
    warm.member.reset();  // waits while a timing runs
    guard.lock();
    ready_.push_back(std::move(warm.candidate));
    failures_ = 0;
    changed_.notify_all();
  }
}

}  // namespace assay
