// EpisodeRun's way out: waiting for a verdict, and the answer that it, a deadline or a fault makes.
#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "openenv/run.h"
#include "reward/reward.h"

namespace assay::openenv {
namespace {

Seconds Left(TimePoint deadline) { return std::max(Seconds(0), Seconds(deadline - Clock::now())); }

}  // namespace

void EpisodeRun::Await(const std::string& ticket, TimePoint deadline, Reply reply) {
  // What is judged already needs neither a watch nor a timer.
  if (const Result<SharedJob> job = host_->context.jobs->Peek(ticket);
      job.ok() && (*job)->state == JobState::kDone)
    return Answer(ticket, **job, reply);
  auto wait = std::make_shared<Wait>();
  wait->ticket = ticket;
  wait->reply = std::move(reply);
  {
    const std::lock_guard lock(mutex_);
    waits_.push_back(wait);
  }
  const std::weak_ptr<Wait> weak = wait;
  Result<std::shared_ptr<void>> job = host_->context.jobs->WhenDoneOrKept(
      ticket, [self = shared_from_this(), weak](const Job& told) { self->OnJob(weak, told); });
  if (!job.ok()) {
    if (!Take(wait)) return;
    std::unique_lock lock(mutex_);
    Envelope answer = Infra(ticket, Outcome::Kind::kInfra, "lost", job.error().message);
    lock.unlock();
    return wait->reply(std::move(answer));
  }
  std::shared_ptr<void> timer = host_->context.timers->After(
      Left(deadline), [self = shared_from_this(), weak] { self->OnDeadline(weak); });
  // It may be answered already; then the handles go here, after the lock.
  const std::lock_guard lock(mutex_);
  if (std::find(waits_.begin(), waits_.end(), wait) == waits_.end()) return;
  wait->job = *std::move(job);
  wait->timer = std::move(timer);
}

/// Whoever takes a wait answers it.
bool EpisodeRun::Take(const std::shared_ptr<Wait>& wait) {
  const std::lock_guard lock(mutex_);
  return std::erase(waits_, wait) > 0;
}

void EpisodeRun::OnJob(const std::weak_ptr<Wait>& weak, const Job& job) {
  const std::shared_ptr<Wait> wait = weak.lock();
  if (wait == nullptr || !Take(wait)) return;
  if (job.state != JobState::kDone)
    return AnswerLater(*wait, "The server is going down; it is kept and judged after the restart.");
  Answer(wait->ticket, job, wait->reply);
}

void EpisodeRun::Answer(const std::string& ticket, const Job& job, const Reply& reply) {
  std::unique_lock lock(mutex_);
  Envelope answer = Judge(ticket, job.verdict, &job);
  const bool done = episode_.done();
  lock.unlock();
  if (done) CancelOpen();
  reply(std::move(answer));
}

void EpisodeRun::OnDeadline(const std::weak_ptr<Wait>& weak) {
  const std::shared_ptr<Wait> wait = weak.lock();
  if (wait != nullptr && Take(wait)) AnswerLater(*wait, "Still being judged.");
}

void EpisodeRun::AnswerLater(const Wait& wait, const std::string& why) {
  std::unique_lock lock(mutex_);
  const Ticket* ticket = episode_.Find(wait.ticket);
  Envelope queued{.observation = Observation(QueuedObservation(Context(), *ticket, why)),
                  .reward = 0,
                  .done = episode_.done()};
  lock.unlock();
  wait.reply(std::move(queued));
}

/// Settles a ticket by its verdict and makes the reply, which pays if it is the first to report it.
/// The lock is held.
Envelope EpisodeRun::Judge(const std::string& id, const json::object& verdict, const Job* job,
                           bool report) {
  const Scored scored = Score(episode_.config(), verdict, episode_.Find(id)->check);
  const bool first = episode_.Settle(id, scored.outcome).first;
  const std::optional<double> paid = report ? Pay(id) : std::nullopt;
  const Ticket& ticket = *episode_.Find(id);
  const auto members = [&](json::storage_ptr storage) {
    ObservationContext context = Context();
    context.storage = std::move(storage);
    json::object made = JudgedObservation(context, ticket, verdict, scored, job);
    if (report && !first && !paid) made["flags"].as_array().emplace_back(kAlreadyReported);
    return made;
  };
  Envelope envelope{.observation = Observation::Make(members),
                    .reward = report ? paid.value_or(0) : ticket.reward,
                    .done = episode_.done()};
  if (first) {
    if (episode_.best_ticket() == id) best_ = envelope.observation;
    Remember(envelope);
  } else if (paid) {
    Persist();
  }
  return envelope;
}

/// As Judge, where the submission itself is why there is no judgement. The lock is held.
Envelope EpisodeRun::Refuse(const std::string& id, std::string_view name,
                            std::string_view message) {
  episode_.Refuse(id, name, message);
  return Judge(id, RefusedVerdict(name, message), nullptr);
}

/// As Judge, where there is no verdict. The lock is held.
Envelope EpisodeRun::Infra(const std::string& id, Outcome::Kind kind, std::string_view name,
                           std::string_view message) {
  episode_.Settle(id, Outcome{.kind = kind, .status = "infra_error"});
  (void)episode_.Report(id);
  Envelope envelope{.observation = Observation(InfraObservation(Context(), name, message)),
                    .reward = 0,
                    .done = episode_.done()};
  Remember(envelope);
  return envelope;
}

bool EpisodeRun::Poll(const std::string& given, TimePoint deadline, Reply reply) {
  std::unique_lock lock(mutex_);
  const Ticket* ticket = given.empty() ? episode_.Unreported() : episode_.Find(given);
  if (given.empty() && ticket == nullptr) ticket = episode_.Open();
  if (ticket == nullptr && given.empty() && episode_.done()) {
    Envelope over{.observation = Observation(OverObservation(Context(), last_.Members())),
                  .reward = 0,
                  .done = true};
    lock.unlock();
    reply(std::move(over));
    return true;
  }
  if (ticket == nullptr) return false;
  const std::string id = ticket->id;
  const bool settled = ticket->settled;
  lock.unlock();
  const bool judged = !settled || host_->context.jobs->Get(id).ok();
  lock.lock();
  // Settled without a job: it was refused, or never taken, which is as if it had not been sent.
  const Ticket known = *episode_.Find(id);
  if (!judged && known.refusal.empty()) return false;
  if (!episode_.done()) {
    ++episode_.step_count;
    Persist();
  }
  if (judged) {
    lock.unlock();
    Await(id, deadline, std::move(reply));
    return true;
  }
  Envelope again = Judge(id, RefusedVerdict(known.refusal, known.refusal_message), nullptr);
  lock.unlock();
  reply(std::move(again));
  return true;
}

bool EpisodeRun::Cancel(const std::string& given, TimePoint deadline, Reply reply) {
  std::string id = given;
  {
    const std::lock_guard lock(mutex_);
    if (id.empty() && episode_.Open() != nullptr) id = episode_.Open()->id;
    if (episode_.Find(id) == nullptr) return false;
  }
  host_->context.jobs->CancelThen(id, [self = shared_from_this(), id, deadline,
                                       reply = std::move(reply)](const Status& status) {
    if (!status.ok()) LogDebug("openenv: cancel {}: {}", id, status.error().message);
    (void)self->Poll(id, deadline, reply);
  });
  return true;
}

void EpisodeRun::CancelOpen() {
  std::vector<std::string> open;
  {
    const std::lock_guard lock(mutex_);
    for (const Ticket& ticket : episode_.tickets())
      if (!ticket.settled) open.push_back(ticket.id);
  }
  for (const std::string& id : open) host_->context.jobs->CancelThen(id, [](const Status&) {});
}

void EpisodeRun::Abandon() {
  Waits waits;
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    waits = TakeWaits();
    // Nothing was submitted to it: there is nothing to keep.
    if (episode_.tickets().empty()) host_->writer->Drop(token_);
  }
  CancelOpen();
  for (const std::shared_ptr<Wait>& wait : waits) wait->reply(std::nullopt);
}

/// What is on its way into the queue is answered with nothing when it gets there. The lock is held.
EpisodeRun::Waits EpisodeRun::TakeWaits() {
  ++listeners_;
  return std::exchange(waits_, {});
}

void EpisodeRun::DropWaits() {
  Waits waits;
  {
    const std::lock_guard lock(mutex_);
    waits = TakeWaits();
  }
  for (const std::shared_ptr<Wait>& wait : waits) wait->reply(std::nullopt);
}

void EpisodeRun::ForgetWaits() {
  Waits waits;
  const std::lock_guard lock(mutex_);
  waits = TakeWaits();
}

}  // namespace assay::openenv
