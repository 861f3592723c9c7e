#include "openenv/run.h"

#include <algorithm>
#include <chrono>

#include "base/hash.h"
#include "base/host.h"
#include "base/log.h"
#include "base/log_request.h"
#include "openenv/extract.h"
#include "reward/reward.h"

namespace assay::openenv {
namespace {

// A refused submission has no job: so many numbers without one may lie between two that have.
constexpr size_t kLargestGap = 8;
// Between two tries to get a submission into a full queue.
constexpr Seconds kShortestRetry{0.25};
constexpr Seconds kLongestRetry{5};

}  // namespace

/// A submission on its way into the queue.
struct EpisodeRun::Sending {
  SharedRequest job;
  TimePoint deadline;
  bool defer = false;
  Reply reply;
  uint64_t listeners = 0;  ///< when it was sent
  bool first = false;      ///< of the episode
  std::shared_ptr<void> retry;
};

EpisodeRun::EpisodeRun(std::shared_ptr<const Host> host, Episode episode, Catalog::TaskPtr task,
                       std::string token, std::string owner)
    : host_(std::move(host)),
      task_(std::move(task)),
      token_(std::move(token)),
      owner_(std::move(owner)),
      hardware_(host_->Hardware()),
      episode_(std::move(episode)) {}

Result<std::shared_ptr<EpisodeRun>> EpisodeRun::Load(std::shared_ptr<const Host> host,
                                                     const std::string& token,
                                                     const std::string& owner) {
  const Result<json::object> document = host->context.documents->Get(kEpisodeDocuments, token);
  if (!document.ok() || GetString(*document, "owner") != owner)
    return Err(ErrorCode::kNotFound, "no episode has this token; reset without it");
  ASSAY_ASSIGN_OR_RETURN(Episode episode, Episode::FromJson(GetObject(*document, "episode")));
  ASSAY_ASSIGN_OR_RETURN(Catalog::TaskPtr task, host->catalog.Find(episode.config().task_id));
  if (task->sha256 != GetString(*document, "task_sha256"))
    return Err(ErrorCode::kInvalid, "task {} has changed since the episode began; reset", task->id);
  auto run = std::make_shared<EpisodeRun>(std::move(host), std::move(episode), std::move(task),
                                          token, owner);
  const auto read = [&](std::string_view name) {
    const json::object& members = GetObject(*document, name);
    return members.empty() ? Observation() : Observation(members);
  };
  run->last_ = read("last");
  run->best_ = read("best");
  run->unconfirmed_ = GetString(*document, "unconfirmed");
  run->FindJobs();
  return run;
}

std::string EpisodeRun::JobId(size_t number) const {
  if (token_.empty()) return NewId("sub_");
  return "sub_" + Sha256Hex(fmt::format("{}/{}", token_, number)).substr(0, 20);
}

/// Takes over jobs that were accepted after the document was written.
void EpisodeRun::FindJobs() {
  for (size_t number = episode_.tickets().size(), gap = 0; gap < kLargestGap; ++number, ++gap) {
    const Result<Job> job = host_->context.jobs->Get(JobId(number));
    if (!job.ok()) continue;
    const bool check = episode_.config().timing && !GetBool(job->request->options, "time", true);
    const Episode::Admission admission = episode_.Admit(check);
    if (admission != Episode::Admission::kTurn && admission != Episode::Admission::kFreeCheck)
      return;
    episode_.Begin(job->request->id, check);
    ++episode_.step_count;
    gap = 0;
  }
}

ObservationContext EpisodeRun::Context() {
  return {.episode = &episode_,
          .task = task_.get(),
          .hardware = &hardware_,
          // A token is a random number, which the deterministic profile must not hold.
          .token = episode_.config().timing ? token_ : "",
          .feedback_bytes = host_->settings.feedback_bytes};
}

Envelope EpisodeRun::Ready(const std::vector<std::string>& ignored) {
  const std::lock_guard lock(mutex_);
  ObservationContext context = Context();
  Persist(/*fresh=*/true);
  const auto members = [&](json::storage_ptr storage) {
    context.storage = std::move(storage);
    json::object made = ReadyMembers(context);
    if (!ignored.empty()) made["metadata"] = {{"ignored_reset_members", json::value_from(ignored)}};
    return made;
  };
  return {.observation = Observation::Make(members, host_->task_parts->Get(context))};
}

/// Settles what was judged while nobody was there, for a poll to report; what never reached the
/// queue was never accepted. The lock is held.
void EpisodeRun::CatchUp() {
  for (const Ticket& ticket : std::vector<Ticket>(episode_.tickets())) {
    if (ticket.settled || sending_.contains(ticket.id)) continue;
    const Result<Job> job = host_->context.jobs->Get(ticket.id);
    if (job.ok() && job->state == JobState::kDone) {
      (void)Judge(ticket.id, job->verdict, &*job, /*report=*/false);
    } else if (!job.ok() && job.error().code == ErrorCode::kNotFound) {
      episode_.Settle(ticket.id, Outcome{.kind = Outcome::Kind::kNever});
      Persist();
    }
  }
}

void EpisodeRun::Heard() {
  const std::lock_guard lock(mutex_);
  if (unconfirmed_.empty()) return;
  unconfirmed_.clear();
  Persist();
}

/// What the reply that is being made pays for a ticket; nothing if an earlier one did. The lock is
/// held.
std::optional<double> EpisodeRun::Pay(const std::string& ticket) {
  const std::optional<double> reward = episode_.Report(ticket);
  if (reward) unconfirmed_ = ticket;
  return reward;
}

/// All about the task, and over it what is being judged or the last verdict. The lock is held.
json::object EpisodeRun::Stand() {
  const ObservationContext context = Context();
  json::object observation = ReadyObservation(context);
  const Ticket* open = episode_.Open();
  const json::object now =
      open != nullptr ? QueuedObservation(context, *open, "Still being judged.") : last_.Members();
  for (const auto& [key, value] : now) observation[key] = value;
  return observation;
}

Envelope EpisodeRun::Standing() {
  const std::lock_guard lock(mutex_);
  return {.observation = Observation(Stand()), .done = episode_.done()};
}

Envelope EpisodeRun::Resumed(bool taken_over) {
  const std::lock_guard lock(mutex_);
  abandoned_ = false;
  if (taken_over) episode_.Unreport(unconfirmed_);
  unconfirmed_.clear();
  CatchUp();
  json::object observation = Stand();
  std::optional<double> reward;
  if (episode_.Open() == nullptr && !last_.empty()) {
    // A fault of the machine has no ticket and pays nothing.
    const std::string ticket = GetString(observation, "ticket");
    const std::optional<double> paid = Pay(ticket);
    if (!ticket.empty() && !paid) observation["flags"].as_array().emplace_back(kAlreadyReported);
    reward = paid.value_or(0);
  }
  Persist();
  return {.observation = Observation(observation), .reward = reward, .done = episode_.done()};
}

void EpisodeRun::Submit(Action action, TimePoint deadline, const std::string& request_id,
                        Reply reply) {
  const bool check = action.op == Action::Op::kCheck;
  std::unique_lock lock(mutex_);
  const Episode::Admission admission = episode_.Admit(check);
  if (admission == Episode::Admission::kOver) {
    Envelope over{.observation = Observation(OverObservation(Context(), last_.Members())),
                  .reward = 0,
                  .done = true};
    lock.unlock();
    return reply(std::move(over));
  }
  ++episode_.step_count;
  if (admission == Episode::Admission::kWait) {
    Envelope queued{.observation = Observation(QueuedObservation(
                        Context(), *episode_.Open(),
                        "All turns are taken and one submission is still being judged; this one "
                        "was not taken.")),
                    .reward = 0,
                    .done = false};
    Persist();
    lock.unlock();
    return reply(std::move(queued));
  }

  auto sending = std::make_shared<Sending>();
  JobRequest& job = *sending->job.Edit();
  job.id = JobId(episode_.tickets().size());
  Extracted extracted;
  if (action.code.size() > kMaxCode) {
    extracted.problem =
        fmt::format("the code has {} bytes; at most {} are taken", action.code.size(), kMaxCode);
  } else {
    extracted = ExtractCode(action.code);
    if (extracted.problem.empty() &&
        extracted.code.find_first_not_of(" \t\r\n") == std::string::npos)
      extracted.problem = "the code is empty; send a whole Python module that defines ModelNew";
  }
  job.owner = owner_;
  job.request_id = request_id;
  job.task_id = task_->id;
  job.submission_entry = action.entry_point;
  job.source = std::move(extracted.code);
  const EpisodeConfig& config = episode_.config();
  job.timeout_s = host_->settings.eval_timeout_s;
  job.options = config.judging;
  job.options["time"] = !check && config.timing;
  if (!check && config.timing && NeedsProfile(config.reward_mode, config.reward_parameters))
    job.options["profile"] = true;
  sending->deadline = deadline;
  sending->defer = action.defer;
  sending->reply = std::move(reply);
  sending->first = episode_.tickets().empty();
  episode_.Begin(job.id, check, std::move(action.metadata));
  Persist();
  if (!extracted.problem.empty()) {
    Envelope refused = Refuse(job.id, "no_code", extracted.problem);
    lock.unlock();
    return sending->reply(std::move(refused));
  }
  sending_.insert(job.id);
  sending->listeners = listeners_;
  lock.unlock();
  Send(sending);
}

void EpisodeRun::Send(const std::shared_ptr<Sending>& sending) {
  std::unique_lock lock(mutex_);
  if (abandoned_) {
    // The client went while it waited for room in the queue.
    sending_.erase(sending->job->id);
    episode_.Settle(sending->job->id, Outcome{.kind = Outcome::Kind::kNever});
    Persist();
    lock.unlock();
    return sending->reply(std::nullopt);
  }
  lock.unlock();
  // The store keeps the order: who hears that the job is taken can resume the episode.
  if (sending->first) host_->writer->WriteFirst(token_);
  host_->context.jobs->SubmitThen(
      sending->job, [self = shared_from_this(), sending](const Result<SharedJob>& job) {
        self->Sent(sending, job);
      });
}

void EpisodeRun::Sent(const std::shared_ptr<Sending>& sending, const Result<SharedJob>& job) {
  if (job.ok()) {
    bool abandoned = false;
    bool dropped = false;
    {
      const std::lock_guard lock(mutex_);
      sending_.erase(sending->job->id);
      abandoned = abandoned_;
      dropped = sending->listeners != listeners_;
    }
    if (abandoned) CancelOpen();
    if (dropped) return sending->reply(std::nullopt);
    if (!sending->defer) return Await(sending->job->id, sending->deadline, sending->reply);
    std::unique_lock lock(mutex_);
    const Ticket* ticket = episode_.Find(sending->job->id);
    Envelope queued{.observation = Observation(
                        QueuedObservation(Context(), *ticket, "Taken; it is judged later.")),
                    .reward = 0,
                    .done = false};
    lock.unlock();
    return sending->reply(std::move(queued));
  }
  const LogRequest of(sending->job->request_id);
  const Error& error = job.error();
  if (error.code == ErrorCode::kUnavailable) {
    const Seconds wait = std::clamp(Seconds(host_->context.jobs->retry_after_of(owner_)),
                                    kShortestRetry, kLongestRetry);
    if (Clock::now() + std::chrono::duration_cast<Duration>(wait) < sending->deadline) {
      sending->retry = host_->context.timers->After(wait, [self = shared_from_this(), sending] {
        const std::shared_ptr<void> handle = std::move(sending->retry);
        self->Send(sending);
      });
      return;
    }
  }
  std::unique_lock lock(mutex_);
  sending_.erase(sending->job->id);
  Envelope answer;
  if (error.code == ErrorCode::kInvalid) {
    answer = Refuse(sending->job->id, "refused", error.message);
  } else if (error.code == ErrorCode::kUnavailable) {
    answer = Infra(sending->job->id, Outcome::Kind::kNever, "queue_full", error.message);
  } else {
    LogWarn("openenv: submission {} was not taken: {}", sending->job->id, error.message);
    answer = Infra(sending->job->id, Outcome::Kind::kInfra, "not_accepted", error.message);
  }
  lock.unlock();
  sending->reply(std::move(answer));
}

json::object EpisodeRun::State() {
  const std::lock_guard lock(mutex_);
  return StateJson(&episode_);
}

bool EpisodeRun::Done() {
  const std::lock_guard lock(mutex_);
  return episode_.done();
}

bool EpisodeRun::Judging() {
  const std::lock_guard lock(mutex_);
  return episode_.Open() != nullptr;
}

bool EpisodeRun::Awaited() {
  const std::lock_guard lock(mutex_);
  return !waits_.empty() || !sending_.empty();
}

json::object EpisodeRun::Best() {
  const std::lock_guard lock(mutex_);
  return best_.Members();
}

void EpisodeRun::Remember(const Envelope& envelope) {
  last_ = envelope.observation;
  Persist();
}

/// The lock is held.
std::string EpisodeRun::Document() const {
  std::string text = json::serialize(json::object{{"owner", owner_},
                                                  {"task_sha256", task_->sha256},
                                                  {"updated_at", UnixNow()},
                                                  {"episode", episode_.ToJson()},
                                                  {"unconfirmed", unconfirmed_}});
  text.reserve(text.size() + last_.text().size() + best_.text().size() + 32);
  text.back() = ',';
  text.append(R"("last":)").append(last_.text());
  text.append(R"(,"best":)").append(best_.text()) += '}';
  return text;
}

/// The lock is held. An episode without a token is that of one stateless request.
void EpisodeRun::Persist(bool fresh) {
  if (token_.empty()) return;
  const auto document = [self = shared_from_this()] {
    const std::lock_guard lock(self->mutex_);
    return self->Document();
  };
  if (fresh)
    host_->writer->PutNew(token_, document);
  else
    host_->writer->PutChanged(token_, document);
}

}  // namespace assay::openenv
