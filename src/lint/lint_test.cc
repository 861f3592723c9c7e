#include "lint/lint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string Describe(const LintReport& report) {
  std::string text;
  for (const LintFinding& finding : report.findings)
    text += fmt::format("{}:{}: {}{}\n", finding.rule, finding.line, finding.reason,
                        finding.severity == LintFinding::Severity::kInvalid ? " [invalid]" : "");
  return text;
}

const LintFinding* Find(const LintReport& report, std::string_view rule) {
  for (const LintFinding& finding : report.findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

#define EXPECT_RULE(report, rule, line_number)                                 \
  do {                                                                         \
    const LintReport& checked = report; /* keeps a temporary alive */          \
    const LintFinding* found = Find(checked, rule);                            \
    ASSERT_NE(found, nullptr) << "no " << (rule) << "\n" << Describe(checked); \
    EXPECT_EQ(found->line, line_number) << Describe(checked);                  \
  } while (false)
#define EXPECT_NO_RULE(report, rule) EXPECT_EQ(Find(report, rule), nullptr) << Describe(report)

/// An honest Triton submission; `before`, `init` and `forward` are inserted at their places.
/// `before` begins on line 5.
std::string Triton(std::string_view before = "", std::string_view forward = "",
                   std::string_view init = "") {
  return fmt::format(R"(import torch
import torch.nn as nn
import triton
import triton.language as tl
{}

@triton.jit
def relu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, tl.maximum(x, tl.sum(x * 0.0)), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        {}

    def forward(self, x):
        {}
        y = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
        relu_kernel[grid](x, y, x.numel(), BLOCK=1024, num_warps=4, num_stages=2)
        return y
)",
                     before, init, forward);
}

LintReport LintTriton(std::string_view before, std::string_view forward = "",
                      std::string_view init = "") {
  return Lint(Triton(before, forward, init));
}

TEST(LintTest, HonestTritonHasNothingToSay) {
  LintOptions options;
  options.forward_inputs = 1;
  const LintReport report = Lint(Triton(), options);
  EXPECT_EQ(Describe(report), "");
  EXPECT_TRUE(report.uses_triton);
  EXPECT_FALSE(report.uses_extension);
  EXPECT_FALSE(report.uses_streams);
  EXPECT_FALSE(report.uses_compile);
  EXPECT_FALSE(report.has_syntax_error);
}

// S1: what cannot run.

TEST(LintTest, OversizeEmptyAndBinaryTextIsInvalid) {
  LintOptions options;
  options.max_bytes = 100;
  EXPECT_RULE(Lint(std::string(101, '#'), options), "S1.size", 0);
  EXPECT_TRUE(Lint(std::string(101, '#'), options).invalid());
  EXPECT_RULE(Lint(" \n\t\n"), "S1.empty", 0);
  EXPECT_RULE(Lint("x = 1\ny = \"\xff\"\n"), "S1.encoding", 2);
  EXPECT_RULE(Lint(std::string_view("a\n\0", 3)), "S1.encoding", 2);
  EXPECT_RULE(Lint("\xed\xa0\x80"), "S1.encoding", 1);
  EXPECT_RULE(Lint("\xc0\x80"), "S1.encoding", 1);
  EXPECT_RULE(Lint("\xf4\x90\x80\x80"), "S1.encoding", 1);
  EXPECT_NO_RULE(Lint(Triton("s = 'caf\xc3\xa9 \xf0\x9f\x9a\x80'")), "S1.encoding");
}

TEST(LintTest, MissingModelIsInvalid) {
  const LintReport report = Lint("class Model:\n    pass\n\ndef f():\n    ModelNew = 1\n");
  EXPECT_RULE(report, "S1.no_model", 0);
  EXPECT_TRUE(report.invalid());
}

TEST(LintTest, EveryWayToBindModelNewIsAccepted) {
  for (const char* source : {
           "class ModelNew: pass\n",
           "class A: pass\nModelNew = A\n",
           "ModelNew: type = object\n",
           "from triton import thing as ModelNew\n",
           "from triton import *\n",
           "import ModelNew\n",
           "if 1:\n    class ModelNew: pass\nelse:\n    ModelNew = None\n",
           "try:\n    class ModelNew: pass\nexcept E:\n    pass\n",
           "def ModelNew(): return 1\n",
           "def make():\n    global ModelNew\n    class ModelNew: pass\nmake()\n",
           "a, (ModelNew, b) = f()\n",
           "for ModelNew in [object]: pass\n",
           "with f() as ModelNew: pass\n",
           "(ModelNew := object)\n",
           "globals()['Model' + 'New'] = object\n",
           "exec('class ModelNew: pass')\n",
       })
    EXPECT_FALSE(Lint(source).invalid()) << source;
}

TEST(LintTest, ArityMustFitTheReference) {
  struct Case {
    const char* parameters;
    int inputs;
    bool invalid;
  };
  for (const Case& c : {
           Case{"self, x", 1, false},
           Case{"self, x", 2, true},
           Case{"self, x, y", 1, true},
           Case{"self, x, y=None", 1, false},
           Case{"self, x, y=None", 2, false},
           Case{"self, x, y=None", 3, true},
           Case{"self, *args", 7, false},
           Case{"*args, **kwargs", 3, false},
           Case{"self, *args: int", 3, false},
           Case{"self, x: torch.Tensor, /, y: int = 3", 1, false},
           Case{"self, x, *, scale=1.0", 1, false},
           Case{"self, x, *, scale", 1, true},
           Case{"self, x, **kw", 2, true},
           Case{"self", 0, false},
           Case{"", 0, true},
           Case{"self, x", -1, false},
       }) {
    LintOptions options;
    options.forward_inputs = c.inputs;
    const std::string source =
        fmt::format("class ModelNew:\n    def forward({}):\n        return 1\n", c.parameters);
    const LintReport report = Lint(source, options);
    EXPECT_EQ(report.invalid(), c.invalid) << c.parameters << " " << c.inputs << "\n"
                                           << Describe(report);
    if (c.invalid) EXPECT_RULE(report, "S1.arity", 2);
  }
}

TEST(LintTest, ArityIsNotGuessed) {
  LintOptions options;
  options.forward_inputs = 3;
  const std::string model = "class ModelNew(nn.Module):\n    def forward(self, x): return x\n";
  EXPECT_TRUE(Lint(model, options).invalid());
  for (const char* other : {
           "class ModelNew(Base):\n    pass\n",
           "class ModelNew(nn.Module):\n    @wrap\n    def forward(self, x): return x\n",
           "class ModelNew(nn.Module):\n    def __init__(self): self.forward = f\n"
           "    def forward(self, x): return x\n",
           "class ModelNew(nn.Module, metaclass=M):\n    def forward(self, x): return x\n",
           "@wrap\nclass ModelNew(nn.Module):\n    def forward(self, x): return x\n",
           "if A:\n    class ModelNew(nn.Module):\n        def forward(self, x): return x\n",
           "class A(nn.Module):\n    def forward(self, x): return x\nModelNew = A\n",
           "class ModelNew(nn.Module):\n    def forward(self, x): return x\n    forward = g\n",
           "class ModelNew(nn.Module):\n    def forward(self, x): return x\nModelNew.forward = g\n",
           "class ModelNew(nn.Module):\n    if A:\n        def forward(self, x): return x\n",
           "class ModelNew(nn.Module):\n    def forward(self, x): return x\n"
           "    def __call__(self, *a): return 1\n",
       })
    EXPECT_FALSE(Lint(other, options).invalid()) << other << Describe(Lint(other, options));
}

TEST(LintTest, SyntaxErrorIsOnlyAFlag) {
  LintOptions options;
  options.forward_inputs = 1;
  const LintReport report =
      Lint("import torch\n\nclass ModelNew(:\n    def forward(self, x:\n", options);
  EXPECT_TRUE(report.has_syntax_error);
  EXPECT_FALSE(report.invalid());
  ASSERT_NE(Find(report, "S1.syntax"), nullptr);
  EXPECT_NO_RULE(report, "S2.no_kernel");
}

TEST(LintTest, TextBeyondTheParserIsSaidToBeUnchecked) {
  const LintReport report = Lint(std::string(100000, '['));
  EXPECT_RULE(report, "S1.unparsed", 0);
  EXPECT_FALSE(report.has_syntax_error);
  EXPECT_FALSE(report.invalid());
}

// S2: kernels.

TEST(LintTest, NoKernel) {
  EXPECT_RULE(Lint("import torch\nclass ModelNew(torch.nn.Module):\n"
                   "    def forward(self, x): return torch.relu(x)\n"),
              "S2.no_kernel", 0);
}

TEST(LintTest, DecoyIsDefinedButNotReachable) {
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

TEST(LintTest, KernelsAreFoundBehindIndirection) {
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

std::string Extension(std::string_view source, std::string_view extra = "") {
  return fmt::format(R"py(import torch
from torch.utils.cpp_extension import load_inline
source = r"""{}"""
{}
ext = load_inline(name="op", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source,
                  functions=["run"])
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.op = ext
    def forward(self, x):
        return self.op.run(x)
)py",
                     source, extra);
}

constexpr const char* kCuda = R"(#include <torch/extension.h>
__global__ void k(const float* x, float* y, int n) { if (n) y[0] = x[0]; }
torch::Tensor run(torch::Tensor x) { auto y = torch::empty_like(x); k<<<1, 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), 1); return y; }
)";

TEST(LintTest, HonestExtensionHasNothingToSay) {
  const LintReport report = Lint(Extension(kCuda));
  EXPECT_EQ(Describe(report), "");
  EXPECT_TRUE(report.uses_extension);
  EXPECT_FALSE(report.uses_triton);
}

TEST(LintTest, FunctionsOfOnesOwnExtensionAreNotTheLibrarys) {
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

TEST(LintTest, OtherKernelLanguagesAreKernelsButNotTriton) {
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

TEST(LintTest, ExtensionWithoutAKernelOfItsOwn) {
  EXPECT_RULE(Lint(Extension("#include <torch/extension.h>\n"
                             "torch::Tensor run(torch::Tensor x) { return at::relu(x); }\n")),
              "S2.wrapper", 7);
  EXPECT_NO_RULE(
      Lint(Extension("#include <torch/extension.h>\ntorch::Tensor run(torch::Tensor x) { "
                     "for (int i = 0; i < 3; ++i) f(i); return x; }\n")),
      "S2.wrapper");
}

TEST(LintTest, LazilyLoadedExtensionIsReached) {
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

// S3, S4, S5: imports, names, patches.

TEST(LintTest, Imports) {
  const LintReport report = LintTriton("import requests\nfrom . import x\nfrom math import *");
  EXPECT_RULE(report, "S3.import", 5);
  EXPECT_RULE(report, "S3.relative", 6);
  EXPECT_RULE(report, "S3.star", 7);
  EXPECT_EQ(Describe(LintTriton("import math, typing, functools, itertools, dataclasses, os\n"
                                "import numpy as np\nfrom typing import *  if 0 else 0\n"
                                "from __future__ import annotations\n"
                                "os.environ['TORCH_CUDA_ARCH_LIST'] = '9.0'"))
                .find("S3.import"),
            std::string::npos);
}

TEST(LintTest, ForbiddenNames) {
  struct Case {
    const char* code;
    const char* rule;
  };
  for (const Case& c : {
           Case{"exec('x')", "S4.builtin"},
           Case{"f = eval", "S4.builtin"},
           Case{"open('/tmp/x')", "S4.builtin"},
           Case{"globals()['x'] = 1", "S4.builtin"},
           Case{"__import__('os')", "S4.builtin"},
           Case{"import ctypes", "S4.forbidden"},
           Case{"from ctypes import CDLL", "S4.forbidden"},
           Case{"import ctypes.util as u", "S4.forbidden"},
           Case{"import os; os.system('x')", "S4.forbidden"},
           Case{"from os import system; system('x')", "S4.forbidden"},
           Case{"import sys; sys.exit()", "S4.forbidden"},
           Case{"import gc", "S4.forbidden"},
           Case{"import inspect", "S4.forbidden"},
           Case{"import time", "S4.time"},
           Case{"import threading; threading.Thread(target=f)", "S4.thread"},
           Case{"from concurrent.futures import ThreadPoolExecutor", "S4.thread"},
           Case{"e = torch.cuda.Event(enable_timing=True)", "S4.timing"},
           Case{"from torch import cuda as c; c.synchronize()", "S4.timing"},
           Case{"torch._C._something()", "S4.internals"},
           Case{"from torch.utils import _pytree; _pytree.x()", "S4.internals"},
           Case{"torch.library.Library('aten', 'IMPL')", "S4.library"},
           Case{"torch.initial_seed()", "S4.phase"},
           Case{"x = f.__globals__", "S4.dunder"},
           Case{"x = (1).__class__.__subclasses__()", "S4.dunder"},
           Case{"f = e.__traceback__.tb_frame", "S4.frames"},
           Case{"class T(torch.Tensor): pass", "S4.lazy"},
           Case{"getattr(torch.cuda, 'synchronize')()", ""},
       }) {
    const LintReport report = LintTriton(c.code);
    if (*c.rule != '\0') {
      EXPECT_RULE(report, c.rule, 5);
    }
    EXPECT_FALSE(report.invalid()) << c.code;
  }
}

TEST(LintTest, PatchesOfForeignModules) {
  for (const char* code : {
           "torch.cuda.Event.elapsed_time = lambda a, b: 0",
           "E = torch.cuda.Event; E.elapsed_time = 1",
           "setattr(torch.cuda.Event, 'elapsed_time', 1)",
           "E = torch.cuda.Event; setattr(E, 'elapsed_time', 1)",
           "torch.allclose, x = 1, 2",
           "nn.Module.__call__ = 1",
           "import sys; sys.modules['torch'] = 1",
           "import sys; sys.modules['torch'].allclose = 1",
           "torch.__dict__['allclose'] = 1",
           "del torch.allclose",
           "torch.relu += 1",
       })
    EXPECT_RULE(LintTriton(code), "S5.patch", 5);
  EXPECT_RULE(LintTriton("torch.backends.cuda.matmul.allow_tf32 = True"), "S5.setting", 5);
  EXPECT_RULE(LintTriton("torch.set_float32_matmul_precision('high')"), "S5.setting", 5);
  EXPECT_RULE(LintTriton("class P: pass\ntorch = P()"), "S5.rebind", 6);
}

// S6: fallbacks.

TEST(LintTest, FallbackAroundAKernel) {
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

TEST(LintTest, OptionalImportIsNoFallback) {
  EXPECT_EQ(
      Describe(LintTriton("try:\n    import triton.language.extra as extra\nexcept ImportError:\n"
                          "    extra = None")),
      "");
}

// S7: library compute.

TEST(LintTest, LibraryComputeIsNamed) {
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

TEST(LintTest, AllocationAndShapesAreNotCompute) {
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

// S8 and the hints.

TEST(LintTest, HarnessReferenceAndCompilers) {
  EXPECT_RULE(LintTriton("class Model(nn.Module): pass"), "S8.harness", 5);
  EXPECT_RULE(LintTriton("def get_inputs(): return []"), "S8.harness", 5);
  EXPECT_RULE(LintTriton("class Other(Model): pass"), "S8.reference", 5);
  EXPECT_RULE(LintTriton("m = Model()"), "S8.reference", 5);
  const LintReport compiled = LintTriton("f = torch.compile(lambda x: x)");
  EXPECT_RULE(compiled, "S8.compiler", 5);
  EXPECT_TRUE(compiled.uses_compile);
}

TEST(LintTest, StreamsAreAHintOnly) {
  for (const char* code : {"s = torch.cuda.Stream()", "g = torch.cuda.CUDAGraph()",
                           "from torch.cuda import stream\nwith stream(None): pass"}) {
    const LintReport report = LintTriton(code);
    EXPECT_TRUE(report.uses_streams) << code;
    EXPECT_EQ(Describe(report), "") << code;
  }
  EXPECT_TRUE(
      Lint(Extension(std::string(kCuda) + "void s() { cudaStream_t a; cudaStreamCreate(&a); }"))
          .uses_streams);
}

// S9: C++.

TEST(LintTest, CppFindingsHaveTheirPythonLine) {
  const LintReport report =
      Lint(Extension(std::string(kCuda) + "void f() {\n  system(\"ls\");\n}\n"));
  EXPECT_RULE(report, "S9.process", 7);
  // Escapes do not hide a call, and lines count as they stand in the file.
  const LintReport escaped = Lint(
      "import torch\ns = '#include <a.h>\\nvoid f() {'\\\n  ' sys\\x74em(1); }'\n"
      "class ModelNew: pass\n");
  EXPECT_RULE(escaped, "S9.process", 3);
}

// Honest text that merely contains the words.

TEST(LintTest, WordsInCommentsAndStringsAreHarmless) {
  EXPECT_EQ(
      Describe(LintTriton(R"(# try: exec(open("/proc/self/maps")); import ctypes; pass
"""A two-pass kernel. Do not exec() or eval(); torch.matmul and system("x"); are not used."""
NOTE = "two-pass: try: exec(x) except: pass; subprocess; torch.cuda.Event; system(); fork();"
class Config: pass)",
                          R"("""docstring: torch.softmax(x) @ y, eval(), #include <thread> ;"""
        self.eval()
        self.train(False)
        # x = torch.matmul(x, x))")),
      "");
}

TEST(LintTest, NamesOfOnesOwnAreNotForbidden) {
  EXPECT_EQ(
      Describe(LintTriton("def compile(x): return x\ndef open(x): return compile(x)\n"
                          "class Timer:\n    def time(self, input, vars): return input, vars\n"
                          "v = open(3)\nt = Timer().time(1, 2)\ns = lambda eval: eval + 1\n"
                          "import re\np = re.compile('x')")),
      "");
}

TEST(LintTest, SetattrOnOwnObjectsIsFine) {
  EXPECT_EQ(Describe(LintTriton("", "", "setattr(self, 'scale', 1.0)\n        self.best = None")),
            "");
}

TEST(LintTest, FindingsAreSortedInvalidFirstAndBounded) {
  std::string many;
  for (int i = 0; i < 500; ++i) many += fmt::format("import module{}\n", i);
  const LintReport report = Lint(many);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].severity, LintFinding::Severity::kInvalid);
  EXPECT_LE(report.findings.size(), 65u);
  EXPECT_TRUE(std::is_sorted(report.findings.begin() + 1, report.findings.end(),
                             [](const auto& a, const auto& b) { return a.line < b.line; }));
}

}  // namespace
}  // namespace assay
