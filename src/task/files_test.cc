#include <sys/stat.h>

#include "task/task_testing.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FilesTest : public FolderTest {
 protected:
  TaskRegistry registry_;
};

TEST_F(FilesTest, OneFileMustBeRight) {
  EXPECT_THAT(MessageOf(registry_.Add(Write("bad.py", "class Model: pass\n"))),
              AllOf(HasSubstr(Path("bad.py")), HasSubstr("no get_inputs()")));
  EXPECT_THAT(MessageOf(registry_.Add(Write("latin.py", "# a\n# \xe9\n"))),
              AllOf(HasSubstr(Path("latin.py")), HasSubstr("line 2: not UTF-8")));
  EXPECT_THAT(MessageOf(registry_.Add(Write("huge.py", std::string(kMaxTaskSource + 1, '#')))),
              AllOf(HasSubstr(Path("huge.py")), HasSubstr("larger than")));
  EXPECT_THAT(MessageOf(registry_.Add(Write("my task.py", TaskSource()))),
              AllOf(HasSubstr(Path("my task.py")), HasSubstr("characters other than")));
  EXPECT_THAT(registry_.tasks(), IsEmpty());
}

TEST_F(FilesTest, OneFile) {
  const std::string path = Write("relu.py", "\xEF\xBB\xBF" + TaskSource());
  ASSERT_EQ(MessageOf(registry_.Add(path)), "no error");
  for (const std::string& name : {std::string("file/relu"), std::string("relu"), path})
    EXPECT_EQ(Found(registry_, name), "file/relu");
  EXPECT_EQ(registry_.tasks().front()->source, TaskSource());
  EXPECT_EQ(registry_.tasks().front()->origin, path);
}

TEST_F(FilesTest, AFolderLeavesOutWhatIsNoTaskAndTells) {
  Write("a.py", TaskSource("a"));
  Write("deep/b.py", TaskSource("b"));
  Write("deep/util.py", "def helper(): pass\n");
  Write("deep/README.md", "text");
  for (const char* hidden : {".venv/c.py", "__pycache__/c.py", "__init__.py", "_common.py"})
    Write(hidden, TaskSource("hidden"));
  ASSERT_EQ(::mkfifo(Path("pipe.py").c_str(), 0600), 0);
  ASSERT_EQ(MessageOf(registry_.Add(Path())), "no error");
  EXPECT_THAT(Ids(registry_), ElementsAre("file/a", "file/deep/b"));
  ASSERT_EQ(registry_.problems().size(), 1U);
  EXPECT_EQ(registry_.problems()[0].origin, Path("deep/util.py"));
  EXPECT_THAT(registry_.problems()[0].message, HasSubstr("no class Model"));
}

TEST_F(FilesTest, AFolderWithoutTasksIsAnError) {
  Write("notes.txt", "text");
  EXPECT_THAT(MessageOf(registry_.Add(Path())), HasSubstr("holds no tasks"));
  Write("util.py", "x = 1\n");
  EXPECT_THAT(
      MessageOf(registry_.Add(Path())),
      AllOf(HasSubstr("no usable task"), HasSubstr("util.py"), HasSubstr("no class Model")));
}

TEST_F(FilesTest, ACheckoutGivenAsAFolderIsRecognised) {
  Write("KernelBench/level1/19_ReLU.py", TaskSource());
  EXPECT_THAT(MessageOf(registry_.Add(Path())), HasSubstr("say kernelbench:" + Path()));
  EXPECT_THAT(MessageOf(registry_.Add(Path("KernelBench"))), HasSubstr("say kernelbench:"));
}

TEST_F(FilesTest, TheBuiltinTasksAreAllUsable) {
  ASSERT_EQ(MessageOf(registry_.Add("builtin")), "no error");
  EXPECT_THAT(registry_.problems(), IsEmpty());
  EXPECT_GE(registry_.tasks().size(), 52U);
  for (const auto& task : registry_.tasks()) {
    EXPECT_EQ(task->id, "assay/" + task->name);
    EXPECT_EQ(Found(registry_, task->family + "/" + task->name), task->id);
    EXPECT_EQ(Found(registry_, task->name + ".py"), task->id);
    const int level = task->family == "nets" ? 3 : task->family == "fused" ? 2 : 1;
    EXPECT_EQ(task->level, level) << task->id;
    EXPECT_EQ(task->origin, "builtin");
  }
}

}  // namespace
}  // namespace assay
