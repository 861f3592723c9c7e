#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "broker/documents.h"
#include "broker/jobs.h"
#include "http/timer.h"
#include "http/websocket.h"
#include "openenv/openenv.h"

namespace assay::openenv::testing {

/// Runs nothing by itself: a test says when time passes.
class FakeTimers : public http::Timers {
 public:
  std::shared_ptr<void> After(Seconds delay, std::function<void()> action) override;
  /// Lets `time` pass: runs what falls due, in order, also what that adds.
  void Advance(Seconds time);
  [[nodiscard]] size_t pending() const;

 private:
  struct Entry {
    double due;
    std::weak_ptr<void> handle;
    std::function<void()> action;
  };
  std::vector<Entry> entries_;
  double now_ = 0;
};

/// Judges when and as a test says.
class FakeJobs : public JobService {
 public:
  Result<Job> Submit(JobRequest request) override;
  Result<Job> Get(const std::string& id) override;
  std::vector<Job> List(const JobQuery& query) override;
  Status Cancel(const std::string& id) override;
  Result<std::shared_ptr<void>> WhenDone(const std::string& id,
                                         std::function<void(const Job&)> done) override;
  Result<std::shared_ptr<void>> Watch(const std::string& id,
                                      std::function<void(const Job&)> changed) override;
  QueueDepth Depth() override { return {}; }
  double retry_after_s() override { return 1; }

  /// The next Submit calls fail with these.
  std::deque<Error> refusals;
  /// If set, called at each Submit.
  std::function<void()> submitting;
  /// If set, every submission is judged so at once.
  std::optional<json::object> verdict;

  void Finish(const std::string& id, json::object with);
  /// Finishes the oldest job that is not done.
  void FinishNext(json::object with);
  [[nodiscard]] std::vector<Job> jobs() const;
  std::vector<std::string> cancelled;

 private:
  struct Waiter {
    std::weak_ptr<void> handle;
    std::function<void(const Job&)> done;
  };
  std::map<std::string, Job> jobs_;
  std::vector<std::string> order_;
  std::map<std::string, std::vector<Waiter>> waiters_;
};

class FakeDocuments : public DocumentStore {
 public:
  Status Put(const std::string& kind, const std::string& id, const json::object& document) override;
  Result<json::object> Get(const std::string& kind, const std::string& id) override;
  Status Delete(const std::string& kind, const std::string& id) override;
  std::vector<std::string> List(const std::string& kind, size_t limit) override;

  std::map<std::string, json::object> documents;

 private:
  std::mutex mutex_;  ///< the writer has a thread of its own; tests look after a Flush()
};

/// The client's end of a WebSocket.
class FakePeer : public http::WebSocketPeer {
 public:
  void Send(std::string text) override { sent.push_back(std::move(text)); }
  void Close(int code, std::string reason) override {
    close_code = code;
    close_reason = std::move(reason);
  }
  /// The last message, parsed. The test fails if there is none.
  [[nodiscard]] json::object Last() const;

  std::vector<std::string> sent;
  int close_code = 0;
  std::string close_reason;
};

/// A verdict of each kind, of the form that the engine writes.
json::object CorrectVerdict(double speedup, double fraction = 0);
json::object FailedVerdict(std::string_view status, std::string_view kind);

/// Everything a server stands on, faked. Two tasks: assay/relu and kb/l1/019.
struct World {
  explicit World(Settings settings = {});
  [[nodiscard]] OpenEnvContext Context() const;

  Settings settings;
  std::shared_ptr<const TaskRegistry> tasks;
  // In this order: what timers and jobs still hold at the end writes documents.
  mutable MetricRegistry metrics;
  mutable FakeDocuments documents;
  mutable FakeTimers timers;
  mutable FakeJobs jobs;
};

/// Empty when `value` satisfies `schema` (2020-12), else what does not.
std::string Violation(const json::object& schema, const json::value& value);

}  // namespace assay::openenv::testing
