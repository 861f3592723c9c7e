#include "lint/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lint/rules.h"

namespace assay {
namespace lint {
namespace {

// More than this teaches nobody.
constexpr size_t kMaxFindings = 64;

/// Offset of the first byte that is not valid UTF-8 or is NUL.
std::optional<size_t> FirstBadByte(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) -> uint32_t {
      return at < text.size() ? static_cast<uint8_t>(text[at]) : 0u;
    };
    const uint32_t lead = byte(i);
    if (lead == 0) return i;
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4) return i;
    for (size_t k = 1; k < length; ++k)
      if ((byte(i + k) & 0xC0u) != 0x80u) return i;
    const uint32_t second = byte(i + 1);
    // Overlong forms, surrogates and points above U+10FFFF.
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
      return i;
    i += length;
  }
  return std::nullopt;
}

LintReport Invalid(std::string rule, int line, std::string reason) {
  LintReport report;
  report.findings.push_back(
      {std::move(rule), LintFinding::Severity::kInvalid, line, std::move(reason)});
  return report;
}

void AddSyntaxFinding(const ParseTree& tree, Findings* findings) {
  findings->Add("S1.syntax", tree.Line(tree.first_error()),
                "looks like a syntax error; check brackets, quotes and indentation here");
}

}  // namespace

void Findings::Add(std::string_view rule, int line, std::string reason,
                   LintFinding::Severity severity) {
  if (findings_.size() >= kMaxFindings && severity != LintFinding::Severity::kInvalid) return;
  if (!seen_.insert(std::string(rule) + '\n' + reason).second) return;
  findings_.push_back({std::string(rule), severity, line, std::move(reason)});
}

std::vector<LintFinding> Findings::Take() {
  std::stable_sort(findings_.begin(), findings_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.severity, a.line) < std::pair(b.severity, b.line);
  });
  return std::move(findings_);
}

Module MakeModule(const ParseTree& tree, const Names& names, const Resolver& resolver,
                  const Kernels& kernels, const LintOptions& options) {
  Module module{tree, names, resolver, kernels, options, kNoNode, Reach(tree, names, resolver)};
  for (int32_t at = names.In(kModuleScope, "ModelNew"); at >= 0; at = names.binding(at).next) {
    const Binding& binding = names.binding(at);
    if (binding.what == Binding::What::kClass) module.model = binding.node;
    if (binding.what == Binding::What::kValue) {
      const Ref& ref = resolver.Resolve(binding.node);
      if (ref.what == Ref::What::kClass) module.model = ref.node;
    }
    if (module.model != kNoNode) break;
  }
  if (module.model == kNoNode) return module;
  module.from_forward.AddMember(module.model, "forward");
  module.from_forward.AddMember(module.model, "__call__");
  if (const NodeId init = resolver.OwnMethod(module.model, "__init__"); init != kNoNode)
    module.from_forward.AddClassesIn(init);
  return module;
}

}  // namespace lint

LintReport Lint(std::string_view source, const LintOptions& options) {
  using namespace lint;
  if (source.size() > options.max_bytes)
    return Invalid("S1.size", 0,
                   fmt::format("the submission has {} bytes, {} are allowed; shorten it",
                               source.size(), options.max_bytes));
  if (source.find_first_not_of(" \t\r\n\f") == std::string_view::npos)
    return Invalid("S1.empty", 0, "the submission is empty; send a Python module with ModelNew");
  if (const auto bad = FirstBadByte(source)) {
    const auto line =
        1 + std::count(source.begin(), source.begin() + static_cast<ptrdiff_t>(*bad), '\n');
    return Invalid("S1.encoding", static_cast<int>(line),
                   "not UTF-8 text without NUL bytes; send plain Python source");
  }

  LintReport report;
  const ParseTree tree = ParseTree::Parse(source);
  const Names names(tree);
  const Resolver resolver(tree, names);
  const Kernels kernels = FindKernels(tree, names, resolver);
  const Module module = MakeModule(tree, names, resolver, kernels, options);

  Findings findings;
  report.has_syntax_error = tree.has_error();
  report.uses_triton = kernels.triton;
  report.uses_extension = !kernels.extensions.empty();
  if (tree.has_error()) AddSyntaxFinding(tree, &findings);
  CheckModel(module, &findings);
  CheckImports(module, &findings);
  CheckNames(module, &findings, &report);
  CheckPatches(module, &findings);
  CheckHarness(module, &findings);
  const CppSources cpp = CheckCpp(module, &findings, &report);
  CheckKernels(module, cpp, &findings);
  CheckFallbacks(module, &findings);
  CheckLibrary(module, &findings);
  report.findings = findings.Take();
  return report;
}

}  // namespace assay
