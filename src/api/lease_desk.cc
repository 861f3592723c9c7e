#include "api/lease_desk.h"

#include <algorithm>

#include "base/hash.h"

namespace assay {
namespace {

constexpr size_t kMaxWorkers = 1000;  ///< known at once; each may have told much of itself
/// Remembered, for those who did not hear that their verdict is stored: they ask again soon.
constexpr size_t kMaxStored = 4096;
/// For a worker to end what it was told to end. The engine needs a second or two.
constexpr Seconds kEndGrace{60};
/// Deliveries of a job of which some may have got lost on the way to a worker, which is nothing
/// against the job. Beyond, it may be the job that ends its workers before they say anything.
constexpr int kMostUnheard = 20;

Error Over() {
  return Err(ErrorCode::kClosed,
             "this lease is over: it was not renewed in time, or the server was started anew");
}

}  // namespace

bool IsWorkerName(std::string_view text) {
  constexpr size_t kMaxName = 200;
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

LeaseDesk::LeaseDesk(Broker* broker, http::Timers* timers, std::function<TimePoint()> now)
    : broker_(broker), timers_(timers), now_(std::move(now)) {}

void LeaseDesk::Ask(Worker worker, const std::string& ask, Seconds wait, http::ClientGone gone,
                    Leased leased) {
  auto poll = std::make_shared<Poll>();
  poll->worker = {worker.instance, worker.name};
  poll->key = worker.key;
  poll->ask = ask;
  poll->ttl = worker.ttl;
  poll->gone = std::move(gone);
  poll->leased = std::move(leased);
  bool full = false;
  std::list<std::shared_ptr<Poll>> repeated;  // who asks again listens to the first no longer
  std::optional<Lease> again;
  {
    const std::lock_guard guard(mutex_);
    Forget();
    full = workers_.size() >= kMaxWorkers && !workers_.contains(poll->worker);
    if (!full) {
      Known& known = workers_[poll->worker];
      known.state.worker = std::move(worker);
      known.heard = now_();
      if (!ask.empty())
        for (auto it = polls_.begin(); it != polls_.end();) {
          const auto other = it++;
          if ((*other)->ask == ask && (*other)->worker == poll->worker &&
              (*other)->key == poll->key)
            repeated.splice(repeated.end(), polls_, other);
        }
      again = LeasedFor(*poll);
      if (!again) polls_.push_back(poll);
      if (!again && listening_ == nullptr)
        listening_ = broker_->WhenQueued([weak = weak_from_this()] {
          if (const std::shared_ptr<LeaseDesk> desk = weak.lock()) desk->Look();
        });
    }
  }
  if (full)
    return poll->leased(
        Err(ErrorCode::kUnavailable, "{} workers are known, which is the most", kMaxWorkers));
  for (const std::shared_ptr<Poll>& other : repeated) other->leased(std::optional<Lease>());
  if (again) return poll->leased(again);
  Look();
  if (wait.count() <= 0) return Expire(poll);
  const std::lock_guard guard(mutex_);
  if (std::find(polls_.begin(), polls_.end(), poll) == polls_.end()) return;
  poll->timer = timers_->After(wait, [weak = weak_from_this(), waiting = std::weak_ptr(poll)] {
    const std::shared_ptr<LeaseDesk> desk = weak.lock();
    const std::shared_ptr<Poll> alive = waiting.lock();
    if (desk != nullptr && alive != nullptr) desk->Expire(alive);
  });
}

/// A lease's name begins with its question's.
std::optional<LeaseDesk::Lease> LeaseDesk::LeasedFor(const Poll& poll) {
  if (poll.ask.empty()) return {};
  const std::string prefix = poll.ask + ".";  // which no question has in it
  const auto found = held_.lower_bound(prefix);
  if (found == held_.end() || !found->first.starts_with(prefix)) return {};
  Held& held = found->second;
  if (held.key != poll.key || held.worker != poll.worker || !Extend(&held)) return {};
  return Lease{found->first, held.delivery};
}

Result<std::optional<LeaseDesk::Lease>> LeaseDesk::Take(const Poll& poll) {
  if (http::HasGone(poll.gone)) return std::optional<Lease>();
  if (broker_->draining()) return Err(ErrorCode::kUnavailable, "the service is shutting down");
  ASSAY_ASSIGN_OR_RETURN(std::optional<Delivery> delivery,
                         broker_->Lease(poll.worker.second, Seconds(0), poll.ttl));
  if (!delivery) return std::optional<Lease>();
  Lease lease{NewId((poll.ask.empty() ? "lease" : poll.ask) + "."), *std::move(delivery)};
  Held& held = held_[lease.name];
  held.delivery = lease.delivery;
  held.worker = poll.worker;
  held.key = poll.key;
  held.ttl = poll.ttl;
  held.end = now_() + std::chrono::duration_cast<Duration>(poll.ttl);
  held.unheard = timers_->After(poll.ttl / 2, [weak = weak_from_this(), name = lease.name] {
    if (const std::shared_ptr<LeaseDesk> desk = weak.lock()) desk->EndUnheard(name);
  });
  return std::optional(std::move(lease));
}

void LeaseDesk::Look() {
  Answers answers;
  {
    const std::lock_guard guard(mutex_);
    while (!polls_.empty()) {
      const std::shared_ptr<Poll> poll = polls_.front();
      Result<std::optional<Lease>> taken = Take(*poll);
      const bool nothing = taken.ok() && !*taken;
      if (nothing && !http::HasGone(poll->gone)) break;
      answers.emplace_back(std::move(poll->leased), std::move(taken));
      polls_.pop_front();
    }
    if (polls_.empty()) listening_.reset();
  }
  for (const auto& [leased, taken] : answers) leased(taken);
}

void LeaseDesk::Expire(const std::shared_ptr<Poll>& poll) {
  {
    const std::lock_guard guard(mutex_);
    if (polls_.remove(poll) == 0) return;
    if (polls_.empty()) listening_.reset();
  }
  poll->leased(std::optional<Lease>());
}

LeaseDesk::Held* LeaseDesk::FindHeld(const std::string& key, const std::string& lease) {
  const auto found = held_.find(lease);
  if (found == held_.end() || found->second.key != key) return nullptr;
  if (const auto known = workers_.find(found->second.worker); known != workers_.end())
    known->second.heard = now_();
  found->second.unheard.reset();
  return &found->second;
}

/// False: the broker has ended the delivery.
bool LeaseDesk::Extend(Held* held) {
  if (!broker_->Renew(held->delivery, held->ttl).ok()) return false;
  held->end = now_() + std::chrono::duration_cast<Duration>(held->ttl);
  return true;
}

/// Gives what was leased, for the broker, which is called under no lock.
Delivery LeaseDesk::Drop(const std::string& lease, bool lost, std::string_view why) {
  const auto found = held_.find(lease);
  Delivery delivery = found->second.delivery;
  if (const auto known = workers_.find(found->second.worker); lost && known != workers_.end()) {
    ++known->second.state.failed;
    known->second.state.last_error = why;
  }
  held_.erase(found);
  return delivery;
}

/// The worker may never have got it.
void LeaseDesk::EndUnheard(const std::string& lease) {
  constexpr std::string_view kWhy = "its worker did not say that it has it";
  Delivery delivery;
  bool lost = false;
  {
    const std::lock_guard guard(mutex_);
    const auto found = held_.find(lease);
    if (found == held_.end() || found->second.unheard == nullptr) return;
    lost = found->second.delivery.number > kMostUnheard;
    delivery = Drop(lease, lost, kWhy);
  }
  broker_->ReturnThen(delivery, lost, kWhy, [](const Status&) {});
}

void LeaseDesk::Forget() {
  const TimePoint now = now_();
  std::erase_if(held_,
                [&](const auto& item) { return !item.second.completing && item.second.end < now; });
  std::erase_if(workers_, [&](const auto& item) {
    return item.second.heard + std::chrono::duration_cast<Duration>(item.second.state.worker.ttl) <
           now;
  });
}

Result<std::shared_ptr<const Job>> LeaseDesk::Find(const std::string& key,
                                                   const std::string& lease) {
  const std::lock_guard guard(mutex_);
  const Held* held = FindHeld(key, lease);
  if (held == nullptr) return Over();
  return held->delivery.job;
}

Result<bool> LeaseDesk::Renew(const std::string& key, const std::string& lease,
                              std::string_view stage) {
  constexpr std::string_view kWhy = "its worker did not end it when it was told to";
  Delivery overdue;
  {
    const std::lock_guard guard(mutex_);
    Held* held = FindHeld(key, lease);
    if (held == nullptr) return Over();
    const bool cancelled = *held->delivery.cancelled;
    if (held->completing) {
      // It may be written by now, or may never be, and is the worker's again then.
      static_cast<void>(Extend(held));
      return cancelled;
    }
    if (cancelled && !held->told) held->told = now_();
    if (!held->told || Seconds(now_() - *held->told) <= kEndGrace) {
      if (Extend(held)) {
        if (!stage.empty()) static_cast<void>(broker_->SetStage(held->delivery, stage));
        return cancelled;
      }
      held_.erase(lease);
      return Over();
    }
    overdue = Drop(lease, /*lost=*/true, kWhy);
  }
  broker_->ReturnThen(overdue, /*lost=*/true, kWhy, [](const Status&) {});
  return Over();
}

void LeaseDesk::Complete(const std::string& key, const std::string& lease, json::object verdict,
                         Done done) {
  Delivery delivery;
  Status answer;
  {
    const std::lock_guard guard(mutex_);
    Held* held = FindHeld(key, lease);
    if (held == nullptr) {
      if (!stored_.contains(lease)) answer = Over();
    } else if (held->completing) {
      answer = Err(ErrorCode::kUnavailable, "its verdict is being stored; ask again");
    } else {
      held->completing = true;
      delivery = held->delivery;
    }
  }
  if (delivery.job == nullptr) return done(answer);
  broker_->CompleteThen(
      delivery, std::move(verdict),
      [self = shared_from_this(), lease, done = std::move(done)](const Status& stored) {
        self->Completed(lease, stored);
        done(stored.ok() || stored.error().code != ErrorCode::kClosed ? stored : Status(Over()));
      });
}

void LeaseDesk::Completed(const std::string& lease, const Status& stored) {
  const std::lock_guard guard(mutex_);
  const auto found = held_.find(lease);
  if (found == held_.end()) return;
  found->second.completing = false;
  if (!stored.ok() && stored.error().code != ErrorCode::kClosed) return;
  if (stored.ok()) {
    if (const auto known = workers_.find(found->second.worker); known != workers_.end())
      ++known->second.state.judged;
    stored_.insert(lease);
    stored_order_.push_back(lease);
    if (stored_order_.size() > kMaxStored) {
      stored_.erase(stored_order_.front());
      stored_order_.pop_front();
    }
  }
  held_.erase(found);
}

void LeaseDesk::Return(const std::string& key, const std::string& lease, bool lost,
                       std::string_view why, Done done) {
  Delivery delivery;
  Status answer;
  {
    const std::lock_guard guard(mutex_);
    Held* held = FindHeld(key, lease);
    if (held == nullptr) {
      answer = Over();
    } else if (held->completing) {
      answer = Err(ErrorCode::kUnavailable, "its verdict is being stored; ask again");
    } else {
      delivery = Drop(lease, lost, why);
    }
  }
  if (delivery.job == nullptr) return done(answer);
  broker_->ReturnThen(delivery, lost, why, [done = std::move(done)](const Status& returned) {
    // One that cannot be written is queued all the same.
    const bool over = !returned.ok() && returned.error().code == ErrorCode::kClosed;
    done(over ? Status(Over()) : Status());
  });
}

bool LeaseDesk::Holds() {
  const std::lock_guard guard(mutex_);
  Forget();
  return !held_.empty();
}

bool LeaseDesk::HasWorkers() {
  const std::lock_guard guard(mutex_);
  Forget();
  return !workers_.empty();
}

void LeaseDesk::Close() {
  std::list<std::shared_ptr<Poll>> polls;
  std::map<std::string, Held> held;
  {
    const std::lock_guard guard(mutex_);
    polls.swap(polls_);
    held.swap(held_);
    listening_.reset();
  }
  for (const std::shared_ptr<Poll>& poll : polls) poll->leased(std::optional<Lease>());
  for (const auto& [lease, entry] : held)
    if (!entry.completing)
      broker_->ReturnThen(entry.delivery, /*lost=*/false, "the server stops", [](const Status&) {});
}

std::vector<LeaseDesk::WorkerState> LeaseDesk::Workers() {
  const std::lock_guard guard(mutex_);
  Forget();
  std::vector<WorkerState> states;
  for (const auto& [key, known] : workers_) {
    WorkerState& state = states.emplace_back(known.state);
    state.silent_s = Seconds(now_() - known.heard).count();
    for (const auto& [lease, held] : held_)
      if (held.worker == key) state.working_on.push_back(held.delivery.job->request->id);
  }
  return states;
}

}  // namespace assay
