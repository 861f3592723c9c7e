#include "base/resource.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/temp_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ResourceTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("ASSAY_HOME"); }
  std::string Folder(const std::string& relative) {
    fs::create_directories(root_ / relative);
    return (root_ / relative).string();
  }
  std::string Executable(const std::string& folder) { return Folder(folder) + "/assay"; }

  const test::TempFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(ResourceTest, NothingThereSaysWhereItLookedAndWhatToSet) {
  const auto found = FindResourceNear(Executable("build/release/bin"), "tasks");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message, HasSubstr("build/release/bin"));
  EXPECT_THAT(found.error().message, HasSubstr("ASSAY_HOME"));
}

TEST_F(ResourceTest, AFolderOfThatNameOutsideASourceTreeIsNotOurs) {
  Folder("tasks");
  EXPECT_FALSE(FindResourceNear(Executable("build/release/bin"), "tasks").ok());
}

TEST_F(ResourceTest, ASourceTreeTooFarUpIsNotOurs) {
  Folder("tasks");
  Folder("python/assay");
  EXPECT_TRUE(FindResourceNear(Executable("build/release/bin"), "tasks").ok());
  EXPECT_FALSE(FindResourceNear(Executable("a/build/release/bin"), "tasks").ok());
}

TEST_F(ResourceTest, FindsTheSourceTreeAndTheInstallation) {
  const std::string tasks = Folder("tree/tasks");
  const std::string python = Folder("tree/python/assay");
  EXPECT_EQ(*FindResourceNear(Executable("tree/build/x/bin"), "tasks"), tasks);
  EXPECT_EQ(*FindResourceNear(Executable("tree/build/x/bin"), "python") + "/assay", python);
  const std::string installed = Folder("prefix/share/assay/tasks");
  EXPECT_EQ(*FindResourceNear(Executable("prefix/bin"), "tasks"), installed);
}

TEST_F(ResourceTest, TheEnvironmentWinsAndAWrongOneIsAnError) {
  const std::string tasks = Folder("home/tasks");
  ::setenv("ASSAY_HOME", (root_ / "home").c_str(), 1);
  EXPECT_EQ(*FindResource("tasks"), tasks);
  const auto missing = FindResource("python");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("ASSAY_HOME"));
}

TEST_F(ResourceTest, ThisTestFindsItsOwnTree) {
  EXPECT_EQ(*FindResource("tasks"), std::string(ASSAY_SOURCE_DIR) + "/tasks");
}

}  // namespace
}  // namespace assay
