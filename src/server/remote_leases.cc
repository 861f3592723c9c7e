#include "server/remote_leases.h"

#include <algorithm>

#include "base/hash.h"
#include "base/log.h"

namespace assay {
namespace {

constexpr Seconds kAnswer{30};  ///< for a server under load
/// A cancellation is heard of when the lease is renewed.
constexpr Seconds kMostBetweenRenewals{2};
constexpr std::string_view kComplete = "/complete";
constexpr std::string_view kReturn = "/return";

Error Over() { return Err(ErrorCode::kClosed, "the server has given this lease up"); }

std::string Words(const http::Client::Answer& answer) {
  const Result<json::object> body = ParseJsonObject(answer.body);
  const std::string message =
      body.ok() ? GetString(GetObject(*body, "error"), "message") : std::string();
  return fmt::format("it answers {}{}{}", answer.status, message.empty() ? "" : ": ", message);
}

/// Whether the same request may be taken later.
bool IsPassing(int status) {
  return status == 401 || status == 403 || status == 408 || status == 429 || status >= 500;
}

Result<Job> ReadLease(const json::object& lease) {
  const json::object& task = GetObject(lease, "task");
  JobRequest request;
  request.id = GetString(lease, "id");
  request.source = GetString(lease, "source");
  request.submission_entry = GetString(lease, "submission_entry");
  request.options = GetObject(lease, "options");
  request.timeout_s = GetDouble(lease, "timeout_s");
  request.task_id = GetString(task, "id");
  request.task_source = GetString(task, "source");
  request.entry = GetString(task, "entry");
  if (Sha256Hex(request.task_source) != GetString(task, "sha256"))
    return Err(ErrorCode::kProtocol, "the text of task '{}' is not the one of its hash",
               request.task_id);
  Job job;
  job.request = SharedRequest(std::move(request));
  job.state = JobState::kRunning;
  job.deliveries = static_cast<int>(GetInt(lease, "delivery"));
  return job;
}

}  // namespace

RemoteLeases::RemoteLeases(Options options)
    : options_(std::move(options)),
      instance_(NewId("worker-")),
      keeper_([this] { KeepLeases(); }),
      sender_([this] { SendOutcomes(); }) {}

RemoteLeases::~RemoteLeases() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  keeper_.join();
  sender_.join();
}

Result<http::Client::Answer> RemoteLeases::Post(const std::string& path, const std::string& body,
                                                Seconds timeout) {
  std::unique_ptr<http::Client> client;
  {
    const std::lock_guard guard(mutex_);
    if (!idle_clients_.empty()) {
      client = std::move(idle_clients_.back());
      idle_clients_.pop_back();
    }
  }
  if (client == nullptr) client = std::make_unique<http::Client>(options_.server, options_.key);
  Result<http::Client::Answer> answer = client->Post(path, body, timeout);
  const std::lock_guard guard(mutex_);
  idle_clients_.push_back(std::move(client));
  return answer;
}

/// Says once that the server does not work with this worker, and why, and once that it does again.
void RemoteLeases::Note(const std::string& trouble) {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(troubled_, !trouble.empty()) == !trouble.empty()) return;
  }
  if (trouble.empty()) {
    LogInfo("the server gives work again");
  } else {
    LogWarn("the server gives no work: {}; it is asked again", trouble);
  }
}

Status RemoteLeases::Check() {
  // A lease that nobody holds.
  ASSAY_ASSIGN_OR_RETURN(const http::Client::Answer answer, Post("/v1/leases/none", "{}", kAnswer));
  if (answer.status == 410) return {};
  const ErrorCode code =
      answer.status == 429 || answer.status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
  return Error{code, "the server does not take this worker: " + Words(answer)};
}

Result<std::optional<Delivery>> RemoteLeases::Lease(const std::string& worker, Seconds wait,
                                                    Seconds ttl) {
  json::object ask = options_.describe ? options_.describe(worker) : json::object();
  ask["worker"] = options_.name + "/" + worker;
  ask["instance"] = instance_;
  ask["wait_s"] = wait.count();
  ask["ttl_s"] = ttl.count();
  const Result<http::Client::Answer> answer =
      Post("/v1/leases", json::serialize(ask), wait + kAnswer);
  const bool works = answer.ok() && (answer->status == 200 || answer->status == 204);
  Note(works ? "" : answer.ok() ? Words(*answer) : answer.error().message);
  if (!works) {
    std::unique_lock guard(mutex_);
    changed_.wait_for(guard, options_.backoff, [&] { return closing_; });
    return std::optional<Delivery>();
  }
  if (answer->status == 204) return std::optional<Delivery>();
  ASSAY_ASSIGN_OR_RETURN(Delivery delivery, Take(answer->body, ttl));
  return std::optional(std::move(delivery));
}

Result<Delivery> RemoteLeases::Take(const std::string& answer, Seconds ttl) {
  ASSAY_ASSIGN_OR_RETURN(const json::object lease, ParseJsonObject(answer));
  auto held = std::make_shared<Held>();
  held->path = "/v1/leases/" + GetString(lease, "lease");
  held->every =
      std::chrono::duration_cast<Duration>(std::min<Seconds>(ttl / 3, kMostBetweenRenewals));
  held->renew_at = Clock::now() + held->every;
  Result<Job> job = ReadLease(lease);
  if (!job.ok()) {
    static_cast<void>(
        Post(held->path + std::string(kReturn),
             json::serialize(json::object{{"lost", true}, {"why", job.error().message}}), kAnswer));
    return job.error();
  }
  held->job = std::make_shared<const Job>(*std::move(job));
  {
    const std::lock_guard guard(mutex_);
    if (interrupted_) held->cancelled->store(true);
    held_.emplace(held->job.get(), held);
  }
  changed_.notify_all();
  return Delivery{held->job, held->job->deliveries, held->cancelled};
}

RemoteLeases::HeldPtr RemoteLeases::Find(const Delivery& delivery) {
  const auto found = held_.find(delivery.job.get());
  return found == held_.end() || !found->second->outcome.empty() ? nullptr : found->second;
}

void RemoteLeases::Drop(const HeldPtr& held, Status ended) {
  held->over = true;
  held->ended = std::move(ended);
  held_.erase(held->job.get());
  changed_.notify_all();
}

/// Behind this call the keeper does it.
Status RemoteLeases::Renew(const Delivery& delivery, Seconds) {
  const std::lock_guard guard(mutex_);
  const HeldPtr held = Find(delivery);
  return held == nullptr || held->over ? Status(Over()) : Status();
}

Status RemoteLeases::SetStage(const Delivery& delivery, std::string_view stage) {
  {
    const std::lock_guard guard(mutex_);
    const HeldPtr held = Find(delivery);
    if (held == nullptr || held->over) return Over();
    held->stage = stage;
    held->stage_is_new = true;
    held->renew_at = Clock::now();
  }
  changed_.notify_all();
  return {};
}

Status RemoteLeases::End(const Delivery& delivery, const std::string& outcome,
                         const json::object& body) {
  {
    const std::lock_guard guard(mutex_);
    const HeldPtr held = Find(delivery);
    if (held == nullptr) return Over();
    if (held->over) {
      Drop(held, Over());
      return Over();
    }
    // What was cut short because this process stops is no verdict.
    const bool cut = interrupted_ && !held->asked && outcome == kComplete &&
                     GetString(body, "status") == "cancelled";
    held->outcome = cut ? kReturn : outcome;
    held->body =
        json::serialize(cut ? json::object{{"lost", false}, {"why", "the worker stops"}} : body);
    outbox_.push_back(held);
  }
  changed_.notify_all();
  return {};
}

Status RemoteLeases::CompleteBehind(const Delivery& delivery, json::object verdict) {
  return End(delivery, std::string(kComplete), verdict);
}

Status RemoteLeases::Complete(const Delivery& delivery, json::object verdict) {
  HeldPtr held;
  {
    const std::lock_guard guard(mutex_);
    held = Find(delivery);
  }
  ASSAY_RETURN_IF_ERROR(CompleteBehind(delivery, std::move(verdict)));
  std::unique_lock guard(mutex_);
  changed_.wait(guard, [&] { return closing_ || !held_.contains(held->job.get()); });
  return held->over ? held->ended : Status(Over());
}

Status RemoteLeases::Return(const Delivery& delivery, bool lost, std::string_view why) {
  return End(delivery, std::string(kReturn), {{"lost", lost}, {"why", why}});
}

void RemoteLeases::Interrupt() {
  const std::lock_guard guard(mutex_);
  interrupted_ = true;
  for (const auto& [job, held] : held_) held->cancelled->store(true);
}

bool RemoteLeases::Finish(TimePoint deadline) {
  std::unique_lock guard(mutex_);
  return changed_.wait_until(guard, deadline, [&] { return held_.empty(); });
}

void RemoteLeases::KeepLeases() {
  std::unique_lock guard(mutex_);
  while (!closing_) {
    const TimePoint now = Clock::now();
    TimePoint next = now + std::chrono::seconds(60);
    std::vector<HeldPtr> due;
    for (const auto& [job, held] : held_) {
      if (held->over) continue;
      if (held->renew_at <= now) due.push_back(held);
      next = std::min(next, held->renew_at);
    }
    if (due.empty()) {
      changed_.wait_until(guard, next);
      continue;
    }
    guard.unlock();
    for (const HeldPtr& held : due) RenewOne(held);
    guard.lock();
  }
}

void RemoteLeases::RenewOne(const HeldPtr& held) {
  json::object body;
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(held->stage_is_new, false)) body["stage"] = held->stage;
    held->renew_at = TimePoint::max();  // unless there is a new stage meanwhile
  }
  const Result<http::Client::Answer> answer = Post(held->path, json::serialize(body), kAnswer);
  const bool renewed = answer.ok() && (answer->status == 200 || answer->status == 204);
  const bool over = answer.ok() && !renewed && !IsPassing(answer->status);
  const Result<json::object> state = renewed && answer->status == 200
                                         ? ParseJsonObject(answer->body)
                                         : Result<json::object>(json::object());
  const std::lock_guard guard(mutex_);
  if (!renewed && body.contains("stage")) held->stage_is_new = true;
  const Duration pause =
      renewed ? held->every : std::chrono::duration_cast<Duration>(options_.backoff);
  held->renew_at = std::min(held->renew_at, Clock::now() + pause);
  if (renewed && state.ok() && GetBool(*state, "cancelled")) held->asked = true;
  if (over) held->over = true;
  if (held->asked || over) held->cancelled->store(true);
}

void RemoteLeases::SendOutcomes() {
  std::unique_lock guard(mutex_);
  for (;;) {
    changed_.wait(guard, [&] { return closing_ || !outbox_.empty(); });
    if (closing_) return;
    const HeldPtr held = outbox_.front();
    outbox_.pop_front();
    guard.unlock();
    const bool sent = SendOne(held);
    guard.lock();
    if (sent) continue;
    outbox_.push_back(held);
    changed_.wait_for(guard, options_.backoff, [&] { return closing_; });
  }
}

/// False: it is to be sent again.
bool RemoteLeases::SendOne(const HeldPtr& held) {
  const Result<http::Client::Answer> answer = Post(held->path + held->outcome, held->body, kAnswer);
  const std::string& id = held->job->request->id;
  if (!answer.ok() || IsPassing(answer->status)) {
    Note(answer.ok() ? Words(*answer) : answer.error().message);
    return false;
  }
  const std::lock_guard guard(mutex_);
  if (answer->status == 200) {
    Drop(held, {});
  } else if (answer->status == 410 || held->outcome == kReturn) {
    LogWarn("{}: the server takes no more of it: {}", id, Words(*answer));
    Drop(held, Over());
  } else {
    // It will not take this verdict, so it should know that there is none.
    LogWarn("{}: the verdict is refused: {}", id, Words(*answer));
    held->outcome = kReturn;
    held->body = json::serialize(
        json::object{{"lost", true}, {"why", "its verdict was refused: " + Words(*answer)}});
    return false;
  }
  return true;
}

}  // namespace assay
