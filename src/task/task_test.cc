#include "task/task.h"

#include "base/hash.h"
#include "task/task_testing.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Task Draft(const std::string& id, const std::string& source = TaskSource()) {
  Task task;
  task.id = id;
  task.source = source;
  task.origin = "from " + id;
  return task;
}

TEST(MakeTask, RefusesIdsThatCannotStandInUrlsAndTerminals) {
  EXPECT_THAT(MessageOf(MakeTask(Draft(""))), HasSubstr("1 to 200 characters"));
  EXPECT_THAT(MessageOf(MakeTask(Draft(std::string(201, 'a')))), HasSubstr("this one 201"));
  for (const char* id : {"a b", "a\nb", "a\x1b[31m", "a?b", "\xff", "a%2f"})
    EXPECT_THAT(MessageOf(MakeTask(Draft(id))), HasSubstr("characters other than")) << id;
}

TEST(MakeTask, NamesAllThatIsMissing) {
  EXPECT_THAT(MessageOf(MakeTask(Draft("a", ""))),
              HasSubstr("no class Model, no get_inputs(), no get_init_inputs()"));
  EXPECT_THAT(MessageOf(MakeTask(Draft("a", "class Model: pass\ndef get_inputs(): pass\n"))),
              AllOf(HasSubstr("no get_init_inputs()"), Not(HasSubstr("no class"))));
  Task task = Draft("a", TaskSource());
  task.entry = "Attention";
  EXPECT_THAT(MessageOf(MakeTask(task)), HasSubstr("no class Attention"));
}

TEST(MakeTask, RefusesSourcesThatAreNoText) {
  EXPECT_THAT(MessageOf(MakeTask(Draft("a", TaskSource() + std::string(1, '\0')))),
              HasSubstr("line 10: a NUL byte"));
  EXPECT_THAT(MessageOf(MakeTask(Draft("a", TaskSource(std::string(kMaxTaskSource, 'x'))))),
              HasSubstr("the limit is"));
}

TEST(MakeTask, FillsInDigestAndName) {
  const auto task = MakeTask(Draft("kb/l1/19"));
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task->sha256, Sha256Hex(TaskSource()));
  EXPECT_EQ(task->name, "19");
  EXPECT_EQ(task->entry, "Model");
}

class TaskRegistryTest : public FolderTest {
 protected:
  static Task Made(const std::string& id, std::vector<std::string> aliases = {},
                   const std::string& mark = "") {
    Task task = Draft(id, TaskSource(mark));
    task.aliases = std::move(aliases);
    return *MakeTask(task);
  }
};

TEST_F(TaskRegistryTest, UnknownSpecsSayWhatToGive) {
  TaskRegistry registry;
  EXPECT_THAT(MessageOf(registry.Add(Path("missing"))),
              AllOf(HasSubstr("builtin"), HasSubstr("kernelbench:PATH"), HasSubstr(".parquet")));
  EXPECT_THAT(MessageOf(registry.Add("")), HasSubstr("names no tasks"));
  EXPECT_THAT(MessageOf(registry.Add(Write("tasks.csv", "x"))),
              HasSubstr("not a .py, .jsonl or .parquet file"));
  EXPECT_THAT(MessageOf(registry.Add("/dev/null")), HasSubstr("neither a file nor a folder"));
  EXPECT_THAT(registry.tasks(), IsEmpty());
}

TEST_F(TaskRegistryTest, AnUnknownIdNamesTheNearest) {
  TaskRegistry registry;
  EXPECT_THAT(Found(registry, "x"), HasSubstr("no tasks are loaded"));
  for (const char* id : {"assay/softmax_rows", "assay/matmul_square", "assay/conv2d", "kb/l1/19"})
    ASSERT_TRUE(registry.Add(Made(id)).ok());
  const auto missing = registry.Find("assay/sofmax_rows");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("the nearest are assay/softmax_rows, "));
  EXPECT_THAT(Found(registry, std::string(1 << 20, 'a') + "\x1b"), HasSubstr("no task 'aaa"));
  EXPECT_THAT(Found(registry, ""), HasSubstr("no task ''"));
}

TEST_F(TaskRegistryTest, AnAliasThatFitsSeveralFindsNone) {
  TaskRegistry registry;
  ASSERT_TRUE(registry.Add(Made("kb/l1/7", {"7_Relu"})).ok());
  ASSERT_TRUE(registry.Add(Made("kb/l2/7", {"7_Relu"}, "other")).ok());
  const auto ambiguous = registry.Find("7_Relu");
  ASSERT_FALSE(ambiguous.ok());
  EXPECT_EQ(ambiguous.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(ambiguous.error().message, HasSubstr("kb/l1/7, kb/l2/7"));
}

TEST_F(TaskRegistryTest, AnIdComesBeforeAnAliasOfAnother) {
  TaskRegistry registry;
  ASSERT_TRUE(registry.Add(Made("a/x", {"b/x"})).ok());
  ASSERT_TRUE(registry.Add(Made("b/x", {}, "other")).ok());
  EXPECT_EQ(Found(registry, "b/x"), "b/x");
}

TEST_F(TaskRegistryTest, LookupsForgiveExtensionsAndLeadingZeros) {
  TaskRegistry registry;
  ASSERT_TRUE(registry.Add(Made("kb/l1/19", {"level1/19_ReLU", "19_ReLU"})).ok());
  for (const char* name : {"kb/l1/019", "kb/l1/19.py", "level1/019_ReLU.py", "019_ReLU"})
    EXPECT_EQ(Found(registry, name), "kb/l1/19") << name;
  EXPECT_THAT(Found(registry, "kb/l01/19"), HasSubstr("no task"));
  EXPECT_THAT(Found(registry, "kb/l1/190"), HasSubstr("no task"));
}

TEST_F(TaskRegistryTest, TheSameTaskTwiceIsOneAndAnotherUnderItsIdIsRefused) {
  TaskRegistry registry;
  ASSERT_TRUE(registry.Add(Made("a")).ok());
  ASSERT_TRUE(registry.Add(Made("a")).ok());
  EXPECT_THAT(MessageOf(registry.Add(Made("a", {}, "other"))),
              HasSubstr("two different tasks have the id 'a'"));
  EXPECT_THAT(Ids(registry), ElementsAre("a"));
}

TEST_F(TaskRegistryTest, AfterAnErrorNothingOfTheSpecHasBeenAdded) {
  TaskRegistry registry;
  ASSERT_TRUE(registry.Add(Write("one/b.py", TaskSource("one"))).ok());
  Write("two/a.py", TaskSource("a"));
  Write("two/b.py", TaskSource("two"));
  Write("two/broken.py", "nothing");
  EXPECT_THAT(MessageOf(registry.Add(Path("two"))),
              AllOf(HasSubstr("one/b.py"), HasSubstr("two/b.py")));
  EXPECT_THAT(Ids(registry), ElementsAre("file/b"));
  EXPECT_THAT(Found(registry, "file/a"), HasSubstr("no task"));
  EXPECT_THAT(registry.problems(), IsEmpty());
}

}  // namespace
}  // namespace assay
