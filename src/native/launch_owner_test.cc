#include "native/launch_owner.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

const LaunchRules kRules{"/tmp/work",
                         {"/usr", "/opt/venv/lib/python3.12/site-packages", "/tmp/venv/", "", "/"}};

TEST(LaunchRules, WhatTheSubmissionWroteIsItsOwn) {
  for (const char* path :
       {"/tmp/work/extensions/py312_cu130/relu/relu.so",
        "/tmp/work/triton/ABC/__triton_launcher.so", "/tmp/elsewhere/x.so",
        "/memfd:kernel (deleted)", "/proc/self/fd/7", "./relative.so", "python3", ""})
    for (const bool driver : {false, true})
      EXPECT_EQ(kRules.OfCaller(path, driver), Owner::kOwn) << path;
}

TEST(LaunchRules, WhatIsInstalledIsALibrary) {
  for (const char* path :
       {"/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so",
        "/opt/venv/lib/python3.12/site-packages/torch/lib/../../nvidia/cu13/lib/libcublasLt.so.13",
        "/opt/venv/lib/python3.12/site-packages/flash_attn/_C.so", "/tmp/venv/lib/libcudnn.so.9",
        "/usr/lib/x86_64-linux-gnu/libcufft.so.12"})
    for (const bool driver : {false, true})
      EXPECT_EQ(kRules.OfCaller(path, driver), Owner::kLibrary) << path;
}

TEST(LaunchRules, InterpretersLaunchWhatWasCompiledAtRunTime) {
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libffi.so.8", "/usr/bin/python3.12",
                           "/usr/lib/python3.12/lib-dynload/_ctypes.cpython-312.so",
                           "/opt/venv/lib/python3.12/site-packages/cuda/bindings/driver.so",
                           "/opt/venv/lib/python3.12/site-packages/cupy/cuda/function.so"}) {
    EXPECT_EQ(kRules.OfCaller(path, true), Owner::kOwn) << path;
    EXPECT_EQ(kRules.OfCaller(path, false), Owner::kLibrary) << path;
  }
}

TEST(LaunchRules, FoldersAreNotPrefixesOfNames) {
  EXPECT_EQ(kRules.OfCaller("/usrlocal/x.so", false), Owner::kOwn);
  const LaunchRules none{"", {}};
  EXPECT_EQ(none.OfCaller("/usr/lib/x.so", false), Owner::kOwn);
  const LaunchRules inside{"/opt/venv/work", {"/opt/venv"}};
  EXPECT_EQ(inside.OfCaller("/opt/venv/work/x.so", false), Owner::kOwn);
  EXPECT_EQ(inside.OfCaller("/opt/venv/x.so", false), Owner::kLibrary);
}

TEST(LaunchLayers, AreKnownByName) {
  for (const char* path : {"/usr/lib/libcuda.so.1", "/usr/lib/libcuda.so.580.65.06",
                           "/x/nvidia/cu13/lib/libcudart.so.13", "libcupti.so.13",
                           "/opt/assay/lib/libassay_native.so"})
    EXPECT_TRUE(IsLaunchLayer(path)) << path;
  for (const char* path : {"/x/libtorch_cuda.so", "/x/libcublas.so.13", "", "/libcuda.so.1/x.so"})
    EXPECT_FALSE(IsLaunchLayer(path)) << path;
}

TEST(Owners, AKnownFunctionDecides) {
  const uint64_t own[] = {11, 12};
  const uint64_t library[] = {21};
  const KnownFunctions known{own, library};
  EXPECT_EQ(OwnerOf({Owner::kLibrary, 12}, known), Owner::kOwn);
  EXPECT_EQ(OwnerOf({Owner::kOwn, 21}, known), Owner::kLibrary);
  EXPECT_EQ(OwnerOf({Owner::kOwn, 99}, known), Owner::kOwn);
  EXPECT_EQ(OwnerOf({Owner::kUnknown, 0}, known), Owner::kUnknown);
  const uint64_t zero[] = {0};
  EXPECT_EQ(OwnerOf({Owner::kLibrary, 0}, {zero, {}}), Owner::kLibrary);
}

}  // namespace
}  // namespace assay
