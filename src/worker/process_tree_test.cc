#include "worker/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "base/temp_folder.h"

namespace assay {
namespace {

/// A shell with two children that write line after line, each to a file.
struct ProcessTreeTest : testing::Test {
  void SetUp() override {
    SpawnOptions options;
    options.argv = {
        "sh", "-c",
        "count() { while :; do echo >> " + path + "/$1; done; }; count a & count b & wait"};
    child = *Spawn(options);
    for (int i = 0; i < 200 && (Count("a") == 0 || Count("b") == 0); ++i) ::usleep(10'000);
    ASSERT_GT(Count("a"), 0);
  }
  void TearDown() override { static_cast<void>(child.Kill()); }
  size_t Count(const std::string& name) const {
    Result<std::string> text = ReadFile(path + "/" + name);
    return text.ok() ? text->size() : 0;
  }

  const test::TempFolder folder;
  const std::string path = folder.path();
  ChildProcess child;
};

TEST_F(ProcessTreeTest, StopsEverythingBelowAndContinues) {
  Result<int> stopped =
      StopTree(child.pid(), child.pidfd(), /*with_children=*/true, DeadlineIn(Seconds(5)));
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_EQ(*stopped, 2);
  const size_t a = Count("a");
  const size_t b = Count("b");
  ::usleep(100'000);
  EXPECT_EQ(Count("a"), a);
  EXPECT_EQ(Count("b"), b);

  ContinueTree(child.pid(), child.pidfd(), /*with_children=*/true);
  for (int i = 0; i < 200 && Count("a") == a; ++i) ::usleep(10'000);
  EXPECT_GT(Count("a"), a);
}

TEST_F(ProcessTreeTest, ChildrenStayStoppedWhenOnlyTheParentContinues) {
  ASSERT_TRUE(StopTree(child.pid(), child.pidfd(), true, DeadlineIn(Seconds(5))).ok());
  ContinueTree(child.pid(), child.pidfd(), /*with_children=*/false);
  const size_t a = Count("a");
  ::usleep(100'000);
  EXPECT_EQ(Count("a"), a);
}

TEST_F(ProcessTreeTest, CountsResidentMemoryOfTheFamily) {
  EXPECT_GT(ResidentBytes(child.pid()), 100u << 10u);
}

TEST_F(ProcessTreeTest, KnowsAProcessThatEnds) {
  EXPECT_FALSE(IsEnding(child.pid()));
  ASSERT_EQ(::kill(child.pid(), SIGKILL), 0);
  for (int i = 0; i < 200 && !IsEnding(child.pid()); ++i) ::usleep(10'000);
  EXPECT_TRUE(IsEnding(child.pid()));
}

TEST_F(ProcessTreeTest, AProcessThatEndedIsClosed) {
  child.Signal(SIGKILL);
  ::usleep(50'000);
  Result<int> stopped = StopTree(child.pid(), child.pidfd(), true, DeadlineIn(Seconds(1)));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kClosed);
}

TEST(StopTreeTest, ChildrenThatWakeTheirParentDoNotPrevail) {
  SpawnOptions options;
  options.argv = {
      "sh", "-c",
      "for i in 1 2 3; do (while :; do kill -CONT $$; done) & done; while :; do :; done"};
  ChildProcess child = *Spawn(options);
  ::usleep(200'000);
  Result<int> stopped = StopTree(child.pid(), child.pidfd(), true, DeadlineIn(Seconds(10)));
  ASSERT_TRUE(stopped.ok()) << stopped.error().message;
  EXPECT_EQ(*stopped, 3);
  ::usleep(50'000);
  const std::string stat = *ReadFile("/proc/" + std::to_string(child.pid()) + "/stat");
  EXPECT_EQ(stat[stat.rfind(')') + 2], 'T');
}

}  // namespace
}  // namespace assay
