#include "task/describe.h"

#include "task/task_testing.h"

namespace assay {
namespace {

class DescribeTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    for (const auto& [id, family, level] :
         {std::tuple("assay/relu", "elementwise", 1), std::tuple("file/a", "", 0)}) {
      Task task;
      task.id = id;
      task.family = family;
      task.level = level;
      task.source = TaskSource();
      task.origin = "somewhere\x1b[31m";
      task.aliases = {"relu"};
      ASSERT_TRUE(registry_.Add(*MakeTask(task)).ok());
    }
  }

  TaskRegistry registry_;
};

TEST_F(DescribeTest, Table) {
  EXPECT_EQ(FormatTaskTable(registry_),
            "ID          FAMILY       LEVEL  NAME  SHA256        ORIGIN\n"
            "assay/relu  elementwise  1      relu  3e76539c052c  somewhere\n"
            "file/a      -            -      a     3e76539c052c  somewhere\n"
            "2 tasks\n");
  EXPECT_EQ(FormatTaskTable(TaskRegistry()), "ID  FAMILY  LEVEL  NAME  SHA256  ORIGIN\n0 tasks\n");
}

TEST_F(DescribeTest, Json) {
  EXPECT_EQ(json::serialize(DescribeTasks(registry_).at(0)),
            R"({"id":"assay/relu","name":"relu","family":"elementwise","level":1,"entry":"Model",)"
            R"("origin":"somewhere","sha256":"3e76539c052c"})");
  const json::object one = DescribeTask(*registry_.tasks()[0]);
  EXPECT_EQ(GetString(one, "source"), TaskSource());
  EXPECT_EQ(GetString(one, "sha256").size(), 64U);
  EXPECT_EQ(json::serialize(one.at("aliases")), R"(["relu"])");
}

TEST_F(DescribeTest, OneTaskEndsWithItsSource) {
  const std::string text = FormatTask(*registry_.tasks()[1]);
  EXPECT_TRUE(text.starts_with("id       file/a\nname     a\nentry    Model\n")) << text;
  EXPECT_TRUE(text.ends_with("\n\n" + TaskSource())) << text;
}

TEST_F(DescribeTest, Problems) {
  EXPECT_EQ(FormatProblems(registry_), "");
  Write("good.py", TaskSource());
  const std::string bad = Write("bad.py", "x = 1\n");
  ASSERT_TRUE(registry_.Add(Path()).ok());
  EXPECT_THAT(FormatProblems(registry_), ::testing::StartsWith(bad + ": not a task: no class"));
  EXPECT_EQ(GetString(DescribeProblems(registry_).at(0).as_object(), "origin"), bad);
}

}  // namespace
}  // namespace assay
