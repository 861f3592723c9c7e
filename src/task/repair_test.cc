#include "task/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kSource =
    "import torch\n"
    "class Model(torch.nn.Module):\n"
    "    def forward(self, x):\n"
    "        return torch.relu(x)\n"
    "def get_inputs():\n"
    "    return [torch.rand(8)]\n"
    "def get_init_inputs():\n"
    "    return []\n";

Task Original(std::string source = kSource) {
  Task task;
  task.id = "kb/l1/19";
  task.aliases = {"level1/19"};
  task.name = "19_ReLU";
  task.origin = "KernelBench";
  task.source = std::move(source);
  Result<Task> made = MakeTask(task);
  EXPECT_TRUE(made.ok());
  return *made;
}

TEST(Repair, AVariantIsATaskOfItsOwn) {
  const Task original = Original();
  for (const Repair& repair : Repairs()) {
    const Result<Task> variant = MakeVariant(original, repair.name);
    ASSERT_TRUE(variant.ok()) << variant.error().message;
    EXPECT_EQ(variant->id, std::string("kb/l1/19~") + repair.name);
    EXPECT_EQ(variant->aliases, std::vector{std::string("level1/19~") + repair.name});
    EXPECT_NE(variant->sha256, original.sha256);
    EXPECT_THAT(variant->source, StartsWith(original.source)) << "the task's text stays as it is";
    EXPECT_THAT(variant->source, Not(HasSubstr("{"))) << "nothing is left to fill in";
  }
}

TEST(Repair, TheGainFollowsTheActivation) {
  EXPECT_THAT(MakeVariant(Original(), "reweighted")->source, HasSubstr("(2.0 / fan_in)"));
  std::string linear = kSource;
  linear.replace(linear.find("torch.relu(x)"), 13, "torch.tanh(x)");
  EXPECT_THAT(MakeVariant(Original(linear), "reweighted")->source, HasSubstr("(1.0 / fan_in)"));
}

TEST(Repair, AnotherEntryIsReweightedToo) {
  Task task = Original();
  task.entry = "Net";
  task.source.replace(task.source.find("Model"), 5, "Net");
  EXPECT_THAT(MakeVariant(task, "reweighted")->source,
              HasSubstr("Net.__init__ = _assay_reweighted_init"));
}

TEST(Repair, UnknownOnesAreNamed) {
  const Result<Task> variant = MakeVariant(Original(), "louder");
  ASSERT_FALSE(variant.ok());
  EXPECT_EQ(variant.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(variant.error().message, HasSubstr("reweighted, signed, scaled"));
}

TEST(Repair, IdsAreSplitAtTheLastMark) {
  EXPECT_EQ(SplitVariant("kb/l1/19~signed").original, "kb/l1/19");
  EXPECT_EQ(SplitVariant("kb/l1/19~signed").repair, "signed");
  EXPECT_EQ(SplitVariant("a~signed~scaled").original, "a~signed");
  EXPECT_EQ(SplitVariant("kb/l1/19").repair, "");
  EXPECT_EQ(SplitVariant("home~user/task").original, "home~user/task");
  EXPECT_EQ(SplitVariant("~signed").original, "");
}

TEST(Repair, ARegistryMakesThemOnDemand) {
  TaskRegistry registry;
  ASSERT_TRUE(registry.Add(Original()).ok());
  const auto variant = registry.Find("level1/019~signed");
  ASSERT_TRUE(variant.ok()) << variant.error().message;
  EXPECT_EQ((*variant)->id, "kb/l1/19~signed");
  EXPECT_EQ((*registry.Find("kb/l1/19~signed~scaled"))->id, "kb/l1/19~signed~scaled");
  EXPECT_EQ(registry.tasks().size(), 1U) << "they are found, not listed";
  EXPECT_FALSE(registry.Find("kb/l1/20~signed").ok());
  EXPECT_FALSE(registry.Find("kb/l1/19~louder").ok());
}

TEST(Repair, ATaskMayBearSuchANameItself) {
  Task task = Original();
  task.id = "file/mine~signed";
  task.aliases.clear();
  TaskRegistry registry;
  ASSERT_TRUE(registry.Add(*MakeTask(task)).ok());
  EXPECT_EQ((*registry.Find("file/mine~signed"))->source, kSource);
}

}  // namespace
}  // namespace assay
