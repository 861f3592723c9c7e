#include "server/remote_leases.h"

#include <algorithm>

#include "api/lease_desk.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/strings.h"
#include "verdict/verdict.h"

namespace assay {
namespace {

constexpr Seconds kAnswer{30};  ///< for a server under load
/// A cancellation is heard of when the lease is renewed.
constexpr Seconds kMostBetweenRenewals{2};
constexpr size_t kMaxWhy = 1000;  ///< of why a job is given back
constexpr std::string_view kRenew = "/v1/leases/renew";
constexpr std::string_view kComplete = "complete";
constexpr std::string_view kReturn = "return";

/// A server that is silent for longer than this is asked again, so that a lease survives an answer
/// that never comes.
Seconds AnswerTime(Seconds ttl) { return std::min(kAnswer, ttl / 4); }
Seconds BetweenRenewals(Seconds ttl) { return std::min(ttl / 3, kMostBetweenRenewals); }

TimePoint After(TimePoint from, Seconds pause) {
  return from + std::chrono::duration_cast<Duration>(pause);
}

std::string PathOf(const std::string& lease, std::string_view outcome) {
  return fmt::format("/v1/leases/{}/{}", lease, outcome);
}

Error Over() { return Err(ErrorCode::kClosed, "the server has given this lease up"); }

std::string Words(const http::Client::Answer& answer) {
  const std::string words = answer.Words();
  return fmt::format("it answers {}{}{}", answer.status, words.empty() ? "" : ": ", words);
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
      keeper_([this] { KeepLeases(); }) {}

RemoteLeases::~RemoteLeases() {
  {
    const std::lock_guard guard(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  keeper_.join();
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

/// 422 says that what this worker asks is wrong, which it will be again.
void RemoteLeases::Refuse(const http::Client::Answer& answer) {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(refused_, true)) return;
  }
  if (options_.refused) options_.refused("the server does not take this worker: " + Words(answer));
}

Status RemoteLeases::Check() {
  if (!IsWorkerName(options_.name))
    return Err(
        ErrorCode::kInvalid,
        "'{}' cannot name a worker: give --name 1 to 200 printable characters without blanks",
        CleanText(options_.name));
  const json::object nothing = {{"protocol", kProtocolVersion}, {"leases", json::object()}};
  ASSAY_ASSIGN_OR_RETURN(const http::Client::Answer answer,
                         Post(std::string(kRenew), json::serialize(nothing), kAnswer));
  if (answer.status == 204) return {};
  const ErrorCode code =
      answer.status == 429 || answer.status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalid;
  return Error{code, "the server does not take this worker: " + Words(answer)};
}

/// A question that was not answered, or whose answer got lost, is asked again: a job that was
/// leased for it is had then.
std::string RemoteLeases::NextAsk(const std::string& worker) {
  const std::lock_guard guard(mutex_);
  const auto found = unanswered_.find(worker);
  return found == unanswered_.end() ? NewId("lease-")
                                    : std::move(unanswered_.extract(found).mapped());
}

Result<std::optional<Delivery>> RemoteLeases::Lease(const std::string& worker, Seconds wait,
                                                    Seconds ttl) {
  const std::string question = NextAsk(worker);
  json::object ask = options_.describe ? options_.describe(worker) : json::object();
  ask["worker"] = options_.name + "/" + worker;
  ask["instance"] = instance_;
  ask["protocol"] = kProtocolVersion;
  ask["ask"] = question;
  ask["wait_s"] = wait.count();
  ask["ttl_s"] = ttl.count();
  const Result<http::Client::Answer> answer =
      Post("/v1/leases", json::serialize(ask), wait + AnswerTime(ttl));
  const bool works = answer.ok() && (answer->status == 200 || answer->status == 204);
  Note(works ? "" : answer.ok() ? Words(*answer) : answer.error().message);
  if (!works) {
    if (answer.ok() && answer->status == 422) Refuse(*answer);
    std::unique_lock guard(mutex_);
    unanswered_.emplace(worker, question);
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
  held->name = GetString(lease, "lease");
  held->ttl = std::chrono::duration_cast<Duration>(ttl);
  held->end = Clock::now() + held->ttl;
  Result<Job> job = ReadLease(lease);
  if (!job.ok()) {
    static_cast<void>(
        Post(PathOf(held->name, kReturn),
             json::serialize(json::object{{"lost", true}, {"why", job.error().message}}), kAnswer));
    return job.error();
  }
  held->job = std::make_shared<const Job>(*std::move(job));
  {
    const std::lock_guard guard(mutex_);
    if (interrupted_) held->cancelled->store(true);
    held_.emplace(held->job.get(), held);
    renew_at_ = std::min(renew_at_, After(Clock::now(), BetweenRenewals(ttl)));
  }
  changed_.notify_all();
  return Delivery{held->job, held->job->deliveries, held->cancelled};
}

RemoteLeases::HeldPtr RemoteLeases::Find(const Delivery& delivery) {
  const auto found = held_.find(delivery.job.get());
  return found == held_.end() || found->second->ending ? nullptr : found->second;
}

void RemoteLeases::GiveUp(Held* held) {
  held->over = true;
  held->cancelled->store(true);
}

bool RemoteLeases::HasEnded(Held* held, TimePoint now) {
  if (!held->over && held->end <= now) {
    LogWarn("{}: its lease could not be renewed; it is another worker's", held->job->request->id);
    GiveUp(held);
  }
  return held->over;
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
    renew_at_ = Clock::now();
  }
  changed_.notify_all();
  return {};
}

Status RemoteLeases::CompleteBehind(const Delivery& delivery, json::object verdict) {
  return End(delivery, kComplete, verdict);
}

Status RemoteLeases::Complete(const Delivery& delivery, json::object verdict) {
  return End(delivery, kComplete, verdict);
}

Status RemoteLeases::Return(const Delivery& delivery, bool lost, std::string_view why) {
  return End(delivery, kReturn, {{"lost", lost}, {"why", TruncateMiddle(why, kMaxWhy)}});
}

Status RemoteLeases::End(const Delivery& delivery, std::string_view outcome,
                         const json::object& body) {
  HeldPtr held;
  bool cut = false;
  {
    const std::lock_guard guard(mutex_);
    held = Find(delivery);
    if (held == nullptr) return Over();
    held->ending = true;
    // What was cut short because this process stops is no verdict.
    cut = interrupted_ && !held->asked && outcome == kComplete &&
          GetString(body, "status") == "cancelled";
  }
  Status ended = cut ? Send(held.get(), kReturn, {{"lost", false}, {"why", "the worker stops"}})
                     : Send(held.get(), outcome, body);
  const std::lock_guard guard(mutex_);
  held_.erase(held->job.get());
  return ended;
}

/// Until the server has heard it, or need not.
Status RemoteLeases::Send(Held* held, std::string_view outcome, const json::object& body) {
  const std::string& id = held->job->request->id;
  const std::string path = PathOf(held->name, outcome);
  const std::string text = json::serialize(body);
  for (bool told = false;;) {
    Seconds left;
    {
      const std::lock_guard guard(mutex_);
      const TimePoint now = Clock::now();
      if (HasEnded(held, now) || closing_ || last_word_ <= now) return Over();
      left = std::min<Seconds>(kAnswer, std::min(held->end, last_word_) - now);
    }
    const Result<http::Client::Answer> answer = Post(path, text, left);
    if (answer.ok() && answer->status == 200) return {};
    const std::string words = answer.ok() ? Words(*answer) : answer.error().message;
    if (answer.ok() && !IsPassing(answer->status)) {
      LogWarn("{}: the server takes no more of it: {}", id, words);
      // One that will not take this verdict should know that there is none.
      if (outcome == kComplete && answer->status != 410)
        static_cast<void>(
            Send(held, kReturn,
                 {{"lost", true},
                  {"why", TruncateMiddle("its verdict was refused: " + words, kMaxWhy)}}));
      return Over();
    }
    if (!std::exchange(told, true))
      LogWarn("{}: the server has not heard how it ended: {}; it is sent again", id, words);
    std::unique_lock guard(mutex_);
    changed_.wait_for(guard, options_.backoff, [&] { return closing_ || held->over; });
  }
}

void RemoteLeases::Interrupt(Seconds last_words) {
  const std::lock_guard guard(mutex_);
  interrupted_ = true;
  last_word_ = DeadlineIn(last_words);
  for (const auto& [job, held] : held_) held->cancelled->store(true);
}

void RemoteLeases::KeepLeases() {
  std::unique_lock guard(mutex_);
  while (!closing_) {
    const TimePoint now = Clock::now();
    TimePoint next = now + std::chrono::seconds(60);
    bool any = false;
    for (const auto& [job, held] : held_) {
      if (held->over) continue;
      if (HasEnded(held.get(), now)) {
        changed_.notify_all();
        continue;
      }
      any = true;
      next = std::min(next, held->end);
    }
    if (any && renew_at_ <= now)
      RenewAll(&guard);
    else
      changed_.wait_until(guard, any ? std::min(next, renew_at_) : next);
  }
}

/// All in one request: a worker has few threads and many leases, and a request that hangs must not
/// hold up others.
void RemoteLeases::RenewAll(std::unique_lock<std::mutex>* guard) {
  json::object stages;
  std::map<std::string, HeldPtr> renewed;
  Seconds ttl{3600};
  for (const auto& [job, held] : held_) {
    if (held->over) continue;
    stages[held->name] = std::exchange(held->stage_is_new, false) ? held->stage : "";
    renewed.emplace(held->name, held);
    ttl = std::min<Seconds>(ttl, held->ttl);
  }
  renew_at_ = TimePoint::max();  // unless there is more to say meanwhile
  guard->unlock();
  const TimePoint asked = Clock::now();
  const std::string body =
      json::serialize(json::object{{"protocol", kProtocolVersion}, {"leases", stages}});
  const Result<http::Client::Answer> answer = Post(std::string(kRenew), body, AnswerTime(ttl));
  if (answer.ok() && answer->status == 422) Refuse(*answer);
  const bool all = answer.ok() && answer->status == 204;
  const Result<json::object> news = answer.ok() && answer->status == 200
                                        ? ParseJsonObject(answer->body)
                                        : Result<json::object>(json::object());
  const bool some = answer.ok() && answer->status == 200 && news.ok();
  guard->lock();
  if (!all && !some) {
    for (const auto& [name, held] : renewed) held->stage_is_new |= !GetString(stages, name).empty();
    const Seconds pause = std::min(options_.backoff, BetweenRenewals(ttl) / 2);
    renew_at_ = std::min(renew_at_, After(Clock::now(), pause));
    return;
  }
  renew_at_ = std::min(renew_at_, After(asked, BetweenRenewals(ttl)));
  for (const auto& [name, held] : renewed) held->end = asked + held->ttl;
  const auto each = [&](std::string_view member, const auto& act) {
    for (const json::value& name : GetArray(*news, member))
      if (const auto found = renewed.find(name.is_string() ? std::string(name.get_string()) : "");
          found != renewed.end())
        act(found->second.get());
  };
  each("cancelled", [](Held* held) {
    held->asked = true;
    held->cancelled->store(true);
  });
  each("over", GiveUp);
  changed_.notify_all();
}

}  // namespace assay
