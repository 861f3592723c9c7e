#include "base/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace assay {
namespace {

TEST(ProcessTest, CapturesBothStreamsAndTheCode) {
  Result<CommandOutput> output =
      RunCommand({"sh", "-c", "echo out; echo err >&2; exit 3"}, Seconds(10));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->err, "err\n");
  EXPECT_EQ(output->status.code, 3);
  EXPECT_EQ(output->status.ToString(), "exit code 3");
}

TEST(ProcessTest, OutputIsBoundedAndDrained) {
  Result<CommandOutput> output =
      RunCommand({"sh", "-c", "head -c 5000000 /dev/zero"}, Seconds(10), 1000);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out.size(), 1000u);
  EXPECT_TRUE(output->status.success());
}

TEST(ProcessTest, TimeoutKillsTheWholeGroup) {
  const TimePoint start = Clock::now();
  Result<CommandOutput> output = RunCommand({"sh", "-c", "sleep 60 & sleep 60"}, Seconds(0.2));
  EXPECT_EQ(output.error().code, ErrorCode::kTimeout);
  EXPECT_LT(MillisecondsSince(start), 5000);
}

TEST(ProcessTest, SignalsAreNamed) {
  Result<CommandOutput> output = RunCommand({"sh", "-c", "kill -SEGV $$"}, Seconds(10));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->status.signal, SIGSEGV);
}

TEST(ProcessTest, MissingProgram) {
  EXPECT_EQ(RunCommand({"no-such-program-xyz"}, Seconds(1)).error().code, ErrorCode::kNotFound);
}

TEST(ProcessTest, OnlyNamedDescriptorsAreInherited) {
  Result<CommandOutput> output = RunCommand({"sh", "-c", "ls /proc/self/fd | wc -l"}, Seconds(10));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "4\n");  // 0, 1, 2 and the folder that ls reads
}

}  // namespace
}  // namespace assay
