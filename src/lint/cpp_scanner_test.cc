#include "lint/cpp_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace assay::lint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Texts(std::string_view source) {
  std::vector<std::string> texts;
  for (const CppToken& token : TokenizeCpp(source)) texts.emplace_back(token.text);
  return texts;
}

std::vector<std::string> Rules(std::string_view source) {
  std::vector<std::string> rules;
  for (const CppFinding& finding : ScanCpp(source).findings) rules.push_back(finding.rule);
  return rules;
}

TEST(CppTokensTest, CommentsStringsAndDirectives) {
  EXPECT_THAT(Texts("a // system(\n/* b\n*/ c // x \\\n d\ne"), ElementsAre("a", "c", "e"));
  EXPECT_THAT(Texts("\"a\\\"b\" 'c' R\"x(d\")y)x\" e"), ElementsAre("a\\\"b", "c", "d\")y", "e"));
  EXPECT_THAT(Texts("#include <a/b.h>\n#define F system(x)\n# include \"q\""),
              ElementsAre("#", "a/b.h", "#", "system", "(", "x", ")", "#", "q"));
  EXPECT_THAT(Texts("1'000.5e-3f x->y a::b"),
              ElementsAre("1'000.5e-3f", "x", "->", "y", "a", "::", "b"));
  EXPECT_THAT(Texts("/* open"), IsEmpty());
  EXPECT_THAT(Texts("R\"(open"), ElementsAre("open"));
  EXPECT_THAT(Texts("\"open"), ElementsAre("open"));
  EXPECT_THAT(Texts("\"\\"), ElementsAre("\\"));
}

TEST(CppScannerTest, EachRule) {
  EXPECT_THAT(Rules("void f() { system(\"x\"); }"), ElementsAre("S9.process"));
  EXPECT_THAT(Rules("int p = ::fork();"), ElementsAre("S9.process"));
  EXPECT_THAT(Rules("return std::system(c);"), ElementsAre("S9.process"));
  EXPECT_THAT(Rules("#define RUN popen(x, y)\n"), ElementsAre("S9.process"));
  EXPECT_THAT(Rules("void* h = dlopen(n, 1);"), ElementsAre("S9.loader"));
  EXPECT_THAT(Rules("int s = socket(1, 2, 3);"), ElementsAre("S9.network"));
  EXPECT_THAT(Rules("fopen(\"/proc/self/maps\", \"r\");"), ElementsAre("S9.files"));
  EXPECT_THAT(Rules("std::thread t(f);"), ElementsAre("S9.thread"));
  EXPECT_THAT(Rules("#include <thread>\n"), ElementsAre("S9.thread"));
  EXPECT_THAT(Rules("cudaEventRecord(e);"), ElementsAre("S9.event"));
  EXPECT_THAT(Rules("cudaStreamCreateWithFlags(&s, 1);"), ElementsAre("S9.stream"));
  EXPECT_THAT(Rules("cudaGraphLaunch(g, s);"), ElementsAre("S9.graph"));
  EXPECT_THAT(Rules("cuCtxSetLimit(a, b);"), ElementsAre("S9.context"));
  EXPECT_THAT(Rules("cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, n);"),
              ElementsAre("S9.persist"));
  EXPECT_THAT(Rules("__attribute__((constructor)) void f() {}"), ElementsAre("S9.constructor"));
  EXPECT_THAT(Rules("asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(t));"),
              ElementsAre("S9.clock"));
  EXPECT_THAT(Rules("long t = clock64();"), ElementsAre("S9.clock"));
  EXPECT_THAT(Rules("static float* cache = nullptr;"), ElementsAre("S9.static"));
  EXPECT_THAT(Rules("static torch::Tensor last;"), ElementsAre("S9.static"));
  EXPECT_THAT(Rules("__device__ float* held;"), ElementsAre("S9.static"));
}

TEST(CppScannerTest, HonestCodeIsQuiet) {
  EXPECT_THAT(Rules("// system(x) std::thread fork()\n/* cudaEventCreate */"), IsEmpty());
  EXPECT_THAT(Rules("printf(\"system(%d) fork() std::thread\", 1);"), IsEmpty());
  EXPECT_THAT(Rules("obj.system(1); p->fork(); mine::connect(2);"), IsEmpty());
  EXPECT_THAT(Rules("static __device__ float* at(float* p) { return p; }"), IsEmpty());
  EXPECT_THAT(Rules("static inline __device__ float f(float* p);"), IsEmpty());
  EXPECT_THAT(Rules("static const char* kName = \"x\"; static int n = 3;"), IsEmpty());
  EXPECT_THAT(Rules("auto y = static_cast<float*>(p);"), IsEmpty());
  EXPECT_THAT(Rules("__device__ float g(const float* x) { return *x; }"), IsEmpty());
  EXPECT_THAT(Rules("int thread = threadIdx.x; auto async = 1;"), IsEmpty());
  EXPECT_THAT(Rules("const char* s = \"the %clock register\";"), IsEmpty());
  EXPECT_THAT(Rules("auto s = at::cuda::getCurrentCUDAStream(); C10_CUDA_KERNEL_LAUNCH_CHECK();"),
              IsEmpty());
}

TEST(CppScannerTest, WhatTheSourceContains) {
  EXPECT_TRUE(ScanCpp("__global__ void k() {}").has_kernel);
  EXPECT_FALSE(ScanCpp("// __global__\n\"__global__\"").has_kernel);
  EXPECT_TRUE(ScanCpp("for (;;) {}").has_loop);
  EXPECT_TRUE(LooksLikeCpp("#include <x>\nint f();"));
  EXPECT_FALSE(LooksLikeCpp("a kernel with __global__ in its text"));
}

}  // namespace
}  // namespace assay::lint
