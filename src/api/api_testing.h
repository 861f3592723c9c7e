#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/api.h"
#include "api/lease_desk.h"
#include "base/strings.h"
#include "broker/broker_testing.h"
#include "task/task_testing.h"

namespace assay::test {

/// Timers that fire when the test says so.
class ManualTimers final : public http::Timers {
 public:
  std::shared_ptr<void> After(Seconds delay, std::function<void()> action) override {
    const std::lock_guard guard(mutex_);
    auto entry = std::make_shared<Entry>(Entry{delay, std::move(action)});
    entries_.push_back(entry);
    return entry;
  }
  /// Fires what is armed; how many there were.
  size_t Fire() {
    std::vector<std::weak_ptr<Entry>> entries;
    {
      const std::lock_guard guard(mutex_);
      entries.swap(entries_);
    }
    size_t fired = 0;
    for (const auto& weak : entries)
      if (const std::shared_ptr<Entry> entry = weak.lock()) {
        ++fired;
        const std::function<void()> action = std::move(entry->action);
        action();
      }
    return fired;
  }
  std::vector<double> Delays() {
    const std::lock_guard guard(mutex_);
    std::vector<double> delays;
    for (const auto& weak : entries_)
      if (const std::shared_ptr<Entry> entry = weak.lock()) delays.push_back(entry->delay.count());
    return delays;
  }

 private:
  struct Entry {
    Seconds delay;
    std::function<void()> action;
  };
  std::mutex mutex_;
  std::vector<std::weak_ptr<Entry>> entries_;
};

class RecordedBody final : public http::BodyStream {
 public:
  explicit RecordedBody(size_t pieces) : left_(pieces) {}
  bool Write(std::string piece) override {
    const std::lock_guard guard(mutex_);
    if (left_ == 0) return false;
    --left_;
    text_ += piece;
    return true;
  }
  void End() override {
    const std::lock_guard guard(mutex_);
    ++ends_;
  }
  std::string text() {
    const std::lock_guard guard(mutex_);
    return text_;
  }
  int ends() {
    const std::lock_guard guard(mutex_);
    return ends_;
  }

 private:
  std::mutex mutex_;
  size_t left_;
  std::string text_;
  int ends_ = 0;
};

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() {
    auto tasks = std::make_shared<TaskRegistry>();
    for (const char* id : {"assay/relu", "assay/gelu", "kb/l1/19"}) {
      Task task;
      task.id = id;
      task.source = TaskSource(id);
      task.level = id[0] == 'k' ? 1 : 0;
      task.family = "activation";
      Result<Task> made = MakeTask(std::move(task));
      EXPECT_TRUE(made.ok() && tasks->Add(*std::move(made)).ok());
    }
    tasks_ = tasks;
    Start({});
  }

  /// `clocks`: of the broker and of leases; null: the real ones.
  void Start(BrokerLimits limits, ApiLimits api_limits = {}, FakeClocks* clocks = nullptr) {
    router_ = std::make_unique<http::Router>();
    desk_.reset();
    BrokerOptions options;
    if (clocks != nullptr) clocks->Use(&options);
    options.limits = limits;
    options.check = [](const JobRequest& request) -> Status {
      if (request.task_id == "none") return Err(ErrorCode::kNotFound, "no task 'none'");
      return {};
    };
    broker_ = OpenBroker(options);
    ApiContext context;
    context.jobs = broker_.get();
    context.timers = &timers_;
    context.tasks = tasks_;
    context.version = "1.2.3";
    context.documents = broker_->documents();
    context.episodes = "test.episode";
    context.limits = api_limits;
    context.workers = [] {
      return json::array{json::object{{"name", "cuda:0"}, {"working_on", {"sub-1"}}}};
    };
    desk_ = options.now ? std::make_shared<LeaseDesk>(broker_.get(), &timers_, options.now)
                        : std::make_shared<LeaseDesk>(broker_.get(), &timers_);
    context.desk = desk_;
    AddApi(router_.get(), std::move(context));
  }

  struct Answer {
    int status = 0;  ///< 0: none yet
    http::Response response;
    [[nodiscard]] json::object body() const {
      Result<json::object> parsed = ParseJsonObject(response.body);
      return parsed.ok() ? *parsed : json::object();
    }
    [[nodiscard]] std::string code() const { return GetString(GetObject(body(), "error"), "code"); }
    [[nodiscard]] std::string message() const {
      return GetString(GetObject(body(), "error"), "message");
    }
  };

  /// Sends a request; the answer comes at once or later.
  std::shared_ptr<Answer> Send(const std::string& method, const std::string& target,
                               const std::string& body = "", const std::string& owner = "alice",
                               http::Scope scope = http::Scope::kSubmit,
                               const std::string& key = "") {
    http::Request request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    if (const size_t at = target.find('?'); at != std::string::npos)
      for (const std::string_view pair : Split(std::string_view(target).substr(at + 1), '&'))
        request.query.emplace_back(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
    request.body = body;
    request.id = "r-1";
    request.who = {.key_name = owner, .scope = scope, .key_id = "", .problem = ""};
    if (!key.empty()) request.headers.Set("idempotency-key", key);
    auto answer = std::make_shared<Answer>();
    router_->Dispatch(std::move(request), [answer, this](http::Response response) {
      const std::lock_guard guard(mutex_);
      EXPECT_EQ(answer->status, 0) << "answered twice";
      answer->response = std::move(response);
      answer->status = answer->response.status;
    });
    return answer;
  }
  int StatusOf(const std::shared_ptr<Answer>& answer) {
    const std::lock_guard guard(mutex_);
    return answer->status;
  }
  /// Sends and waits for the answer.
  template <typename... Args>
  Answer Ask(Args&&... args) {
    const std::shared_ptr<Answer> answer = Send(std::forward<Args>(args)...);
    EXPECT_TRUE(Eventually([&] { return StatusOf(answer) != 0; }));
    const std::lock_guard guard(mutex_);
    return *answer;
  }

  std::string SubmitId(const std::string& owner = "alice") {
    return GetString(Ask("POST", "/v1/submissions", kGood, owner).body(), "id");
  }
  Delivery LeaseOne() {
    const Result<std::optional<Delivery>> delivery = broker_->Lease("w", Seconds(5), Seconds(0));
    if (!delivery.ok() || !*delivery) Fatal("nothing to lease", __FILE__, __LINE__);
    return **delivery;
  }
  void JudgeOne(std::string_view status = "incorrect") {
    const Delivery delivery = LeaseOne();
    json::object verdict = VerdictDocument(delivery.job->request, status);
    verdict["raw"] = json::object{{"candidate", json::array{}}};
    verdict["stdout"] = "out";
    ASSERT_TRUE(broker_->Complete(delivery, std::move(verdict)).ok());
  }

  static constexpr const char* kGood =
      R"({"task_id": "assay/relu", "source": "class ModelNew: 1"})";

  std::mutex mutex_;
  ManualTimers timers_;
  std::shared_ptr<const TaskRegistry> tasks_;
  std::unique_ptr<Broker> broker_;
  std::shared_ptr<LeaseDesk> desk_;
  std::unique_ptr<http::Router> router_;
};

}  // namespace assay::test
