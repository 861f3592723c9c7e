#include "worker/candidate_sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/temp_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::UnorderedElementsAre;

class GpuDeviceFilesTest : public ::testing::Test {
 protected:
  GpuDeviceFilesTest() {
    fs::create_directories(dev_ / "nvidia-caps");
    for (const char* name : {"null", "nvidia1", "nvidia11", "nvidia2", "nvidiactl", "nvidia-uvm"})
      std::ofstream(dev_ / name);
  }
  [[nodiscard]] std::vector<std::string> Names(std::optional<unsigned> own) const {
    std::vector<std::string> names;
    for (const std::string& path : GpuDeviceFiles(dev_, own))
      names.push_back(fs::path(path).filename());
    return names;
  }

  const test::TempFolder folder_;
  const fs::path dev_ = folder_.path() / "dev";
};

TEST_F(GpuDeviceFilesTest, OtherCardsAreNotForACandidate) {
  EXPECT_THAT(Names(1), UnorderedElementsAre("nvidia1", "nvidiactl", "nvidia-uvm"));
}

TEST_F(GpuDeviceFilesTest, AllOfThemWhereTheNumberIsUnknown) {
  EXPECT_THAT(Names(std::nullopt),
              UnorderedElementsAre("nvidia1", "nvidia11", "nvidia2", "nvidiactl", "nvidia-uvm"));
}

TEST_F(GpuDeviceFilesTest, TheOnlyOneWhateverItsNumber) {
  EXPECT_THAT(Names(5), UnorderedElementsAre("nvidiactl", "nvidia-uvm")) << "one of three";
  for (const char* name : {"nvidia1", "nvidia11"}) fs::remove(dev_ / name);
  EXPECT_THAT(Names(5), UnorderedElementsAre("nvidia2", "nvidiactl", "nvidia-uvm"));
}

TEST_F(GpuDeviceFilesTest, AMachineWithoutAnyHasNone) {
  EXPECT_TRUE(GpuDeviceFiles(dev_ / "nowhere", 0).empty());
}

}  // namespace
}  // namespace assay
