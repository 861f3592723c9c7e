#include "worker/pool.h"

#include <algorithm>
#include <vector>

#include "base/log.h"

namespace assay {
namespace {

constexpr int kOneConnection = 1;        // cheapest context: 0.06 s to create against 0.13 s
constexpr int kDefaultConnections = 8;   // the driver's own default
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
  filler_ = std::thread([this] { Fill(); });
}

CandidatePool::~CandidatePool() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  filler_.join();
}

Result<WarmCandidate> CandidatePool::Lease(bool default_connections, TimePoint deadline) {
  if (default_connections) {
    std::optional<BackgroundSet::Member> member;
    ASSAY_ASSIGN_OR_RETURN(WarmCandidate candidate, Make(kDefaultConnections, &member));
    ASSAY_ASSIGN_OR_RETURN(candidate.hello, WaitReady(candidate.process.get(), deadline));
    return candidate;
  }
  std::unique_lock guard(mutex_);
  for (;;) {
    const bool woken = changed_.wait_until(
        guard, deadline, [&] { return !ready_.empty() || failures_ >= kFailuresToReport; });
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

void CandidatePool::Destroy(std::unique_ptr<RuntimeProcess> process) {
  if (!process) return;
  const std::shared_lock device(*lock_);
  process->Kill();
}

Result<WarmCandidate> CandidatePool::Make(int connections,
                                          std::optional<BackgroundSet::Member>* member) {
  SandboxSpec spec = sandbox_;
  bool with_cgroup = false;
  {
    const std::lock_guard guard(mutex_);
    spec.uid = kFirstUid + made_++ % kUids;  // process limits count per user
    with_cgroup = cgroups_;
  }
  WarmCandidate candidate;
  // Not during a timing; and from its first moment the new process is one that a timing stops.
  const std::shared_lock device(*lock_);
  ASSAY_ASSIGN_OR_RETURN(candidate.process, zygote_->Fork(Role::kCandidate, connections, &spec));
  member->emplace(background_, *candidate.process);
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

namespace {

/// A candidate on its way to be warm; meanwhile a timing stops it.
struct Warming {
  WarmCandidate candidate;
  std::optional<BackgroundSet::Member> member;
};

}  // namespace

void CandidatePool::Fill() {
  std::unique_lock guard(mutex_);
  while (!stopping_) {
    const int missing = limits_.pool - static_cast<int>(ready_.size());
    if (missing <= 0) {
      changed_.wait(guard);
      continue;
    }
    guard.unlock();
    std::deque<Warming> batch;
    std::string error;
    while (error.empty() &&
           static_cast<int>(batch.size()) < std::min(missing, limits_.warm_at_once)) {
      Warming& warming = batch.emplace_back();
      Result<WarmCandidate> made = Make(kOneConnection, &warming.member);
      if (made.ok()) {
        warming.candidate = *std::move(made);
      } else {
        error = made.error().message;
        batch.pop_back();
      }
    }
    bool any = false;
    for (; !batch.empty(); batch.pop_front()) {
      Result<json::object> hello =
          WaitReady(batch.front().candidate.process.get(), DeadlineIn(Seconds(limits_.warm_s)));
      if (!hello.ok()) {
        error = hello.error().message;
        continue;
      }
      batch.front().candidate.hello = *std::move(hello);
      batch.front().member.reset();
      const std::lock_guard ready(mutex_);
      ready_.push_back(std::move(batch.front().candidate));
      any = true;
      changed_.notify_all();
    }
    guard.lock();
    failures_ = any ? 0 : failures_ + 1;
    if (!error.empty()) {
      last_error_ = error;
      LogWarn("cannot warm a candidate: {}", error);
    }
    changed_.notify_all();
    if (!any) changed_.wait_for(guard, std::chrono::milliseconds(300), [&] { return stopping_; });
  }
}

}  // namespace assay
