#include "tools/ending.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(ReasonOfTest, AnErrorIsPreferredToWhatFollowsIt) {
  EXPECT_EQ(ReasonOf("Traceback (most recent call last):\n"
                     "  File \"replay.py\", line 51, in run\n"
                     "torch.AcceleratorError: CUDA error: unspecified launch failure\n"
                     "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n\n"
                     "frame #0: c10::Error::Error(c10::SourceLocation) + 0x98 (0x7f12345678)\n"
                     "frame #18: _start + 0x25 (0x657a05 in python3)\n",
                     300),
            "torch.AcceleratorError: CUDA error: unspecified launch failure");
}

TEST(ReasonOfTest, OrTheLastLineThatIsNoFrame) {
  EXPECT_EQ(
      ReasonOf("one\nterminate called at 0x7f0012 and 0xAB.\n  #1 0x12 in f\nframe #1: x\n", 300),
      "terminate called at 0x... and 0x....");
  EXPECT_EQ(ReasonOf("", 300), "");
  EXPECT_EQ(ReasonOf("frame #0: x", 300), "");
  EXPECT_EQ(ReasonOf("0x", 300), "0x...");
  EXPECT_EQ(ReasonOf("shapes cannot be multiplied (10x20 and 3x0x1)", 300),
            "shapes cannot be multiplied (10x20 and 3x0x1)");
}

TEST(ReasonOfTest, IsBounded) {
  EXPECT_LE(ReasonOf("ValueError: " + std::string(5000, 'x'), 300).size(), 310u);
  EXPECT_EQ(ReasonOf("a\x1b[31mred", 300).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace assay
