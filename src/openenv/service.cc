#include "openenv/service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "openenv/environment.h"

namespace assay::openenv {
namespace {

constexpr Seconds kSweepInterval{5};

// A key may take another session while it holds at most so many times what is free. So one key
// alone has three quarters, the next one three quarters of the rest, and there is always one for
// another.
constexpr size_t kShare = 3;

constexpr double kSmoothing = 0.2;  ///< of the time between two sessions' ends
constexpr double kMaxRetryS = 120;

}  // namespace

/// Frees a session's place when the last copy of its slot goes.
struct Service::Place {
  Place(std::weak_ptr<Service> of, std::string key, SessionKind begun)
      : service(std::move(of)), owner(std::move(key)), kind(begun) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (const std::shared_ptr<Service> self = service.lock()) self->Release(owner, kind);
  }
  std::weak_ptr<Service> service;
  std::string owner;
  SessionKind kind;
};

Service::Service(OpenEnvContext context)
    : host_(std::make_shared<const Host>(std::move(context))) {}

Service::~Service() { Shutdown(); }

void Service::Shutdown() {
  std::vector<std::shared_ptr<EpisodeRun>> runs;
  std::vector<Waiters> waiters;
  std::unordered_map<std::string, std::shared_ptr<NamedSession>> sessions;
  std::shared_ptr<void> sweep;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, weak] : runs_)
      if (std::shared_ptr<EpisodeRun> run = weak.lock()) runs.push_back(std::move(run));
    for (auto& [key, account] : accounts_) waiters.push_back(std::exchange(account.waiters, {}));
    sessions.swap(sessions_);
    sweep.swap(sweep_);
  }
  collector_.reset();
  // Sessions, runs and those who wait for them hold each other, and through them this.
  for (const std::shared_ptr<EpisodeRun>& run : runs) run->ForgetWaits();
  host_->writer->Stop();
}

std::shared_ptr<Service> Service::Make(OpenEnvContext context) {
  std::shared_ptr<Service> service(new Service(std::move(context)));
  service->ArmSweep();
  MetricRegistry* const metrics = service->host_->context.metrics;
  if (metrics == nullptr) return service;
  service->refusals_ = &metrics->AddCounter("assay_openenv_capacity_refusals_total",
                                            "Clients that were told that no session is free.");
  service->collector_ = metrics->AddCollector([self = service.get()] {
    std::vector<MetricSample> samples;
    const std::lock_guard lock(self->mutex_);
    for (size_t kind = 0; kind < std::size(kSessionKinds); ++kind)
      samples.push_back({"assay_openenv_sessions",
                         "Sessions that clients hold.",
                         MetricType::kGauge,
                         {{"kind", kSessionKinds[kind]}},
                         static_cast<double>(self->by_kind_[kind])});
    return samples;
  });
  return service;
}

void Service::ArmSweep() {
  std::shared_ptr<void> timer =
      host_->context.timers->After(kSweepInterval, [weak = weak_from_this()] {
        const std::shared_ptr<Service> self = weak.lock();
        if (self == nullptr) return;
        self->Sweep();
        self->ArmSweep();
      });
  const std::lock_guard lock(mutex_);
  sweep_.swap(timer);
}

/// Another session of the account. The lock is held.
void Service::Count(Account* account, SessionKind kind) {
  ++active_;
  ++account->active;
  ++by_kind_[static_cast<size_t>(kind)];
}

Slot Service::MakeSlot(const std::string& owner, SessionKind kind) {
  return std::make_shared<Place>(weak_from_this(), owner, kind);
}

/// The lock is held.
bool Service::HasRoom(const Account& account) const {
  const Settings& limits = settings();
  const size_t free = limits.max_sessions - std::min(active_, limits.max_sessions);
  if (free == 0 || !account.keyed) return free > 0;
  return limits.max_sessions_per_key > 0 ? account.active < limits.max_sessions_per_key
                                         : account.active <= kShare * free;
}

Service::WaitId Service::Acquire(const http::Identity& who, SessionKind kind, bool wait,
                                 std::function<void(Slot)> granted) {
  const std::string& owner = who.key_name;
  WaitId id = 0;
  bool room = false;
  {
    const std::lock_guard lock(mutex_);
    Account& account = accounts_[owner];
    account.keyed = !who.key_id.empty();
    room = account.waiters.empty() && HasRoom(account);
    if (room) {
      Count(&account, kind);
    } else if (wait) {
      id = ++next_id_;
      account.waiters[id] = {kind, granted, nullptr};
    }
  }
  if (id == 0) {
    if (!room && refusals_ != nullptr) refusals_->Add();
    granted(room ? MakeSlot(owner, kind) : nullptr);
    return 0;
  }
  std::shared_ptr<void> timer =
      host_->context.timers->After(settings().capacity_wait, [weak = weak_from_this(), owner, id] {
        const std::shared_ptr<Service> self = weak.lock();
        if (self == nullptr) return;
        const Waiters::node_type late = self->TakeWaiter(owner, id);
        if (late.empty()) return;
        if (self->refusals_ != nullptr) self->refusals_->Add();
        late.mapped().granted(nullptr);
      });
  const std::lock_guard lock(mutex_);
  Waiters& waiters = accounts_[owner].waiters;
  if (const auto found = waiters.find(id); found != waiters.end())
    found->second.timer = std::move(timer);
  return id;
}

void Service::Withdraw(const http::Identity& who, WaitId id) {
  // What it held goes after the lock.
  (void)TakeWaiter(who.key_name, id);
}

Service::Waiters::node_type Service::TakeWaiter(const std::string& owner, WaitId id) {
  const std::lock_guard lock(mutex_);
  const auto found = accounts_.find(owner);
  return found == accounts_.end() ? Waiters::node_type() : found->second.waiters.extract(id);
}

void Service::Release(const std::string& owner, SessionKind kind) {
  {
    const std::lock_guard lock(mutex_);
    --active_;
    --accounts_[owner].active;
    --by_kind_[static_cast<size_t>(kind)];
    const TimePoint now = Clock::now();
    between_releases_s_ +=
        kSmoothing * (Seconds(now - std::exchange(released_, now)).count() - between_releases_s_);
  }
  HandOn();
}

/// Gives free slots to those who wait, those of the key that has fewest before others. A slot that
/// comes back meanwhile, because who waited has gone, is handed on by this loop: by recursion there
/// would be a frame of the stack for each who has gone.
void Service::HandOn() {
  std::unique_lock lock(mutex_);
  if (std::exchange(handing_on_, true)) return;
  for (;;) {
    std::pair<const std::string, Account>* next = nullptr;
    for (auto& entry : accounts_)
      if (!entry.second.waiters.empty() && HasRoom(entry.second) &&
          (next == nullptr || entry.second.active < next->second.active))
        next = &entry;
    if (next == nullptr) break;
    Waiters::node_type waiter = next->second.waiters.extract(next->second.waiters.begin());
    const SessionKind kind = waiter.mapped().kind;
    Count(&next->second, kind);
    const std::string owner = next->first;
    lock.unlock();
    waiter.mapped().granted(MakeSlot(owner, kind));
    waiter = {};  // what it held may be the last of a session
    lock.lock();
  }
  handing_on_ = false;
}

size_t Service::active_sessions() {
  const std::lock_guard lock(mutex_);
  return active_;
}

double Service::retry_after_s() {
  const std::lock_guard lock(mutex_);
  size_t before = 1;
  for (const auto& [owner, account] : accounts_) before += account.waiters.size();
  // A long time without an end is what is known of the next one.
  const double each = std::max(between_releases_s_, Seconds(Clock::now() - released_).count());
  return std::clamp(static_cast<double>(before) * each, 1.0, kMaxRetryS);
}

uint64_t Service::NextId() {
  const std::lock_guard lock(mutex_);
  return ++next_id_;
}

std::shared_ptr<EpisodeRun> Service::NewRun(Episode episode, Catalog::TaskPtr task,
                                            std::string owner) {
  auto run = std::make_shared<EpisodeRun>(host_, std::move(episode), std::move(task), NewId("ept_"),
                                          std::move(owner));
  const std::lock_guard lock(mutex_);
  runs_[run->token()] = run;
  return run;
}

std::shared_ptr<EpisodeRun> Service::NewRunAlone(Episode episode, Catalog::TaskPtr task,
                                                 std::string owner) {
  auto run = std::make_shared<EpisodeRun>(host_, std::move(episode), std::move(task), "",
                                          std::move(owner));
  const std::lock_guard lock(mutex_);
  runs_[std::to_string(++next_id_)] = run;
  return run;
}

Result<std::shared_ptr<EpisodeRun>> Service::Resume(const std::string& token,
                                                    const std::string& owner) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(token);
    std::shared_ptr<EpisodeRun> run = found == runs_.end() ? nullptr : found->second.lock();
    if (run != nullptr && run->owner() == owner) {
      left_.erase(token);
      return run;
    }
  }
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<EpisodeRun> run, EpisodeRun::Load(host_, token, owner));
  const std::lock_guard lock(mutex_);
  std::weak_ptr<EpisodeRun>& known = runs_[token];
  // Two may resume at once; both must get the same one.
  if (std::shared_ptr<EpisodeRun> other = known.lock()) return other;
  known = run;
  return run;
}

void Service::Leave(std::shared_ptr<EpisodeRun> run) {
  const TimePoint until = DeadlineIn(settings().resume_grace);
  const std::lock_guard lock(mutex_);
  const std::string token = run->token();
  left_[token] = Left{std::move(run), until};
}

std::shared_ptr<NamedSession> Service::NewSession(const http::Identity& who, Slot slot) {
  auto session = std::make_shared<NamedSession>();
  session->id = NewId("ses_");
  session->owner = who.key_name;
  session->environment = std::make_shared<Environment>(shared_from_this(), who);
  session->slot = std::move(slot);
  session->last_used = Clock::now();
  const std::lock_guard lock(mutex_);
  sessions_[session->id] = session;
  return session;
}

std::shared_ptr<NamedSession> Service::FindSession(const std::string& id,
                                                   const std::string& owner) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second->owner != owner) return nullptr;
  found->second->last_used = Clock::now();
  return found->second;
}

Service::Attach Service::AttachSession(const std::string& id, const std::string& owner,
                                       std::shared_ptr<NamedSession>* out) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second->owner != owner) return Attach::kUnknown;
  if (found->second->attached) return Attach::kTaken;
  found->second->attached = true;
  *out = found->second;
  return Attach::kOk;
}

void Service::DetachSession(const std::shared_ptr<NamedSession>& session) {
  bool close = false;
  {
    const std::lock_guard lock(mutex_);
    session->attached = false;
    session->last_used = Clock::now();
    close = session->closing;
  }
  if (close) CloseSession(session->id, session->owner);
}

Service::CloseResult Service::CloseSession(const std::string& id, const std::string& owner) {
  std::shared_ptr<NamedSession> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || found->second->owner != owner) return CloseResult::kUnknown;
    if (found->second->attached) {
      found->second->closing = true;
      return CloseResult::kClosing;
    }
    session = std::move(found->second);
    sessions_.erase(found);
  }
  session->environment->Close();
  return CloseResult::kClosed;
}

void Service::Watch(const std::shared_ptr<IdleWatched>& connection) {
  const std::lock_guard lock(mutex_);
  watched_[connection.get()] = connection;
}

bool Service::HoldBytes(const http::Identity& who, size_t bytes) {
  const size_t most = settings().max_bytes_waiting;
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[who.key_name];
  if (waiting_bytes_ + bytes > most) return false;
  if (!who.key_id.empty() && account.waiting_bytes + bytes > most / 4) return false;
  waiting_bytes_ += bytes;
  account.waiting_bytes += bytes;
  return true;
}

void Service::FreeBytes(const http::Identity& who, size_t bytes) {
  const std::lock_guard lock(mutex_);
  waiting_bytes_ -= bytes;
  accounts_[who.key_name].waiting_bytes -= bytes;
}

void Service::Sweep() {
  const TimePoint now = Clock::now();
  const bool expires = settings().idle_timeout.count() > 0;
  const auto idle = [&](TimePoint used) {
    return expires && now - used >= std::chrono::duration_cast<Duration>(settings().idle_timeout);
  };
  std::vector<std::shared_ptr<IdleWatched>> connections;
  std::vector<std::shared_ptr<NamedSession>> sessions;
  std::vector<std::shared_ptr<EpisodeRun>> lost;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(watched_, [](const auto& entry) { return entry.second.expired(); });
    std::erase_if(runs_, [](const auto& entry) { return entry.second.expired(); });
    for (const auto& [key, weak] : watched_)
      if (std::shared_ptr<IdleWatched> connection = weak.lock()) connections.push_back(connection);
    for (const auto& [id, session] : sessions_)
      if (!session->attached && idle(session->last_used)) sessions.push_back(session);
    std::erase_if(left_, [&](auto& entry) {
      if (entry.second.until > now) return false;
      lost.push_back(std::move(entry.second.run));
      return true;
    });
  }
  for (const std::shared_ptr<IdleWatched>& connection : connections)
    if (idle(connection->last_active())) connection->ExpireIdle();
  for (const std::shared_ptr<NamedSession>& session : sessions)
    if (!session->environment->Busy())
      CloseSession(session->id, session->owner);
    else
      (void)FindSession(session->id, session->owner);  // in use, until its step is answered
  for (const std::shared_ptr<EpisodeRun>& run : lost)
    if (run->holder == 0) run->Abandon();
}

}  // namespace assay::openenv
