#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/temp_folder.h"
#include "broker/broker.h"
#include "verdict/verdict.h"

namespace assay::test {

/// Clocks that only the test moves.
struct FakeClocks {
  std::atomic<double> unix_s{1'700'000'000};
  std::atomic<double> steady_s{1000};

  void Advance(double seconds) {
    unix_s = unix_s + seconds;
    steady_s = steady_s + seconds;
  }
  void Use(BrokerOptions* options) {
    options->sweep_by_itself = false;
    options->unix_now = [this] { return unix_s.load(); };
    options->now = [this] {
      return TimePoint(std::chrono::duration_cast<Duration>(Seconds(steady_s.load())));
    };
  }
};

inline std::unique_ptr<Broker> OpenBroker(BrokerOptions options = {}) {
  if (options.path.empty()) options.path = ":memory:";
  Result<std::unique_ptr<Broker>> broker = Broker::Open(std::move(options));
  if (!broker.ok()) Fatal(broker.error().message.c_str(), __FILE__, __LINE__);
  return *std::move(broker);
}

inline JobRequest Request(const std::string& source = "class ModelNew: pass",
                          const std::string& owner = "local") {
  JobRequest request;
  request.owner = owner;
  request.task_id = "assay/relu";
  request.source = source;
  return request;
}

/// A document of the right shape that says `status`; `mark` tells two of them apart.
inline json::object VerdictDocument(const JobRequest& request, std::string_view status,
                                    std::string_view mark = "") {
  json::object document = UnjudgedVerdict(request, status == "cancelled", "test", mark);
  document["status"] = status;
  return document;
}

/// As VerdictDocument, and one that contradicts nothing: what a worker may bring.
inline json::object WholeVerdict(const JobRequest& request, std::string_view status,
                                 std::string_view task_sha256) {
  json::object document = VerdictDocument(request, status);
  document["task_sha256"] = task_sha256;
  document["fault"] = status == "correct" || status == "cancelled" ? "none" : "candidate";
  document["compiled"] = status != "cancelled";
  document["correct"] = status == "correct";
  return document;
}

/// A query with what is named.
struct Wanted : JobQuery {
  Wanted& Owner(const std::string& name) { return owner = name, *this; }
  Wanted& State(JobState of) { return state = of, *this; }
  Wanted& Task(const std::string& id) { return task_id = id, *this; }
  Wanted& Status(const std::string& name) { return status = name, *this; }
  Wanted& Before(int64_t sequence) { return before = sequence, *this; }
  Wanted& Limit(size_t most) { return limit = most, *this; }
};

inline std::string StatusOf(const Job& job) { return GetString(job.verdict, "status"); }

/// Waits up to ten seconds for what happens on other threads.
template <typename Condition>
bool Eventually(Condition condition) {
  const TimePoint deadline = DeadlineIn(Seconds(10));
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// Answers with what the test says.
class ScriptedRunner final : public JobRunner {
 public:
  using Script =
      std::function<Result<json::object>(const JobRequest&, const Stage&, const CancelFlag&)>;
  using CheckScript = std::function<Status()>;
  explicit ScriptedRunner(Script script, int jobs = 1, std::string name = "fake:0",
                          CheckScript check = {})
      : script_(std::move(script)), jobs_(jobs), name_(std::move(name)), check_(std::move(check)) {}

  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] int jobs() const override { return jobs_; }
  [[nodiscard]] json::object Describe() const override { return {{"kind", "scripted"}}; }
  Result<json::object> Run(const JobRequest& request, const Stage& stage,
                           const CancelFlag& cancelled) override {
    return script_(request, stage, cancelled);
  }
  Status Check(const CancelFlag&) override { return check_ ? check_() : Status(); }

 private:
  const Script script_;
  const int jobs_;
  const std::string name_;
  const CheckScript check_;
};

}  // namespace assay::test
