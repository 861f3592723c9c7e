// S2, S6 and S7: which kernels do the work, what stands in for them, what the library does instead.
#include <fmt/format.h>

#include <algorithm>

#include "lint/rules.h"
#include "lint/tables.h"

namespace assay::lint {
namespace {

// Each try costs one walk over what its body leads to.
constexpr int kMaxTries = 16;
constexpr size_t kMaxOperations = 12;

/// Whether forward calls an operator that was registered with torch, whose function we cannot
/// follow.
bool CallsRegisteredOperator(const Module& module) {
  for (NodeId node = 0; node < module.tree.size(); ++node) {
    if (module.tree.kind(node) != Kind::kAttribute || !module.from_forward.Has(node)) continue;
    const Ref& ref = module.resolver.Resolve(node);
    if (ref.external() && ref.path.starts_with("torch.ops.") && !IsComputePath(ref.path))
      return true;
  }
  return false;
}

bool LeadsToKernel(const Module& module, NodeId region) {
  Reach reach(module.tree, module.names, module.resolver);
  reach.Add(region);
  return reach.HasKernel(module.kernels);
}

/// Whether a handler goes on without the kernel: not when it raises, tries the next configuration
/// or launches a kernel itself.
bool IsAlternative(const Module& module, NodeId clause) {
  const NodeId block = module.tree.ChildOf(clause, Kind::kBlock);
  if (block == kNoNode) return false;
  const NodeId last = module.tree.LastChild(block);
  if (last == kNoNode || module.tree.kind(last) == Kind::kRaise) return false;
  if (module.tree.Text(last) == "continue") return false;
  return !LeadsToKernel(module, block);
}

/// The library operation that a call performs; empty if it performs none.
std::string OperationOf(const Module& module, NodeId call) {
  const ParseTree& tree = module.tree;
  const NodeId function = tree.FirstChild(call);
  if (function == kNoNode) return {};
  const Ref& callee = module.resolver.Resolve(function);
  if (callee.external()) return IsComputePath(callee.path) ? callee.path : std::string();
  if (callee.what == Ref::What::kProduct && IsComputeModule(callee.path)) return callee.path;
  if (tree.kind(function) != Kind::kAttribute) return {};
  const std::string_view name = tree.Text(tree.LastChild(function));
  if (!IsComputeMethod(name)) return {};
  const Ref& object = module.resolver.Resolve(tree.FirstChild(function));
  // What a builder of extensions returns has functions of the submission's own under any name.
  const bool tensor = object.what == Ref::What::kUnknown ||
                      (object.what == Ref::What::kProduct && object.path.starts_with("torch.") &&
                       !IsExtensionBuilder(object.path.substr(0, object.path.find('('))));
  return tensor ? fmt::format("Tensor.{}", name) : std::string();
}

bool InConstructor(const Module& module, NodeId node) {
  const Scope& scope = module.names.scope(module.names.ScopeOf(node));
  return scope.type == Scope::Type::kFunction && module.tree.kind(scope.node) == Kind::kFunction &&
         module.names.NameOf(scope.node) == "__init__";
}

}  // namespace

void CheckKernels(const Module& module, const CppSources& cpp, Findings* findings) {
  if (module.tree.has_error()) return;  // what is missing may be what the parser lost
  const Kernels& kernels = module.kernels;
  if (kernels.none()) {
    findings->Add(
        "S2.no_kernel", 0,
        "defines no custom kernel; write a @triton.jit function or a load_inline extension "
        "and launch it from ModelNew.forward");
    return;
  }
  if (kernels.functions.empty() && cpp.any && !cpp.has_kernel && !cpp.has_loop) {
    findings->Add("S2.wrapper", module.tree.Line(kernels.extensions.front()),
                  "the extension has neither a __global__ function nor a loop: it only calls the "
                  "library; write the kernel yourself");
    return;
  }
  if (module.model == kNoNode || module.from_forward.HasKernel(kernels)) return;
  if (CallsRegisteredOperator(module)) return;
  const NodeId first =
      kernels.functions.empty() ? kernels.extensions.front() : kernels.functions.front();
  findings->Add("S2.decoy", module.tree.Line(first),
                "custom kernels are defined, but ModelNew.forward never leads to one; launch them "
                "from forward");
}

void CheckFallbacks(const Module& module, Findings* findings) {
  if (module.kernels.none()) return;
  const ParseTree& tree = module.tree;
  int tries = 0;
  for (NodeId node = 0; node < tree.size() && tries < kMaxTries; ++node) {
    if (tree.kind(node) == Kind::kTry) {
      const NodeId body = tree.ChildOf(node, Kind::kBlock);
      if (body == kNoNode || tree.ChildOf(node, Kind::kExceptClause) == kNoNode) continue;
      ++tries;
      if (!LeadsToKernel(module, body)) continue;
      for (NodeId clause = tree.FirstChild(node); clause != kNoNode;
           clause = tree.NextSibling(clause)) {
        if (tree.kind(clause) != Kind::kExceptClause || ++tries > 2 * kMaxTries) continue;
        if (!IsAlternative(module, clause)) continue;
        findings->Add(
            "S6.fallback", tree.Line(clause),
            "if the kernel fails, this handler goes on without it and hides the error; let "
            "the exception out, so that you see it");
        break;
      }
    } else if (tree.kind(node) == Kind::kWithItem && tree.FirstChild(node) != kNoNode) {
      const NodeId call = tree.FirstChild(node);
      if (tree.kind(call) != Kind::kCall) continue;
      const Ref& callee = module.resolver.Resolve(tree.FirstChild(call));
      if (!callee.external() || callee.path != "contextlib.suppress") continue;
      ++tries;
      const NodeId statement = tree.parent(tree.parent(node));
      const NodeId body = statement != kNoNode ? tree.ChildOf(statement, Kind::kBlock) : kNoNode;
      if (body != kNoNode && LeadsToKernel(module, body))
        findings->Add("S6.fallback", tree.Line(node),
                      "suppresses the kernel's errors; let the exception out, so that you see it");
    }
  }
}

void CheckLibrary(const Module& module, Findings* findings) {
  if (module.model == kNoNode) return;
  const ParseTree& tree = module.tree;
  std::vector<std::pair<std::string, int>> operations;
  const auto add = [&](std::string operation, int line) {
    const bool known = std::any_of(operations.begin(), operations.end(),
                                   [&](const auto& seen) { return seen.first == operation; });
    if (!known) operations.emplace_back(std::move(operation), line);
  };
  for (const NodeId base : module.resolver.Bases(module.model)) {
    const Ref& ref = module.resolver.Resolve(base);
    if (ref.external() && IsComputeModule(ref.path)) add(ref.path, tree.Line(base));
  }
  for (NodeId node = 0; node < tree.size() && operations.size() < kMaxOperations; ++node) {
    if (!module.from_forward.Has(node) || module.kernels.inside[static_cast<size_t>(node)])
      continue;
    const Kind kind = tree.kind(node);
    if (kind != Kind::kCall && kind != Kind::kAt) continue;
    if (InConstructor(module, node)) continue;
    if (kind == Kind::kAt) {
      const Kind parent = tree.kind(tree.parent(node));
      if (parent == Kind::kBinaryOperator || parent == Kind::kAugmentedAssignment)
        add("the @ operator", tree.Line(node));
    } else if (std::string operation = OperationOf(module, node); !operation.empty()) {
      add(std::move(operation), tree.Line(node));
    }
  }
  if (operations.empty()) return;
  std::string list;
  for (const auto& [name, line] : operations)
    list += fmt::format("{}{} (line {})", list.empty() ? "" : ", ", name, line);
  findings->Add(
      "S7.library", operations.front().second,
      fmt::format("library operations do part of the work: {}; time spent in them earns no "
                  "credit as a custom kernel",
                  list));
}

}  // namespace assay::lint
