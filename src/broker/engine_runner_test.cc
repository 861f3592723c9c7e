// The engine behind the job service, on the CPU. Needs an interpreter with torch: ASSAY_PYTHON.

#include "broker/engine_runner.h"

#include <cstdlib>

#include "base/hash.h"
#include "broker/broker_testing.h"
#include "broker/request_task.h"
#include "broker/runner_pool.h"

namespace assay {
namespace {

using test::StatusOf;
using ::testing::HasSubstr;

constexpr const char* kTask = R"(
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(64, 64)]

def get_init_inputs():
    return []
)";

/// A submission of ReLU that first runs `before` when it is built.
std::string Relu(const std::string& before = "pass", const std::string& name = "ModelNew") {
  return fmt::format(R"(
import time
import torch

class {}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {}

    def forward(self, x):
        return torch.relu(x)
)",
                     name, before);
}

class EngineRunnerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* python = std::getenv("ASSAY_PYTHON");
    if (python == nullptr || *python == '\0') return;
    registry_ = std::make_shared<const TaskRegistry>();
    EngineRunner::Options options;
    options.engine.device.python = python;
    options.engine.device.device = "cpu";
    options.jobs = 2;
    Result<std::unique_ptr<EngineRunner>> runner =
        EngineRunner::Start(std::move(options), registry_);
    ASSERT_TRUE(runner.ok()) << runner.error().message;
    runner_ = *std::move(runner);
  }
  static void TearDownTestSuite() { runner_.reset(); }

  void SetUp() override {
    if (!runner_) GTEST_SKIP() << "ASSAY_PYTHON names no interpreter with torch";
    BrokerOptions options;
    options.check = [](const JobRequest& request) { return CheckRequest(*registry_, request); };
    broker_ = test::OpenBroker(options);
    pool_ = std::make_unique<RunnerPool>(broker_.get(),
                                         std::vector<std::shared_ptr<JobRunner>>{runner_});
  }

  static JobRequest Question(const std::string& source) {
    JobRequest request = test::Request(source);
    request.task_id.clear();
    request.task_source = kTask;
    request.options = {{"time", false}, {"trials", 2}};
    return request;
  }

  Job Judge(JobRequest request) {
    const Result<Job> job = broker_->Submit(std::move(request));
    if (!job.ok()) {
      ADD_FAILURE() << job.error().message;
      return {};
    }
    return Await((*job).request->id);
  }

  Job Await(const std::string& id) {
    const TimePoint deadline = DeadlineIn(Seconds(240));
    while (Clock::now() < deadline) {
      Job job = *broker_->Get(id);
      if (job.state == JobState::kDone) return job;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "not judged in time";
    return {};
  }

  static std::shared_ptr<const TaskRegistry> registry_;
  static std::shared_ptr<EngineRunner> runner_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<RunnerPool> pool_;
};

std::shared_ptr<const TaskRegistry> EngineRunnerTest::registry_;
std::shared_ptr<EngineRunner> EngineRunnerTest::runner_;

TEST_F(EngineRunnerTest, JudgesARightAndAWrongOne) {
  const Job right = Judge(Question(Relu()));
  EXPECT_EQ(StatusOf(right), "correct") << json::serialize(right.verdict);
  EXPECT_EQ(GetString(right.verdict, "id"), right.request->id);
  EXPECT_EQ(GetInt(GetObject(right.verdict, "correctness"), "trials"), 2);
  EXPECT_TRUE(right.verdict.contains("raw"));
  std::string source = Relu();
  source.replace(source.find("torch.relu(x)"), 13, "torch.tanh(x)");
  EXPECT_EQ(StatusOf(Judge(Question(source))), "incorrect");
}

TEST_F(EngineRunnerTest, AnotherClassCanBeTheSubmission) {
  JobRequest request = Question(Relu("pass", "Fast"));
  request.submission_entry = "Fast";
  const Job job = Judge(request);
  EXPECT_EQ(StatusOf(job), "correct") << json::serialize(job.verdict);
  EXPECT_EQ(GetString(job.verdict, "submission_sha256"), Sha256Hex(request.source));
}

TEST_F(EngineRunnerTest, UnknownTasksAndOptionsAreRefusedAtTheDoor) {
  EXPECT_EQ(broker_->Submit(test::Request(Relu())).error().code, ErrorCode::kNotFound);
  JobRequest request = Question(Relu());
  request.options["trails"] = 3;
  EXPECT_THAT(broker_->Submit(request).error().message, HasSubstr("no option 'trails'"));
  request = Question(Relu());
  request.task_source = "x = 1";
  EXPECT_EQ(broker_->Submit(request).error().code, ErrorCode::kInvalid);
}

TEST_F(EngineRunnerTest, ACancelledOneIsKilledAtOnce) {
  const std::string id = (*broker_->Submit(Question(Relu("time.sleep(600)")))).request->id;
  ASSERT_TRUE(test::Eventually([&] { return (*broker_->Get(id)).stage == "check"; }) ||
              (*broker_->Get(id)).state == JobState::kRunning);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const TimePoint start = Clock::now();
  ASSERT_TRUE(broker_->Cancel(id).ok());
  const Job job = Await(id);
  EXPECT_EQ(StatusOf(job), "cancelled");
  EXPECT_EQ(GetString(job.verdict, "fault"), "none");
  EXPECT_LT(Seconds(Clock::now() - start).count(), 5);  // 0.05 s on a quiet machine
}

TEST_F(EngineRunnerTest, AFaultIsTheRunnersAndABrokenTaskIsNot) {
  const CancelFlag never = std::make_shared<std::atomic<bool>>(false);
  const auto run = [&](const std::string& reference) {
    JobRequest request = Question(Relu());
    request.id = "sub-fault";
    request.task_source.replace(request.task_source.find("return torch.relu(x)"), 20, reference);
    return runner_->Run(
        request, [](std::string_view) {}, never);
  };
  const Result<json::object> broken = run("return torch.no_such_function(x)");
  ASSERT_TRUE(broken.ok()) << broken.error().message;
  EXPECT_EQ(GetString(GetObject(*broken, "error"), "name"), "broken_reference");
  // The judge dies with it.
  EXPECT_FALSE(run("__import__('os')._exit(3)").ok());
  const Status fit = runner_->Check(never);
  EXPECT_TRUE(fit.ok()) << fit.error().message;
}

TEST_F(EngineRunnerTest, ATimeLimitIsTheSubmissionsOwnTimeout) {
  JobRequest request = Question(Relu("time.sleep(600)"));
  request.timeout_s = 1;
  const Job job = Judge(request);
  EXPECT_EQ(StatusOf(job), "timeout") << json::serialize(job.verdict);
  EXPECT_THAT(GetString(GetObject(job.verdict, "error"), "message"), HasSubstr("1 s"));
}

TEST_F(EngineRunnerTest, PhaseLimitsComeFromTheOptions) {
  JobRequest request = Question("import time\ntime.sleep(600)\n" + Relu());
  request.options["load_timeout_s"] = 1;
  EXPECT_EQ(StatusOf(Judge(request)), "timeout");
}

}  // namespace
}  // namespace assay
