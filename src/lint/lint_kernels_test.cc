// S2, S6 and S7: kernels, fallbacks and library work.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lint/lint_test_util.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

// S2: kernels.

TEST(LintKernelsTest, NoKernel) {
  EXPECT_RULE(Lint("import torch\nclass ModelNew(torch.nn.Module):\n"
                   "    def forward(self, x): return torch.relu(x)\n"),
              "S2.no_kernel", 0);
}

TEST(LintKernelsTest, DecoyIsDefinedButNotReachable) {
  const char* source = R"(import torch, triton
@triton.jit
def kernel(x): pass
def launch(x): kernel[(1,)](x)
class ModelNew(torch.nn.Module):
    def unused(self, x): launch(x)
    def forward(self, x): return torch.relu(x)
)";
  const LintReport report = Lint(source);
  EXPECT_RULE(report, "S2.decoy", 3);
  EXPECT_NO_RULE(report, "S2.no_kernel");
}

TEST(LintKernelsTest, KernelsAreFoundBehindIndirection) {
  const std::string head = "import torch, triton, functools\nimport torch.nn as nn\n";
  const std::string kernel = "@triton.jit\ndef kernel(x): pass\n";
  for (const std::string& body : {
           kernel +
               "class F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
               "        kernel[(1,)](x)\nclass ModelNew(nn.Module):\n"
               "    def forward(self, x): return F.apply(x)\n",
           kernel + "def a(x): return b(x)\ndef b(x): kernel[(1,)](x)\nclass ModelNew(nn.Module):\n"
                    "    def forward(self, x): return a(x)\n",
           kernel + "class ModelNew(nn.Module):\n    def _go(self, x): kernel[(1,)](x)\n"
                    "    def forward(self, x): return self._go(x)\n",
           kernel + "class Op(nn.Module):\n    def forward(self, x): kernel[(1,)](x)\n"
                    "class ModelNew(nn.Module):\n    def __init__(self):\n        self.op = Op()\n"
                    "    def forward(self, x): return self.op(x)\n",
           kernel + "class Op(nn.Module):\n    def forward(self, x): kernel[(1,)](x)\n"
                    "class ModelNew(nn.Module):\n    def __init__(self):\n"
                    "        self.add_module('op', Op())\n"
                    "    def forward(self, x):\n        for m in self.children(): x = m(x)\n",
           kernel + "class Op(nn.Module):\n    def forward(self, x): kernel[(1,)](x)\n"
                    "class ModelNew(nn.Module):\n    def __init__(self):\n"
                    "        self.net = nn.Sequential(Op(), Op())\n"
                    "    def forward(self, x): return self.net(x)\n",
           kernel + "class Base(nn.Module):\n    def forward(self, x): kernel[(1,)](x)\n"
                    "class ModelNew(Base):\n    pass\n",
           kernel + "class Base(nn.Module):\n    def forward(self, x): kernel[(1,)](x)\n"
                    "class ModelNew(Base):\n    def forward(self, x): return super().forward(x)\n",
           kernel + "TABLE = {'a': kernel}\nclass ModelNew(nn.Module):\n"
                    "    def forward(self, x): TABLE['a'][(1,)](x)\n",
           kernel + "launch = functools.partial(kernel.run, grid=1)\nclass ModelNew(nn.Module):\n"
                    "    def forward(self, x): launch(x)\n",
           kernel +
               "class Net(nn.Module):\n    def forward(self, x): kernel[(1,)](x)\nModelNew = Net\n",
           std::string("def raw(x): pass\nkernel = triton.jit(raw)\nclass ModelNew(nn.Module):\n"
                       "    def forward(self, x): kernel[(1,)](x)\n"),
           std::string(
               "from triton import jit\n@jit\ndef kernel(x): pass\nclass ModelNew(nn.Module):\n"
               "    def forward(self, x): kernel[(1,)](x)\n"),
           std::string(
               "import triton as t\n@t.autotune(configs=[], key=[])\n@t.heuristics({})\n"
               "@t.jit(do_not_specialize=[0])\ndef kernel(x): pass\nclass ModelNew(nn.Module):\n"
               "    def forward(self, x): kernel[(1,)](x)\n"),
           std::string(
               "def make():\n    @triton.jit\n    def kernel(x): pass\n    return kernel\n"
               "k = make()\nclass ModelNew(nn.Module):\n    def forward(self, x): k[(1,)](x)\n"),
       }) {
    const LintReport report = Lint(head + body);
    EXPECT_NO_RULE(report, "S2.decoy") << body;
    EXPECT_NO_RULE(report, "S2.no_kernel") << body;
    EXPECT_TRUE(report.uses_triton) << body;
  }
}

TEST(LintKernelsTest, HonestExtensionHasNothingToSay) {
  const LintReport report = Lint(Extension(kCuda));
  EXPECT_EQ(Describe(report), "");
  EXPECT_TRUE(report.uses_extension);
  EXPECT_FALSE(report.uses_triton);
}

TEST(LintKernelsTest, FunctionsOfOnesOwnExtensionAreNotTheLibrarys) {
  const LintReport report = Lint(fmt::format(R"py(import torch
from torch.utils.cpp_extension import load_inline
ext = load_inline(name="op", cpp_sources="", cuda_sources=r"""{}""", functions=["relu"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.relu(x)
)py",
                                             kCuda));
  EXPECT_EQ(Describe(report), "");
}

TEST(LintKernelsTest, OtherKernelLanguagesAreKernelsButNotTriton) {
  const LintReport report = Lint(R"(import torch, tilelang
import tilelang.language as T
def build(n):
    @T.prim_func
    def k(a): pass
    return tilelang.compile(k)
class ModelNew(torch.nn.Module):
    def __init__(self): self.k = build(3)
    def forward(self, x): return self.k(x)
)");
  EXPECT_EQ(Describe(report), "");
  EXPECT_FALSE(report.uses_triton);
}

TEST(LintKernelsTest, ExtensionWithoutAKernelOfItsOwn) {
  EXPECT_RULE(Lint(Extension("#include <torch/extension.h>\n"
                             "torch::Tensor run(torch::Tensor x) { return at::relu(x); }\n")),
              "S2.wrapper", 7);
  EXPECT_NO_RULE(
      Lint(Extension("#include <torch/extension.h>\ntorch::Tensor run(torch::Tensor x) { "
                     "for (int i = 0; i < 3; ++i) f(i); return x; }\n")),
      "S2.wrapper");
}

TEST(LintKernelsTest, LazilyLoadedExtensionIsReached) {
  const LintReport report = Lint(fmt::format(R"py(import torch, threading
from torch.utils import cpp_extension as ce
_lock = threading.Lock()
_ext = None
def get():
    global _ext
    with _lock:
        if _ext is None:
            _ext = ce.load_inline(name="x", cpp_sources="", cuda_sources=r"""{}""")
    return _ext
class ModelNew(torch.nn.Module):
    def forward(self, x): return get().run(x)
)py",
                                             kCuda));
  EXPECT_NO_RULE(report, "S2.decoy");
  EXPECT_NO_RULE(report, "S4.thread");
  EXPECT_RULE(report, "S4.lock", 3);
}

// S6: fallbacks.

TEST(LintKernelsTest, FallbackAroundAKernel) {
  const std::string code =
      "try:\n            relu_kernel[(1,)](x, x, 1, BLOCK=1)\n        except Exception:\n"
      "            return torch.relu(x)";
  EXPECT_RULE(LintTriton("", code), "S6.fallback", 23);
  EXPECT_RULE(LintTriton("import contextlib",
                         "with contextlib.suppress(Exception):\n"
                         "            relu_kernel[(1,)](x, x, 1, BLOCK=1)"),
              "S6.fallback", 21);
  // A handler that raises, and one that tries the next configuration, hide nothing.
  EXPECT_NO_RULE(
      LintTriton("",
                 "try:\n            relu_kernel[(1,)](x, x, 1, BLOCK=1)\n"
                 "        except Exception as e:\n            raise RuntimeError from e"),
      "S6.fallback");
  EXPECT_NO_RULE(LintTriton("",
                            "for b in (1, 2):\n            try:\n"
                            "                relu_kernel[(1,)](x, x, 1, BLOCK=b)\n"
                            "            except Exception:\n                continue"),
                 "S6.fallback");
}

TEST(LintKernelsTest, OptionalImportIsNoFallback) {
  EXPECT_EQ(
      Describe(LintTriton("try:\n    import triton.language.extra as extra\nexcept ImportError:\n"
                          "    extra = None")),
      "");
}

// S7: library compute.

TEST(LintKernelsTest, LibraryComputeIsNamed) {
  struct Case {
    const char* before;
    const char* init;
    const char* forward;
    const char* operation;
  };
  for (const Case& c : {
           Case{"", "", "x = torch.matmul(x, x)", "torch.matmul"},
           Case{"import torch as t", "", "x = t.softmax(x, 0)", "torch.softmax"},
           Case{"from torch.nn import functional as G", "", "x = G.gelu(x)",
                "torch.nn.functional.gelu"},
           Case{"from torch import einsum as e", "", "x = e('ij->i', x)", "torch.einsum"},
           Case{"mm = torch.mm", "", "x = mm(x, x)", "torch.mm"},
           Case{"", "", "x = x @ x", "the @ operator"},
           Case{"", "", "x @= x", "the @ operator"},
           Case{"", "", "x = x.relu_()", "Tensor.relu_"},
           Case{"", "", "x = (x * 2).sum(dim=1)", "Tensor.sum"},
           Case{"", "self.conv = nn.Conv2d(1, 2, 3)", "x = self.conv(x)", "torch.nn.Conv2d"},
           Case{"", "self.l = nn.ModuleList([nn.Linear(1, 2)])", "for m in self.l: x = m(x)",
                "torch.nn.ModuleList"},
           Case{"def help(x):\n    return torch.bmm(x, x)", "", "x = help(x)", "torch.bmm"},
           Case{"", "", "x = torch.ops.aten.mm(x, x)", "torch.ops.aten.mm"},
           Case{"", "", "x = torch.addmm(x, x, x)", "torch.addmm"},
           Case{"", "", "x = getattr(torch, 'matmul')(x, x)", "torch.matmul"},
       }) {
    const LintReport report = LintTriton(c.before, c.forward, c.init);
    const LintFinding* found = Find(report, "S7.library");
    ASSERT_NE(found, nullptr) << c.forward << "\n" << Describe(report);
    EXPECT_THAT(found->reason, HasSubstr(c.operation));
  }
}

TEST(LintKernelsTest, AllocationAndShapesAreNotCompute) {
  EXPECT_EQ(Describe(LintTriton(
                "import math",
                "x = x.contiguous().view(-1).reshape(2, -1).transpose(0, 1).float()\n"
                "        n = max(x.shape[0], math.prod(x.shape), math.sqrt(2.0))\n"
                "        z = torch.zeros(n, device=x.device, dtype=torch.float32)\n"
                "        x = torch.nn.functional.pad(x, (0, 1))\n"
                "        b = min([1, 2]) + sum([1])",
                "self.weight = nn.Parameter(torch.randn(3, 4).softmax(0) @ torch.eye(4))\n"
                "        self.norm = None\n"
                "        nn.init.normal_(self.weight)")),
            "");
}

}  // namespace
}  // namespace assay
