#include "task/loaders.h"
#include "task/task_testing.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class KernelBenchTest : public FolderTest {
 protected:
  Status Add() { return registry_.Add("kernelbench:" + Path()); }

  TaskRegistry registry_;
};

TEST_F(KernelBenchTest, AFolderThatIsNoCheckoutIsRefused) {
  EXPECT_THAT(MessageOf(Add()), HasSubstr("no KernelBench/level1"));
  EXPECT_THAT(MessageOf(registry_.Add("kernelbench:" + Path("missing"))), HasSubstr("missing"));
  EXPECT_THAT(MessageOf(registry_.Add("kernelbench:")), HasSubstr("cannot read"));
  std::filesystem::create_directories(Path("KernelBench/level1"));
  EXPECT_THAT(MessageOf(Add()), HasSubstr("holds no tasks"));
}

TEST_F(KernelBenchTest, TwoFilesWithOneNumberAreRefusedByName) {
  Write("KernelBench/level1/7_A.py", TaskSource("a"));
  Write("KernelBench/level1/7_B.py", TaskSource("b"));
  EXPECT_THAT(MessageOf(Add()), AllOf(HasSubstr("7_A.py"), HasSubstr("7_B.py")));
  EXPECT_THAT(registry_.tasks(), IsEmpty());
}

TEST_F(KernelBenchTest, ABrokenFileIsLeftOutAndTold) {
  Write("KernelBench/level1/1_Good.py", TaskSource());
  const std::string bad = Write("KernelBench/level2/3_Bad.py", "x = '''\n");
  ASSERT_EQ(MessageOf(Add()), "no error");
  EXPECT_THAT(Ids(registry_), ElementsAre("kb/l1/1"));
  ASSERT_EQ(registry_.problems().size(), 1U);
  EXPECT_EQ(registry_.problems()[0].origin, bad);
  EXPECT_THAT(registry_.problems()[0].message, HasSubstr("line 1: a triple-quoted string"));
}

TEST_F(KernelBenchTest, TasksComeInTheOrderOfTheirNumbersAndUnderAllTheirNames) {
  Write("KernelBench/level1/100_HingeLoss.py", TaskSource("100"));
  Write("KernelBench/level1/19_ReLU.py", TaskSource("19"));
  Write("KernelBench/level1/9_Tall_.py", TaskSource("9"));
  Write("KernelBench/level3/19_ReLU.py", TaskSource("19 of 3"));
  for (const char* other : {"level1/README.md", "level1/notes.py", "level1/0_Zero.py",
                            "level1/5.py", "levels/1_A.py", "changelog/v0.1"})
    Write(std::string("KernelBench/") + other, TaskSource("other"));
  ASSERT_EQ(MessageOf(Add()), "no error");
  EXPECT_THAT(Ids(registry_), ElementsAre("kb/l1/9", "kb/l1/19", "kb/l1/100", "kb/l3/19"));
  for (const char* name : {"kb/l1/19", "kb/l1/019", "level1/19", "level1/19_ReLU", "kb/l1/19_ReLU",
                           "level1/19_ReLU.py", "KernelBench/level1/19_ReLU.py"})
    EXPECT_EQ(Found(registry_, name), "kb/l1/19") << name;
  EXPECT_EQ(Found(registry_, "9_Tall_"), "kb/l1/9");
  EXPECT_THAT(Found(registry_, "19_ReLU"), HasSubstr("fits several tasks: kb/l1/19, kb/l3/19"));
  const auto task = registry_.Find("kb/l3/19");
  EXPECT_EQ((*task)->name, "19_ReLU");
  EXPECT_EQ((*task)->level, 3);
  EXPECT_EQ((*task)->origin, Path("KernelBench/level3/19_ReLU.py"));
}

TEST_F(KernelBenchTest, TheInnerFolderIsAsGoodAsTheCheckout) {
  Write("KernelBench/level1/19_ReLU.py", TaskSource());
  ASSERT_TRUE(registry_.Add("kernelbench:" + Path("KernelBench")).ok());
  EXPECT_THAT(Ids(registry_), ElementsAre("kb/l1/19"));
}

}  // namespace
}  // namespace assay
