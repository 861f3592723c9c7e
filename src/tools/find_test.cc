#include "tools/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/temp_folder.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class FindToolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::getenv("PATH");
    ::setenv("PATH", (folder_ / "bin").c_str(), 1);
  }
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }
  void MakeProgram(const fs::path& path, mode_t mode = 0755) const {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }
  const test::TempFolder temp_;
  const fs::path folder_ = temp_.path();
  std::string path_;
};

constexpr ToolInfo kTool{"assay-no-such-tool", "apt-get install it"};

TEST_F(FindToolTest, AMissingToolSaysHowToGetIt) {
  const Result<std::string> found = FindTool(kTool, "");
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message, HasSubstr("apt-get install it"));
}

TEST_F(FindToolTest, LooksOnPathBeforeTheToolkit) {
  MakeProgram(folder_ / "cuda/bin" / kTool.program);
  EXPECT_EQ(*FindTool(kTool, folder_ / "cuda"), folder_ / "cuda/bin" / kTool.program);
  MakeProgram(folder_ / "bin" / kTool.program);
  EXPECT_EQ(*FindTool(kTool, folder_ / "cuda"), folder_ / "bin" / kTool.program);
}

TEST_F(FindToolTest, AFileThatCannotRunIsNoTool) {
  MakeProgram(folder_ / "cuda/bin" / kTool.program, 0644);
  EXPECT_FALSE(FindTool(kTool, folder_ / "cuda").ok());
}

TEST_F(FindToolTest, FoldersFollowLinksAndNameWhatStandsBeside) {
  MakeProgram(folder_ / "nsight/2025.3/ncu");
  fs::create_directories(folder_ / "bin");
  fs::create_directories(folder_ / "compute-sanitizer");
  fs::create_directories(folder_ / "private");
  fs::create_symlink(folder_ / "nsight/2025.3/ncu", folder_ / "bin/ncu");
  const std::vector<std::string> folders = FoldersOf(folder_ / "bin/ncu");
  EXPECT_THAT(folders, Contains((folder_ / "bin").string()));
  EXPECT_THAT(folders, Contains((folder_ / "nsight/2025.3").string()));
  EXPECT_THAT(folders, Contains((folder_ / "compute-sanitizer").string()));
  EXPECT_THAT(folders, Not(Contains((folder_ / "private").string())));
  EXPECT_THAT(folders, Not(Contains(folder_.string())));
}

}  // namespace
}  // namespace assay
