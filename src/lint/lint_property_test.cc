// Whatever the text, lint ends soon, does not crash and keeps its report's promises.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "lint/cpp_scanner.h"
#include "lint/lint.h"

namespace assay {
namespace {

// CPU time. Sanitizers slow the passes tenfold; this still tells quadratic time from linear.
constexpr double kPatienceSeconds = 10;

double SecondsSince(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

constexpr std::string_view kSeed = R"py(import torch, os, sys
import torch.nn as nn
from torch.nn import functional as F
import triton, triton.language as tl
from torch.utils.cpp_extension import load_inline

SOURCE = r"""#include <torch/extension.h>
__global__ void k(float* x) { /* c */ x[0] = 1.f; asm("mov %clock"); }
torch::Tensor run(torch::Tensor x) { k<<<1,1>>>(x.data_ptr<float>()); return x; }"""

@triton.autotune(configs=[triton.Config({"B": 2})], key=["n"])
@triton.jit
def kernel(x, n, B: tl.constexpr):
    tl.store(x, tl.load(x) + n)

def cached():
    global ext
    ext = load_inline(name="e", cpp_sources=f"{SOURCE}\n", functions=["run"])
    return ext

class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, *, y=None):
        kernel[(1,)](x, 3, B=2)
        return x

class ModelNew(nn.Module):
    def __init__(self, a, b=2, *c, **d):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1, 2) for _ in range(3)])

    def forward(self, x):
        try:
            x = Fn.apply(x)
        except (ValueError, RuntimeError) as e:
            x = F.softmax(x @ x, dim=-1)
        for layer in self.layers:
            x = layer(x)
        with torch.cuda.stream(None) as s, open("x") as f:
            setattr(torch.cuda.Event, "x", sys.modules["y"])
        match x:
            case [a, {"b": c}, *r] if (n := a): return lambda z: cached().run(z)
        return x
)py";

void CheckReport(std::string_view source) {
  LintOptions options;
  options.forward_inputs = 1;
  const std::clock_t start = std::clock();
  const LintReport report = Lint(source, options);
  EXPECT_LT(SecondsSince(start), kPatienceSeconds) << source.substr(0, 200);
  const auto lines = std::count(source.begin(), source.end(), '\n') + 1;
  for (const LintFinding& finding : report.findings) {
    EXPECT_FALSE(finding.rule.empty());
    EXPECT_FALSE(finding.reason.empty());
    EXPECT_GE(finding.line, 0);
    EXPECT_LE(finding.line, lines);
  }
}

std::string Repeat(std::string_view unit, size_t count) {
  std::string text;
  text.reserve(unit.size() * count);
  for (size_t i = 0; i < count; ++i) text += unit;
  return text;
}

template <typename... Parts>
std::string Cat(const Parts&... parts) {
  std::string text;
  (text.append(parts), ...);
  return text;
}

TEST(LintPropertyTest, RandomBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::string text(random() % 2000, '\0');
    for (char& c : text) c = static_cast<char>(random());
    CheckReport(text);
  }
}

TEST(LintPropertyTest, RandomTokens) {
  const std::vector<std::string_view> tokens = {
      "def ",   "class ",  "f",      "self",    ".",       "(",      ")",       "[",     "]",
      "{",      "}",       ":",      "\n",      "\n    ",  "\n  ",   "=",       ":=",    "@",
      ",",      "*",       "**",     "\"",      "'",       "\"\"\"", "f\"{",    "r\"",   "\\",
      "#",      "import ", "from ",  "as ",     "lambda ", "try:",   "except ", "with ", "for ",
      "in ",    "if ",     "else ",  "global ", "return ", "1",      "x",       "torch", "ModelNew",
      "match ", "case ",   "async ", "await ",  "del ",    "\t",     "\r\n",    "é",     "__x__",
      "exec ",  "print ",  "/",      ";",       "->",      "..."};
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    std::string text;
    for (size_t i = random() % 400; i > 0; --i) text += tokens[random() % tokens.size()];
    CheckReport(text);
  }
}

TEST(LintPropertyTest, MutatedSources) {
  std::mt19937 random(3);
  for (int round = 0; round < 600; ++round) {
    std::string text(kSeed);
    for (size_t edits = 1 + random() % 8; edits > 0; --edits) {
      const size_t at = random() % text.size();
      const size_t length = 1 + random() % 30;
      switch (random() % 4) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        case 2:
          text[at] = static_cast<char>(32 + random() % 95);
          break;
        default:
          text.resize(std::max<size_t>(at, 1));
          break;
      }
      if (text.empty()) text.assign(1, 'x');
    }
    CheckReport(text);
  }
}

TEST(LintPropertyTest, EveryPrefix) {
  for (size_t length = 0; length <= kSeed.size(); length += 3) CheckReport(kSeed.substr(0, length));
}

TEST(LintPropertyTest, NestingBombs) {
  constexpr size_t kDeep = 100000;
  CheckReport(Cat("x = ", Repeat("(", kDeep), "1", Repeat(")", kDeep), "\n"));
  CheckReport(Repeat("[", 256u << 10));
  CheckReport(Repeat("(", 256u << 10));
  CheckReport(Repeat("{", 256u << 10));
  CheckReport(Repeat("]", 256u << 10));
  CheckReport(Cat("x = ", Repeat("f(", kDeep), Repeat(")", kDeep), "\n"));
  CheckReport(Cat("x = a", Repeat(".b", kDeep), "\n"));
  CheckReport(Cat("x = a", Repeat("[0]", 80000), "\n"));
  CheckReport(Cat("x = ", Repeat("not ", 60000), "1\n"));
  CheckReport(Cat("x = ", Repeat("-", 250000), "1\n"));
  CheckReport(Cat("x = ", Repeat("lambda: ", 30000), "1\n"));
  CheckReport(Cat("x = 1", Repeat(" + 1", 60000), "\n"));
  CheckReport(Cat(Repeat("a = ", 60000), "1\n"));
  CheckReport(Cat("x = ", Repeat("1 if a else ", 20000), "2\n"));
  CheckReport(Cat("x = ", Repeat("f\"{", 60000)));
  CheckReport(Cat("import a", Repeat(".b", kDeep), "\n"));
  CheckReport(Repeat("'", 256u << 10));
  CheckReport(Repeat("\\\n", 120000));
  CheckReport(Repeat("\n", 256u << 10));
  CheckReport(Repeat("#\n", 120000));
  std::string indented;
  for (size_t depth = 0; indented.size() < (250u << 10); ++depth)
    indented += std::string(depth, ' ') + "if x:\n";
  CheckReport(indented);
  std::string nested;
  for (size_t depth = 0; nested.size() < (250u << 10); ++depth)
    nested += fmt::format("{}def f{}(x):\n", std::string(depth, ' '), depth);
  CheckReport(Cat(nested, "\n"));
}

// Errors behind many tokens of which none was complete.
TEST(LintPropertyTest, UnfinishedText) {
  constexpr size_t kTokens = 59000;
  for (const std::string_view unit :
       {"[",    "(",        "{",        "f(", "(a",           "[1,",    "x[",
        "not ", "-",        "lambda:",  "a=", "1 if a else ", "f'{",    "a.",
        "a:=(", "[*",       "{**",      "@",  "if a:",        "def f(", "class A(",
        "try:", "match a:", "*",        "'",  "\\",           "$",      "1j",
        "\n",   "a\n",      "if a:\n ", "[]", "()()",         ")",      "x=[y for z in "}) {
    for (const std::string_view head : {"x = ", "$ "}) {
      for (const size_t divisor : {size_t{1}, size_t{4}})
        CheckReport(Cat(head, Repeat(unit, kTokens / divisor)));
    }
  }
}

// Shapes on which a careless pass over the tree would recurse too deep or take quadratic time.
TEST(LintPropertyTest, DeepTreesFansAndCycles) {
  CheckReport(Cat("x = ", Repeat("(", 25000), "1", Repeat(")", 25000), "\n"));
  CheckReport(Cat("x = ", Repeat("f(", 19000), Repeat(")", 19000), "\n"));
  CheckReport(Cat("x = a", Repeat(".b", 25000), "\n"));
  CheckReport(Cat("x = a", Repeat("()", 25000), "\n"));
  CheckReport(Cat("x = ", Repeat("lambda: ", 20000), "1\n"));
  CheckReport(Cat(Repeat("a = ", 25000), "1\n"));
  CheckReport("a = b\nb = c\nc = a\na.x = 1\nclass ModelNew(ModelNew): pass\n");
  CheckReport("def f(): return f()\nx = f()()()\nclass A(B): pass\nclass B(A): pass\nA().x.y\n");
  CheckReport(Repeat("a = a.b(a)\n", 5000));
  CheckReport(Cat("def f():\n", Repeat("  return a\n", 5000), Repeat("a = f()\n", 4000)));
  CheckReport(Cat("class ModelNew:\n  def forward(self):\n", Repeat("    self.x = y.x\n", 5000)));
  CheckReport(
      Cat("import triton\n@triton.jit\ndef k(): pass\nclass ModelNew:\n  def forward(self):\n",
          Repeat("    try: k()\n    except E: f()\n", 3000)));
  CheckReport(Cat("class A: pass\n", Repeat("class A(A): pass\n", 5000), "A().x\n"));
  CheckReport(Cat("import torch\n", Repeat("torch.a = torch.b\n", 5000)));
  CheckReport(Cat("x = (", Repeat("'#include <a> __global__ system(1);'\n", 3000), ")\n"));
}

TEST(LintPropertyTest, CppScannerOnAnything) {
  std::mt19937 random(4);
  const std::vector<std::string_view> tokens = {
      "R\"",    "(",  ")",       "\"",     "'",    "/*",      "*/",      "//", "\\",
      "\n",     "#",  "include", "<",      ">",    "define ", "static ", "*",  "asm",
      "%clock", "::", "std",     "thread", "1.e+", ";",       "{"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t i = random() % 100; i > 0; --i) text += tokens[random() % tokens.size()];
    for (const lint::CppFinding& finding : lint::ScanCpp(text).findings)
      EXPECT_LE(finding.offset, text.size());
  }
  for (const std::string_view unit : tokens) {
    const std::clock_t start = std::clock();
    lint::ScanCpp(Repeat(unit, (256u << 10) / unit.size()));
    EXPECT_LT(SecondsSince(start), kPatienceSeconds) << unit;
  }
}

}  // namespace
}  // namespace assay
