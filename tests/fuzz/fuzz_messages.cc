// Messages of every protocol as handlers get them: a request to one of the routes of the native
// API, OpenEnv and KernelGYM with a body of any bytes, or a message on one of the WebSockets.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "base/log.h"
#include "broker/documents.h"
#include "http/url.h"
#include "kernelgym/kernelgym.h"
#include "openenv/openenv.h"

namespace assay {
namespace {

/// Takes every submission and ends it at once, without a judgement. Thread-safe, as documents are.
class FakeJobs final : public JobService {
 public:
  Result<Job> Submit(JobRequest request) override {
    Job job;
    job.request = std::move(request);
    if (job.request->id.empty()) job.request.Edit()->id = "job-1";
    job.sequence = 1;
    job.state = JobState::kDone;
    job.verdict = {{"schema", "assay.verdict/1"},
                   {"status", "cancelled"},
                   {"error", {{"kind", "cancelled"}, {"name", "fuzz"}, {"message", "fuzz"}}}};
    const std::lock_guard guard(mutex_);
    last_ = job;
    return job;
  }
  Result<Job> Get(const std::string& id) override {
    const std::lock_guard guard(mutex_);
    if (id != last_.request->id) return Err(ErrorCode::kNotFound, "no job '{}'", id);
    return last_;
  }
  std::vector<Job> List(const JobQuery&) override {
    const std::lock_guard guard(mutex_);
    return {last_};
  }
  Status Cancel(const std::string&) override { return {}; }
  Result<std::shared_ptr<void>> WhenDone(const std::string& id,
                                         std::function<void(const Job&)> done) override {
    ASSAY_ASSIGN_OR_RETURN(const Job job, Get(id));
    done(job);
    return std::shared_ptr<void>();
  }
  Result<std::shared_ptr<void>> Watch(const std::string& id,
                                      std::function<void(const Job&)> changed) override {
    return WhenDone(id, std::move(changed));
  }
  QueueDepth Depth() override { return {}; }
  double retry_after_s() override { return 1; }

 private:
  std::mutex mutex_;
  Job last_;
};

/// Thread-safe: KernelGYM's service has threads of its own.
class FakeDocuments final : public DocumentStore {
 public:
  Status Put(const std::string& kind, const std::string& id,
             const json::object& document) override {
    const std::lock_guard guard(mutex_);
    if (documents_.size() > 256) documents_.clear();
    documents_[kind + "\n" + id] = document;
    return {};
  }
  Result<json::object> Get(const std::string& kind, const std::string& id) override {
    const std::lock_guard guard(mutex_);
    const auto found = documents_.find(kind + "\n" + id);
    if (found == documents_.end()) return Err(ErrorCode::kNotFound, "no document");
    return found->second;
  }
  Status Delete(const std::string& kind, const std::string& id) override {
    const std::lock_guard guard(mutex_);
    documents_.erase(kind + "\n" + id);
    return {};
  }
  std::vector<std::string> List(const std::string&, size_t) override { return {}; }

 private:
  std::mutex mutex_;
  std::map<std::string, json::object> documents_;
};

/// Time does not pass.
class FakeTimers final : public http::Timers {
 public:
  std::shared_ptr<void> After(Seconds, std::function<void()> action) override {
    return std::make_shared<std::function<void()>>(std::move(action));
  }
};

class FakePeer final : public http::WebSocketPeer {
 public:
  void Send(std::string text) override {
    // Whatever came in, what goes out must be valid JSON.
    if (!ParseJson(text).ok()) __builtin_trap();
  }
  void Close(int, std::string) override {}
};

struct World {
  FakeJobs jobs;
  FakeDocuments documents;
  FakeTimers timers;
  http::Router router;
  http::Router kernelgym;

  World() {
    SetUpLogging("off");
    auto tasks = std::make_shared<TaskRegistry>();
    Result<Task> task =
        MakeTask({"fuzz/relu",
                  {},
                  "relu",
                  "Model",
                  1,
                  "relu",
                  "class Model:\n    pass\n\ndef get_inputs():\n    return []\n\ndef "
                  "get_init_inputs():\n    return []\n",
                  "",
                  "fuzz"});
    if (!task.ok() || !tasks->Add(*std::move(task)).ok()) __builtin_trap();
    AddApi(&router, {&jobs, &timers, tasks, {}, "fuzz", {}});
    OpenEnvContext openenv;
    openenv.tasks = tasks;
    openenv.jobs = &jobs;
    openenv.documents = &documents;
    openenv.timers = &timers;
    openenv.settings.max_sessions = 1'000'000;
    AddOpenEnv(&router, std::move(openenv));
    kernelgym::KernelGymContext gym;
    gym.jobs = &jobs;
    gym.documents = &documents;
    gym.timers = &timers;
    gym.machine = [] { return kernelgym::MachineState{}; };
    kernelgym::AddKernelGym(&kernelgym, std::move(gym));
  }
};

struct Target {
  const char* method;  ///< null: a WebSocket
  const char* path;
  bool kernelgym = false;
};

constexpr Target kTargets[] = {
    {"POST", "/v1/submissions"},
    {"POST", "/v1/batches"},
    {"POST", "/v1/rewards"},
    {"GET", "/v1/submissions"},
    {"POST", "/reset"},
    {"POST", "/step"},
    {"POST", "/mcp"},
    {nullptr, "/ws"},
    {nullptr, "/mcp"},
    {"POST", "/kernel_env/task"},
    {"POST", "/kernel_env/task_range"},
    {"POST", "/evaluate", true},
    {"POST", "/evaluate/batch", true},
    {"POST", "/workflow/submit", true},
    {"POST", "/debug/validate", true},
};

http::Request MakeRequest(const Target& target, std::string_view body) {
  http::Request request;
  request.method = target.method != nullptr ? target.method : "GET";
  request.path = target.path;
  request.headers.Add("Content-Type", "application/json");
  request.who = {"fuzz", http::Scope::kAdmin, "", "", 0};
  request.id = "fuzz";
  request.peer = "fuzz";
  if (request.method == "GET") {
    request.query = {
        {"limit", std::string(body)}, {"cursor", std::string(body)}, {"state", std::string(body)}};
  } else {
    request.body = body;
  }
  return request;
}

void Ask(const http::Router& router, const Target& target, std::string_view body) {
  int answers = 0;
  router.Dispatch(MakeRequest(target, body), [&](const http::Response& response) {
    if (response.status < 100 || response.status > 599) __builtin_trap();
    ++answers;
  });
  if (answers > 1) __builtin_trap();
}

/// Messages are separated by lines, so that one input can walk through a session.
void Talk(World* world, const Target& target, std::string_view text) {
  http::Request request = MakeRequest(target, "");
  http::Response refusal;
  const http::WebSocketFactory* factory = world->router.FindWebSocket(&request, &refusal);
  if (factory == nullptr) __builtin_trap();
  const auto session = (*factory)(std::move(request), std::make_shared<FakePeer>());
  session->OnOpen();
  while (!text.empty()) {
    const size_t end = text.find('\n');
    session->OnMessage(std::string(text.substr(0, end)));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  session->OnClose();
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT(google-build-using-namespace)
  if (size < 1) return 0;
  static World& world = *new World;
  const Target& target = kTargets[data[0] % std::size(kTargets)];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (target.method == nullptr) {
    if (http::IsUtf8(text)) Talk(&world, target, text);  // the connection sees to that
  } else {
    Ask(target.kernelgym ? world.kernelgym : world.router, target, text);
  }
  return 0;
}
