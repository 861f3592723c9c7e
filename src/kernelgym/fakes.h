#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/documents.h"
#include "broker/jobs.h"
#include "http/router.h"
#include "http/timer.h"
#include "kernelgym/kernelgym.h"
#include "verdict/samples.h"
#include "verdict/verdict.h"

namespace assay::kernelgym::test {

/// A job service without workers: jobs end when the test says so, with the verdict it says.
class FakeJobs : public JobService {
 public:
  Result<Job> Submit(JobRequest request) override {
    ++submissions;
    if (!refuse.message.empty()) return refuse;
    const std::string key = fmt::format("{}\n{}", request.owner, request.idempotency);
    if (by_key_.contains(key)) return *jobs_.at(by_key_.at(key));
    if (Open() >= capacity) return Err(ErrorCode::kUnavailable, "the queue is full");
    auto job = std::make_shared<Job>();
    job->request = std::move(request);
    job->sequence = static_cast<int64_t>(jobs_.size()) + 1;
    job->request.Edit()->id = fmt::format("job-{}", job->sequence);
    job->submitted_at = 1000;
    by_key_[key] = job->request->id;
    order.push_back(job->request->id);
    jobs_[job->request->id] = job;
    if (judge) Finish(job->request->id, judge(job->request));
    return *jobs_.at(order.back());
  }

  void SubmitThen(SharedRequest request, std::function<void(Result<SharedJob>)> done) override {
    if (!later) return JobService::SubmitThen(std::move(request), std::move(done));
    later([this, request = std::move(request), done] { JobService::SubmitThen(request, done); });
  }

  Result<Job> Get(const std::string& id) override {
    if (!jobs_.contains(id)) return Err(ErrorCode::kNotFound, "no job '{}'", id);
    return *jobs_.at(id);
  }

  std::vector<Job> List(const JobQuery& query) override {
    std::vector<Job> found;
    for (const auto& [id, job] : jobs_)
      if ((query.owner.empty() || job->request->owner == query.owner) &&
          (!query.state || job->state == *query.state))
        found.push_back(*job);
    return found;
  }

  Status Cancel(const std::string& id) override {
    if (!jobs_.contains(id)) return Err(ErrorCode::kNotFound, "no job '{}'", id);
    cancelled.insert(id);
    Finish(id, {{"status", "cancelled"},
                {"fault", "none"},
                {"error", {{"kind", "cancelled"}, {"name", "cancelled"}, {"message", "stopped"}}}});
    return {};
  }

  Result<std::shared_ptr<void>> WhenDone(const std::string& id,
                                         std::function<void(const Job&)> done) override {
    if (!jobs_.contains(id)) return Err(ErrorCode::kNotFound, "no job '{}'", id);
    auto handle = std::make_shared<std::function<void(const Job&)>>(std::move(done));
    if (jobs_.at(id)->state == JobState::kDone)
      (*handle)(*jobs_.at(id));
    else
      waiting_[id].push_back(handle);
    return std::shared_ptr<void>(handle);
  }

  Result<std::shared_ptr<void>> WhenDoneOrKept(const std::string& id,
                                               std::function<void(const Job&)> done) override {
    Result<std::shared_ptr<void>> handle = WhenDone(id, done);
    if (!handle.ok() || jobs_.at(id)->state != JobState::kQueued) return handle;
    if (stopping) done(*jobs_.at(id));
    kept_.emplace_back(jobs_.at(id), std::static_pointer_cast<Call>(*handle));
    return handle;
  }

  Result<std::shared_ptr<void>> Watch(const std::string& id,
                                      std::function<void(const Job&)> changed) override {
    return WhenDone(id, std::move(changed));
  }

  QueueDepth Depth() override {
    QueueDepth depth;
    for (const auto& [id, job] : jobs_) {
      depth.queued += job->state == JobState::kQueued ? 1 : 0;
      depth.running += job->state == JobState::kRunning ? 1 : 0;
    }
    depth.drain_estimate_s = 12;
    return depth;
  }

  double retry_after_s() override { return 2.5; }
  bool draining() const override { return stopping; }

  // What tests do.
  void Start(const std::string& id, const std::string& stage) {
    Job& job = *jobs_.at(id);
    job.state = JobState::kRunning;
    job.stage = stage;
    job.worker = "cuda:0";
    job.started_at = 1001;
    ++job.deliveries;
  }

  void Drain() {
    stopping = true;
    capacity = 0;
    for (const auto& [job, call] : std::exchange(kept_, {}))
      if (const auto held = call.lock(); held && job->state == JobState::kQueued) (*held)(*job);
  }

  void Requeue(const std::string& id) { jobs_.at(id)->state = JobState::kQueued; }

  void Finish(const std::string& id, json::object verdict) {
    Job& job = *jobs_.at(id);
    if (job.state == JobState::kDone) return;
    job.state = JobState::kDone;
    job.started_at = 1001;
    job.finished_at = 1003.5;
    job.worker = "cuda:0";
    job.verdict = std::move(verdict);
    // Those who are called may come back with more.
    const auto waiting = std::move(waiting_[id]);
    for (const auto& held : waiting)
      if (const auto done = held.lock()) (*done)(job);
  }

  void Forget(const std::string& id) { jobs_.erase(id); }

  [[nodiscard]] size_t Open() const {
    return static_cast<size_t>(std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) {
      return entry.second->state != JobState::kDone;
    }));
  }
  const JobRequest& request(const std::string& id) { return jobs_.at(id)->request; }

  std::function<void(std::function<void()>)> later;  ///< if set, gets what is to be written
  bool stopping = false;
  size_t capacity = 1000;
  int submissions = 0;
  Error refuse{ErrorCode::kInternal, ""};  ///< what Submit answers, unless its message is empty
  std::function<json::object(const JobRequest&)> judge;  ///< if set, jobs end at once
  std::vector<std::string> order;
  std::set<std::string> cancelled;

 private:
  using Call = std::function<void(const Job&)>;
  std::vector<std::pair<std::shared_ptr<Job>, std::weak_ptr<Call>>> kept_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;
  std::map<std::string, std::string> by_key_;
  std::map<std::string, std::vector<std::weak_ptr<std::function<void(const Job&)>>>> waiting_;
};

class FakeDocuments : public DocumentStore {
 public:
  Status Put(const std::string& kind, const std::string& id,
             const json::object& document) override {
    if (broken) return Err(ErrorCode::kIo, "the disk is full");
    documents_[Key(kind, id)] = document;
    return {};
  }
  void PutThen(const std::string& kind, const std::string& id, json::object document,
               std::function<void(const Status&)> done) override {
    if (!later) return done(Put(kind, id, document));
    later(
        [this, kind, id, document = std::move(document), done] { done(Put(kind, id, document)); });
  }
  Result<json::object> Get(const std::string& kind, const std::string& id) override {
    const auto found = documents_.find(Key(kind, id));
    if (found == documents_.end()) return Err(ErrorCode::kNotFound, "no document");
    return found->second;
  }
  Status Delete(const std::string& kind, const std::string& id) override {
    documents_.erase(Key(kind, id));
    return {};
  }
  std::vector<std::string> List(const std::string& /*kind*/, size_t /*limit*/) override {
    return {};
  }
  bool broken = false;
  std::function<void(std::function<void()>)> later;  ///< if set, gets what is to be written

 private:
  static std::string Key(const std::string& kind, const std::string& id) {
    return fmt::format("{}\n{}", kind, id);
  }
  std::map<std::string, json::object> documents_;
};

/// Time that passes when a test says so.
class FakeTimers : public http::Timers {
 public:
  std::shared_ptr<void> After(Seconds delay, std::function<void()> action) override {
    auto held = std::make_shared<std::function<void()>>(std::move(action));
    pending_.emplace(now + delay.count(), held);
    return held;
  }
  void Advance(double seconds) {
    now += seconds;
    while (!pending_.empty() && pending_.begin()->first <= now) {
      const auto held = pending_.begin()->second;
      pending_.erase(pending_.begin());
      if (const auto action = held.lock()) (*action)();
    }
  }
  double now = 0;

 private:
  std::multimap<double, std::weak_ptr<std::function<void()>>> pending_;
};

/// The protocol on fakes, spoken to as over HTTP.
class ProtocolTest : public ::testing::Test {
 protected:
  ProtocolTest() {
    workers.resize(1);
    workers[0].id = "local-0";
    workers[0].device = "cuda:0";
    who.key_name = "alice";
    who.scope = http::Scope::kAdmin;
    Restart();
  }

  /// A new server on the same stores.
  void Restart() {
    router = http::Router();
    KernelGymContext context;
    context.jobs = &jobs;
    context.documents = &documents;
    context.timers = &timers;
    context.now = [this] { return 1'700'000'000 + timers.now; };
    context.machine = [this] { return machine; };
    context.workers = [this] { return workers; };
    configure(&context);
    AddKernelGym(&router, std::move(context));
  }
  std::function<void(KernelGymContext*)> configure = [](KernelGymContext*) {};  ///< for Restart()

  /// Sends a request; the answer appears in `*answer` now or later.
  void Send(const std::string& method, const std::string& target, const std::string& body,
            const std::shared_ptr<std::optional<http::Response>>& answer) {
    http::Request request;
    request.method = method;
    const size_t mark = target.find('?');
    request.path = target.substr(0, mark);
    for (std::string rest = mark == std::string::npos ? "" : target.substr(mark + 1);
         !rest.empty();) {
      const size_t end = std::min(rest.find('&'), rest.size());
      const std::string pair = rest.substr(0, end);
      const size_t equal = pair.find('=');
      request.query.emplace_back(pair.substr(0, equal), pair.substr(equal + 1));
      rest = end < rest.size() ? rest.substr(end + 1) : "";
    }
    request.body = body;
    request.id = "req-1";
    request.who = who;
    router.Dispatch(std::move(request),
                    [answer](http::Response response) { *answer = std::move(response); });
  }

  using Pending = std::shared_ptr<std::optional<http::Response>>;
  Pending Start(const std::string& method, const std::string& target, const json::value& body) {
    auto answer = std::make_shared<std::optional<http::Response>>();
    Send(method, target, json::serialize(body), answer);
    return answer;
  }
  http::Response Call(const std::string& method, const std::string& target,
                      const std::string& body = "") {
    auto answer = std::make_shared<std::optional<http::Response>>();
    Send(method, target, body, answer);
    EXPECT_TRUE(answer->has_value()) << "no answer yet: " << method << " " << target;
    return answer->value_or(http::Response{});
  }
  http::Response Post(const std::string& target, const json::value& body) {
    return Call("POST", target, json::serialize(body));
  }
  static json::object Body(const http::Response& response) {
    Result<json::object> body = ParseJsonObject(response.body);
    EXPECT_TRUE(body.ok()) << response.body;
    return body.ok() ? *body : json::object();
  }

  static json::object Correct() { return ToJson(Decide(assay::test::CorrectRecords()), true); }

  FakeJobs jobs;
  FakeDocuments documents;
  FakeTimers timers;
  MachineState machine;
  std::vector<WorkerInfo> workers;
  http::Identity who;
  http::Router router;
};

inline constexpr const char* kReference =
    "import torch\n"
    "class Model(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return torch.softmax(x, dim=-1)\n"
    "def get_inputs():\n"
    "    return [torch.randn(32, 512)]\n"
    "def get_init_inputs():\n"
    "    return []\n";

inline constexpr const char* kKernel =
    "import torch\n"
    "class ModelNew(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return torch.softmax(x, dim=-1)\n";

inline json::object EvaluationBody(const std::string& id = "t-1") {
  return {{"task_id", id}, {"reference_code", kReference}, {"kernel_code", kKernel}};
}

}  // namespace assay::kernelgym::test
