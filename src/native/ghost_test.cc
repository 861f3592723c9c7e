#include "native/ghost.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/temp_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
const std::string kFakes = ASSAY_FAKES;

using Run = int (*)();

Run Find(void* library, const char* name) {
  void* symbol = ::dlsym(library, name);
  EXPECT_NE(symbol, nullptr) << name;
  Run run = nullptr;
  std::memcpy(&run, &symbol, sizeof run);
  return run;
}

struct Extension {
  Extension(const fs::path& path, int binding) {
    fs::copy_file(kFakes + "/libassay_fake_extension.so", path,
                  fs::copy_options::overwrite_existing);
    void* library = ::dlopen(path.c_str(), binding | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << ::dlerror();
    run = Find(library, "fake_extension_run");
    run_by_pointer = Find(library, "fake_extension_run_by_pointer");
  }
  Run run;
  Run run_by_pointer;
};

TEST(Ghost, OnlyWhatTheSubmissionLoadedIsCutOff) {
  const test::TempFolder temp;
  const fs::path folder = temp.path() / "own";
  const fs::path others = temp.path() / "others";
  for (const fs::path& each : {folder, others}) fs::create_directories(each);
  const Extension bound(folder / "bound.so", RTLD_NOW);
  const Extension lazy(folder / "lazy.so", RTLD_LAZY);
  const Extension library(others / "library.so", RTLD_NOW);
  EXPECT_EQ(bound.run(), 11);
  EXPECT_EQ(bound.run_by_pointer(), 12);

  const Result<int> changed = CutOffLaunches(folder);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_GE(*changed, 4);
  EXPECT_EQ(SkippedLaunches(), 0u);
  EXPECT_EQ(bound.run(), 0);
  EXPECT_EQ(bound.run_by_pointer(), 0);
  EXPECT_EQ(lazy.run(), 0);
  EXPECT_EQ(SkippedLaunches(), 3u);
  EXPECT_EQ(library.run(), 11);
  EXPECT_EQ(library.run_by_pointer(), 12);
  const Result<int> again = CutOffLaunches(folder);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, 0);
}

TEST(Ghost, AFolderMustBeNamed) {
  EXPECT_FALSE(CutOffLaunches("").ok());
  EXPECT_FALSE(CutOffLaunches("/").ok());
  const Result<int> none = CutOffLaunches("/nowhere");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, 0);
}

}  // namespace
}  // namespace assay
