#include "openenv/environment.h"

#include <algorithm>

namespace assay::openenv {
namespace {

ProtocolError Failed(std::string message) {
  return {.code = "EXECUTION_ERROR", .message = std::move(message), .errors = {}, .extra = {}};
}

EpisodeRun::Reply ToClient(Environment::Reply reply) {
  return [reply = std::move(reply)](std::optional<Envelope> envelope) {
    reply(Environment::ToAnswer(std::move(envelope)));
  };
}

ProtocolError UnknownTicket(const std::string& ticket) {
  const json::value input(ticket);
  return ProtocolError::Invalid(
      "the action is not valid",
      {FieldError("value_error", {"ticket"},
                  ticket.empty() ? "nothing is being judged" : "no submission has this ticket",
                  &input)});
}

/// Between two looks whether a client is still there.
constexpr Seconds kLook{1};

/// Ends what is judged for a client that leaves before its answer. Lives as long as the answer is
/// owed. Thread-safe.
class ClientWatch : public std::enable_shared_from_this<ClientWatch> {
 public:
  ClientWatch(http::Timers* timers, http::ClientGone gone, std::weak_ptr<EpisodeRun> run)
      : timers_(timers), gone_(std::move(gone)), run_(std::move(run)) {}

  void Look() {
    if (http::HasGone(gone_)) {
      if (const std::shared_ptr<EpisodeRun> run = run_.lock()) run->Abandon();
      return;
    }
    std::shared_ptr<void> next = timers_->After(kLook, [weak = weak_from_this()] {
      if (const std::shared_ptr<ClientWatch> self = weak.lock()) self->Look();
    });
    const std::lock_guard lock(mutex_);
    timer_.swap(next);
  }

 private:
  http::Timers* const timers_;
  const http::ClientGone gone_;
  const std::weak_ptr<EpisodeRun> run_;
  std::mutex mutex_;
  std::shared_ptr<void> timer_;
};

}  // namespace

json::object ProtocolError::Data() const {
  json::object data{{"message", message}, {"code", code}};
  if (code == "VALIDATION_ERROR") data["errors"] = errors;
  for (const auto& [key, value] : extra) data[key] = value;
  return data;
}

ProtocolError ProtocolError::Invalid(std::string_view what, json::array errors) {
  std::string message = fmt::format("{}: {}", what, Summary(errors));
  return {.code = "VALIDATION_ERROR",
          .message = std::move(message),
          .errors = std::move(errors),
          .extra = {}};
}

Environment::Environment(std::shared_ptr<Service> service, http::Identity who)
    : service_(std::move(service)), who_(std::move(who)), id_(service_->NextId()) {}

Environment::Answer Environment::ToAnswer(std::optional<Envelope> reply) {
  if (reply) return *std::move(reply);
  ProtocolError error = Failed("the episode was resumed or reset elsewhere while this was in work");
  error.http_status = 409;
  return error;
}

Environment::Answer Environment::Reset(ResetRequest request) {
  if (!request.errors.empty())
    return ProtocolError::Invalid("the reset is not valid", std::move(request.errors));
  std::shared_ptr<EpisodeRun> next;
  if (!request.resume.empty()) {
    Result<std::shared_ptr<EpisodeRun>> resumed = service_->Resume(request.resume, who_.key_name);
    if (!resumed.ok()) return Failed(resumed.error().message);
    next = *std::move(resumed);
  } else {
    Result<Catalog::TaskPtr> task = service_->host()->catalog.Choose(request.choice);
    if (!task.ok()) return Failed(task.error().message);
    request.config.task_id = (*task)->id;
    request.config.suite = SuiteOf((*task)->id);
    next = service_->NewRun(Episode(std::move(request.config)), *task, who_.key_name);
  }
  const bool taken_over = next->holder.exchange(id_) != id_;
  std::shared_ptr<EpisodeRun> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(run_, next);
  }
  if (before != nullptr && before != next && before->holder == id_) before->Abandon();
  if (request.resume.empty()) return next->Ready(request.ignored);
  // After it is ours: those who are answered now find that, and ask no more of it.
  next->DropWaits();
  return next->Resumed(taken_over);
}

std::shared_ptr<EpisodeRun> Environment::run() {
  std::shared_ptr<EpisodeRun> held = Held();
  if (held != nullptr) held->Heard();
  return held;
}

std::shared_ptr<EpisodeRun> Environment::Held() {
  const std::lock_guard lock(mutex_);
  return run_ != nullptr && run_->holder == id_ ? run_ : nullptr;
}

bool Environment::Busy() {
  const std::shared_ptr<EpisodeRun> held = Held();
  return held != nullptr && held->Awaited();
}

bool Environment::Judging() {
  const std::shared_ptr<EpisodeRun> held = Held();
  return held != nullptr && (held->Awaited() || held->Judging());
}

TimePoint Environment::Deadline(Seconds limit, const Asked& asked) const {
  return asked.at +
         std::chrono::duration_cast<Duration>(std::min(limit, service_->settings().reply_deadline));
}

void Environment::Step(Action action, Seconds limit, const Asked& asked, Reply reply) {
  const TimePoint deadline = Deadline(limit, asked);
  const std::shared_ptr<EpisodeRun> current = run();
  if (current == nullptr) {
    std::unique_lock lock(mutex_);
    const bool none = run_ == nullptr;
    lock.unlock();
    return reply(Failed(none ? "there is no episode on this connection (a new connection has none, "
                               "also after a reconnect): send reset first, or reset with "
                               "resume=<episode_token> to go on with one"
                             : "the episode was resumed on another connection; reset to begin "
                               "another one"));
  }
  if (!action.task_id.empty()) {
    const Result<Catalog::TaskPtr> named = service_->host()->catalog.Find(action.task_id);
    if (!named.ok() || (*named)->id != current->task_id()) {
      const json::value input(action.task_id);
      return reply(ProtocolError::Invalid(
          "the action is not valid",
          {FieldError("value_error", {"task_id"},
                      "the episode's task is " + current->task_id() + "; reset to change it",
                      &input)}));
    }
  }
  const EpisodeRun::Reply answer = ToClient(reply);
  const TimePoint poll_deadline = std::min(deadline, DeadlineIn(service_->settings().poll_wait));
  switch (action.op) {
    case Action::Op::kSubmit:
    case Action::Op::kCheck:
      return current->Submit(std::move(action), deadline, asked.id, answer);
    case Action::Op::kPoll:
      if (!current->Poll(action.ticket, poll_deadline, answer)) reply(UnknownTicket(action.ticket));
      return;
    case Action::Op::kCancel:
      if (!current->Cancel(action.ticket, poll_deadline, answer))
        reply(UnknownTicket(action.ticket));
      return;
  }
}

void Environment::StepAlone(Action action, Seconds limit, const Asked& asked, Reply reply) {
  const TimePoint deadline = Deadline(limit, asked);
  if (action.op == Action::Op::kPoll || action.op == Action::Op::kCancel)
    return StepJob(action, deadline, reply);
  Result<Catalog::TaskPtr> task = service_->host()->catalog.Find(action.task_id);
  if (!task.ok()) {
    const json::value input(action.task_id);
    return reply(ProtocolError::Invalid(
        "the action is not valid",
        {FieldError("value_error", {"task_id"}, task.error().message, &input)}));
  }
  EpisodeConfig config = ParseReset({}, service_->settings()).config;
  config.task_id = (*task)->id;
  config.suite = SuiteOf((*task)->id);
  config.max_turns = 1;
  config.max_checks = 1;
  const std::shared_ptr<EpisodeRun> alone =
      service_->NewRunAlone(Episode(std::move(config)), *task, who_.key_name);
  // Nobody can take back what is in no session, so the run lives as long as its judgement.
  EpisodeRun::Reply answer = ToClient(std::move(reply));
  if (asked.gone != nullptr) {
    const auto watch = std::make_shared<ClientWatch>(service_->host()->context.timers, asked.gone,
                                                     std::weak_ptr(alone));
    watch->Look();
    answer = [watch, answer = std::move(answer)](std::optional<Envelope> envelope) {
      if (envelope) watch->Look();  // the ticket may be what it does not hear any more
      answer(std::move(envelope));
    };
  }
  alone->Submit(std::move(action), deadline, asked.id, std::move(answer));
}

/// A ticket of a stateless submission is its job.
void Environment::StepJob(const Action& action, TimePoint deadline, const Reply& reply) {
  const std::shared_ptr<const Host>& host = service_->host();
  const Result<Job> job = host->context.jobs->Get(action.ticket);
  if (!job.ok() || job->request->owner != who_.key_name) return reply(UnknownTicket(action.ticket));
  Result<Catalog::TaskPtr> task = host->catalog.Find(job->request->task_id);
  if (!task.ok()) return reply(Failed(task.error().message));
  EpisodeConfig config = ParseReset({}, service_->settings()).config;
  config.task_id = (*task)->id;
  config.suite = SuiteOf((*task)->id);
  config.max_turns = 1;
  config.max_checks = 1;
  Episode episode(std::move(config));
  episode.Begin(job->request->id, !GetBool(job->request->options, "time", true));
  const std::shared_ptr<EpisodeRun> alone =
      service_->NewRunAlone(std::move(episode), *task, who_.key_name);
  const TimePoint limit = std::min(deadline, DeadlineIn(service_->settings().poll_wait));
  if (action.op == Action::Op::kCancel)
    (void)alone->Cancel(action.ticket, limit, ToClient(reply));
  else
    (void)alone->Poll(action.ticket, limit, ToClient(reply));
}

json::object Environment::State() {
  const std::shared_ptr<EpisodeRun> current = run();
  return current == nullptr ? StateJson(nullptr) : current->State();
}

void Environment::Leave() {
  std::shared_ptr<EpisodeRun> left;
  {
    const std::lock_guard lock(mutex_);
    left = std::move(run_);
    run_.reset();
  }
  uint64_t mine = id_;
  if (left == nullptr || !left->holder.compare_exchange_strong(mine, 0)) return;
  left->DropWaits();
  if (!left->Done()) service_->Leave(std::move(left));
}

void Environment::Close() {
  std::shared_ptr<EpisodeRun> closed;
  {
    const std::lock_guard lock(mutex_);
    closed = std::move(run_);
    run_.reset();
  }
  uint64_t mine = id_;
  if (closed != nullptr && closed->holder.compare_exchange_strong(mine, 0)) closed->Abandon();
}

}  // namespace assay::openenv
