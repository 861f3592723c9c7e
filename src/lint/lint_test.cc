#include "lint/lint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lint/lint_test_util.h"

namespace assay {
namespace {

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
  const char* replaced =
      "class ModelNew(nn.Module):\n    def __init__(self): self.forward = f\n"
      "    def forward(self, x): return x\n";
  for (const char* other : {
           "class ModelNew(Base):\n    pass\n",
           "class ModelNew(nn.Module):\n    @wrap\n    def forward(self, x): return x\n",
           replaced,
           "class ModelNew(nn.Module, metaclass=M):\n    def forward(self, x): return x\n",
           "@wrap\nclass ModelNew(nn.Module):\n    def forward(self, x): return x\n",
           "if A:\n    class ModelNew(nn.Module):\n        def forward(self, x): return x\n",
           "class A(nn.Module):\n    def forward(self, x): return x\nModelNew = A\n",
           "class ModelNew(nn.Module):\n    def forward(self, x): return x\n    forward = g\n",
           "class ModelNew(nn.Module):\n    def forward(self, x): return x\nModelNew.forward = g\n",
           "class ModelNew(nn.Module):\n    if A:\n        def forward(self, x): return x\n",
           ("class ModelNew(nn.Module):\n    def forward(self, x): return x\n"
            "    def __call__(self, *a): return 1\n"),
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

TEST(LintTest, AnyAmountOfDamageIsOneSyntaxError) {
  const LintReport report = Lint(std::string(100000, '['));
  EXPECT_RULE(report, "S1.syntax", 1);
  EXPECT_TRUE(report.has_syntax_error);
  EXPECT_FALSE(report.invalid());
}

TEST(LintTest, TheLinesAroundASyntaxErrorAreChecked) {
  const LintReport report =
      LintTriton("import ctypes\nx = (1,\ndef f(a b):\n    exec('')\nimport gc");
  EXPECT_RULE(report, "S1.syntax", 6);
  EXPECT_RULE(report, "S4.forbidden", 5);
  EXPECT_RULE(report, "S4.builtin", 8);
  EXPECT_RULE(LintTriton("print 'x'\nexec 'x'"), "S4.builtin", 6);
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
