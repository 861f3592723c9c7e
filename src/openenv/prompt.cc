#include "openenv/prompt.h"

#include "base/strings.h"

namespace assay::openenv {
namespace {

constexpr std::string_view kContract =
    R"(Rules
- Define a class `ModelNew` with the constructor and `forward` signature of `{entry}`. It is built with
  the reference's `get_init_inputs()` and called with inputs of the shapes and dtypes that
  `get_inputs()` makes. Parameters and buffers of the same names and shapes are copied from the
  reference, so keep their names.
- The computation of `forward` must happen in kernels that you write (Triton, or CUDA or C++ compiled
  with torch.utils.cpp_extension.load_inline). Allocating outputs and reshaping with PyTorch is fine;
  having PyTorch compute the result is not.
- The result must be right for other inputs than those of `get_inputs()`: values, special cases and
  random seeds are hidden. Outputs must have the reference's shapes and dtypes. Inputs must not be
  written.
- Errors are judged relative to the dtype: about 1e-4 for float32 and 1e-2 for float16 and bfloat16.
- Only correct submissions are timed: full calls with cold caches, next to the reference, with a clock
  outside your process. Caching results, skipping work, leaving work running after the call, or
  tampering with the measurement is detected and scores nothing.
)";

constexpr std::string_view kExample =
    R"(Example of an answer, for a reference that adds two vectors:
```python
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    a = tl.load(a_ptr + offsets, mask=inside)
    b = tl.load(b_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, a + b, mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        out = torch.empty_like(a)
        n = a.numel()
        add_kernel[(triton.cdiv(n, 1024),)](a, b, out, n, BLOCK=1024)
        return out
```
)";

/// A fence that the text cannot close.
std::string FenceFor(std::string_view text) {
  std::string fence = "```";
  while (text.find(fence) != std::string_view::npos) fence += '`';
  return fence;
}

std::string Machine(const json::object& hardware) {
  std::string text;
  for (const auto& [key, value] : hardware) {
    if (value.is_null() || value.is_structured()) continue;
    if (!text.empty()) text += ", ";
    text += std::string(key) + " " +
            (value.is_string() ? std::string(value.get_string()) : json::serialize(value));
  }
  return text;
}

std::string Contract(std::string_view entry) {
  std::string text(kContract);
  constexpr std::string_view kMark = "{entry}";
  text.replace(text.find(kMark), kMark.size(), entry);
  return text;
}

}  // namespace

std::string ContractText() { return Contract("Model"); }

std::string TaskPrompt(const Task& task, const PromptOptions& options) {
  std::string text =
      "You write GPU kernels. Replace the PyTorch module below by a faster one that computes the "
      "same.\n\n" +
      Contract(task.entry);
  const std::string hint = ToLower(options.backend_hint);
  if (!hint.empty() && hint != "auto") text += "- Write the kernels with: " + hint + ".\n";
  if (const std::string machine = Machine(options.hardware); !machine.empty())
    text += "\nMachine: " + machine + ".\n";
  const std::string fence = FenceFor(task.source);
  text += fmt::format("\nReference ({}):\n{}python\n{}{}{}\n\n", task.name, fence, task.source,
                      task.source.ends_with('\n') ? "" : "\n", fence);
  text += kExample;
  text += fmt::format(
      "\nAnswer with one ```python block that holds the whole module and is closed by ```. You "
      "have "
      "{} {}; after each you are told what was wrong or how fast it was.\n",
      options.max_turns, options.max_turns == 1 ? "submission" : "submissions");
  return text;
}

}  // namespace assay::openenv
