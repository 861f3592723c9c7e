#include "openenv/settings.h"

#include <gmock/gmock.h>

namespace assay::openenv {
namespace {

using ::testing::HasSubstr;

Result<Configuration> Read(std::vector<const char*> variables) {
  variables.push_back(nullptr);
  return ReadEnvironment(variables.data());
}

std::string Problem(const char* variable) {
  const Result<Configuration> read = Read({variable});
  return read.ok() ? "" : read.error().message;
}

TEST(Settings, DefaultsHoldWithoutVariables) {
  const Result<Configuration> read = Read({"PATH=/bin", "HOME=/"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->settings.max_turns, 4);
  EXPECT_EQ(read->settings.reward_mode, "roofline");
  EXPECT_LT(read->settings.reply_deadline, Seconds(60)) << "clients give up after 60 s";
  EXPECT_FALSE(read->host.gpus.has_value());
}

TEST(Settings, EveryVariableIsRead) {
  const Result<Configuration> read =
      Read({"KERNEL_ENV_GPUS=0, 2",
            "KERNEL_ENV_MAX_TURNS=8",
            "KERNEL_ENV_STOP_ON=sol>=0.9",
            "KERNEL_ENV_REWARD=speedup",
            "KERNEL_ENV_REWARD_PARAMETERS={\"cap\": 2}",
            "KERNEL_ENV_EMIT=delta_best",
            "KERNEL_ENV_TASKS=builtin,/tasks",
            "KERNEL_ENV_SPLIT=assay",
            "KERNEL_ENV_TRIALS=3",
            "KERNEL_ENV_COMPILE_WORKERS=2",
            "KERNEL_ENV_EVAL_TIMEOUT_S=120",
            "KERNEL_ENV_MAX_SESSIONS=7",
            "KERNEL_ENV_MAX_SESSIONS_PER_KEY=3",
            "KERNEL_ENV_SECRET_FILE=/s",
            "KERNEL_ENV_TRACE_DIR=/t",
            "KERNEL_ENV_FEEDBACK_TOKENS=100",
            "KERNEL_ENV_ROOFLINE=datasheet",
            "KERNEL_ENV_MODE=Production",
            "SESSION_IDLE_TIMEOUT_S=60",
            "ENABLE_WEB_INTERFACE=no",
            "OPENENV_VALIDATION_TOKEN=0123456789abcdef0123456789abcdef",
            "KERNEL_ENV_API_KEY_FILE=/k",
            "KERNEL_ENV_ALLOW_HOSTS=gpu-box, kernel-env",
            "PORT=9000"});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(*read->host.gpus, ::testing::ElementsAre(0, 2));
  EXPECT_EQ(read->settings.max_turns, 8);
  EXPECT_EQ(ToString(read->settings.stop_on), "sol>=0.9");
  EXPECT_EQ(read->settings.reward_mode, "speedup");
  EXPECT_EQ(GetInt(read->settings.reward_parameters, "cap"), 2);
  EXPECT_EQ(read->settings.emission, Emission::kDelta);
  EXPECT_THAT(read->host.tasks, ::testing::ElementsAre("builtin", "/tasks"));
  EXPECT_EQ(read->settings.max_sessions, 7u);
  EXPECT_EQ(read->settings.max_sessions_per_key, 3u);
  EXPECT_EQ(read->settings.feedback_bytes, 400u);
  EXPECT_TRUE(read->settings.production);
  EXPECT_FALSE(read->settings.web);
  EXPECT_EQ(read->settings.idle_timeout, Seconds(60));
  EXPECT_EQ(read->host.port, 9000);
  EXPECT_EQ(read->host.api_key_file, "/k");
  EXPECT_THAT(read->host.allowed_hosts, ::testing::ElementsAre("gpu-box", "kernel-env"));
}

TEST(Settings, AnEmptyListOfGpusMeansNone) {
  for (const char* none : {"KERNEL_ENV_GPUS=", "KERNEL_ENV_GPUS=none"}) {
    const Result<Configuration> read = Read({none});
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->host.gpus->empty());
  }
}

TEST(Settings, TheClientsVariablesStopNoServer) {
  EXPECT_TRUE(Read({"KERNEL_ENV_URL=http://127.0.0.1:8000", "KERNEL_ENV_API_KEY=ak_x"}).ok());
}

TEST(Settings, TheDefaultsThatAreWrittenDownAreTaken) {
  const Result<Configuration> read =
      Read({"KERNEL_ENV_BASELINES=eager,compile", "KERNEL_ENV_TIMER=events_cold",
            "KERNEL_ENV_TOL_SCALE=1", "KERNEL_ENV_STRICT_COMPUTE=1", "KERNEL_ENV_FAMILIES=all",
            "KERNEL_ENV_EVAL_TIMEOUT_S=300"});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->settings.judging, (json::object{{"baselines", json::array{"eager", "compile"}}}));
  EXPECT_EQ(read->settings.eval_timeout_s, 300);
}

TEST(Settings, MistakesStopTheStart) {
  EXPECT_THAT(Problem("KERNEL_ENV_MAX_TRUNS=4"), HasSubstr("did you mean KERNEL_ENV_MAX_TURNS?"));
  EXPECT_THAT(Problem("KERNEL_ENV_MAX_TURNS=four"), HasSubstr("KERNEL_ENV_MAX_TURNS"));
  EXPECT_THAT(Problem("KERNEL_ENV_MAX_TURNS=1.5"), HasSubstr("not whole"));
  EXPECT_THAT(Problem("KERNEL_ENV_MAX_TURNS=0"), HasSubstr("from 1"));
  EXPECT_THAT(Problem("KERNEL_ENV_REWARD=money"), HasSubstr("there is: roofline"));
  EXPECT_THAT(Problem("KERNEL_ENV_EMIT=sum"), HasSubstr("absolute, delta, best"));
  EXPECT_THAT(Problem("KERNEL_ENV_STOP_ON=bored"), HasSubstr("use never, correct"));
  EXPECT_THAT(Problem("KERNEL_ENV_BASELINES=eager,jit"), HasSubstr("compile-max-autotune"));
  EXPECT_THAT(Problem("KERNEL_ENV_TIMER=events_warm"), HasSubstr("\"cache\": \"warm\""));
  EXPECT_THAT(Problem("KERNEL_ENV_TOL_SCALE=2"), HasSubstr("Tolerances follow"));
  EXPECT_THAT(Problem("KERNEL_ENV_REPLY_DEADLINE_S=90"), HasSubstr("from 0.05 to 55"));
  EXPECT_THAT(Problem("OPENENV_VALIDATION_TOKEN=short"), HasSubstr("32 to 256"));
  EXPECT_THAT(Problem("ENV_README_PATH=/does/not/exist"), HasSubstr("cannot read"));
  EXPECT_THAT(Problem("ENABLE_WEB_INTERFACE=maybe"), HasSubstr("neither true nor false"));
  EXPECT_EQ(Problem("KERNELS=1"), "") << "another prefix";
}

TEST(Settings, StopRulesReadWhatTheyWrite) {
  for (const char* rule : {"never", "correct", "speedup>=1.5", "sol>=0.8", "reward>=2"}) {
    const Result<StopRule> parsed = ParseStopRule(rule);
    ASSERT_TRUE(parsed.ok()) << rule;
    EXPECT_EQ(ToString(*parsed), rule);
  }
  for (const char* wrong : {"speedup>=", "speedup>=x", "sol>1", "reward>=-1", "speedup>=nan"})
    EXPECT_FALSE(ParseStopRule(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace assay::openenv
