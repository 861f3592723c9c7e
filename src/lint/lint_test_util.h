#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "lint/lint.h"

namespace assay {

inline std::string Describe(const LintReport& report) {
  std::string text;
  for (const LintFinding& finding : report.findings)
    text += fmt::format("{}:{}: {}{}\n", finding.rule, finding.line, finding.reason,
                        finding.severity == LintFinding::Severity::kInvalid ? " [invalid]" : "");
  return text;
}

inline const LintFinding* Find(const LintReport& report, std::string_view rule) {
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
inline std::string Triton(std::string_view before = "", std::string_view forward = "",
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

inline LintReport LintTriton(std::string_view before, std::string_view forward = "",
                             std::string_view init = "") {
  return Lint(Triton(before, forward, init));
}

inline std::string Extension(std::string_view source, std::string_view extra = "") {
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

inline constexpr const char* kCuda = R"(#include <torch/extension.h>
__global__ void k(const float* x, float* y, int n) { if (n) y[0] = x[0]; }
torch::Tensor run(torch::Tensor x) { auto y = torch::empty_like(x); k<<<1, 1>>>(x.data_ptr<float>(), y.data_ptr<float>(), 1); return y; }
)";

}  // namespace assay
