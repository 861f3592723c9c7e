// S4, S5 and the scheduling hints: which names the module uses and which it changes.
#include <fmt/format.h>

#include "lint/rules.h"
#include "lint/tables.h"

namespace assay::lint {
namespace {

/// Modules whose mere import says nothing: what is used of them is judged.
bool JudgedByUse(std::string_view path) {
  return path == "os" || path == "sys" || path == "threading" || path.starts_with("torch");
}

void AddForbidden(const Forbidden& entry, std::string_view shown, int line, Findings* findings) {
  findings->Add(entry.rule, line, fmt::format("{}: {}", shown, entry.reason));
}

/// A whole dotted chain or a bare imported name.
void CheckPathUse(std::string_view path, int line, Findings* findings, LintReport* report) {
  if (path.find('[') != std::string_view::npos) return;  // its unsubscripted part is judged
  if (IsStreamPath(path)) report->uses_streams = true;
  if (IsCompilerPath(path)) {
    report->uses_compile = true;
    findings->Add(
        "S8.compiler", line,
        fmt::format("{}: a compiler writes the kernels; write them yourself for credit as a "
                    "custom kernel",
                    path));
    return;
  }
  if (const Forbidden* entry = FindForbidden(path)) AddForbidden(*entry, path, line, findings);
}

void CheckAttribute(const Module& module, NodeId node, Findings* findings, LintReport* report) {
  const ParseTree& tree = module.tree;
  const NodeId last = tree.LastChild(node);
  const std::string_view name = tree.Text(last);
  const int line = tree.Line(node);
  if (IsFrameAttribute(name)) {
    findings->Add("S4.frames", line,
                  fmt::format("{}: walks frames or objects that are not yours; use your inputs and "
                              "parameters only",
                              name));
  } else if (name.starts_with("__") && name.ends_with("__") && !IsOrdinaryDunder(name)) {
    findings->Add(
        "S4.dunder", line,
        fmt::format("{}: reaches into Python's object model; use ordinary attributes", name));
  }
  const NodeId parent = tree.parent(node);
  if (tree.kind(parent) == Kind::kAttribute && tree.FirstChild(parent) == node) return;
  const Ref& ref = module.resolver.Resolve(node);
  if (ref.external()) CheckPathUse(ref.path, line, findings, report);
}

void CheckIdentifier(const Module& module, NodeId node, Findings* findings, LintReport* report) {
  const ParseTree& tree = module.tree;
  const NodeId parent = tree.parent(node);
  if (!IsNameUse(tree, node) || tree.kind(parent) == Kind::kAttribute) return;
  const std::string_view name = tree.Text(node);
  const int32_t at = module.names.Lookup(name, module.names.ScopeOf(node));
  if (at < 0) {
    if (const Forbidden* entry = FindForbiddenBuiltin(name))
      AddForbidden(*entry, name, tree.Line(node), findings);
  } else if (module.names.binding(at).what == Binding::What::kImport) {
    const std::string_view path = module.names.binding(at).path;
    if (path.find('.') != std::string_view::npos)
      CheckPathUse(path, tree.Line(node), findings, report);
  }
}

void CheckImportStatement(const Module& module, NodeId statement, Findings* findings) {
  const ParseTree& tree = module.tree;
  for (NodeId child = tree.FirstChild(statement); child != kNoNode;
       child = tree.NextSibling(child)) {
    NodeId path = child;
    if (tree.kind(child) == Kind::kAliasedImport) path = tree.ChildOf(child, Kind::kDottedName);
    if (path == kNoNode || tree.kind(path) != Kind::kDottedName) continue;
    const std::string_view text = tree.Text(path);
    const Forbidden* entry = JudgedByUse(text) ? nullptr : FindForbidden(text);
    if (entry != nullptr) AddForbidden(*entry, text, tree.Line(path), findings);
    if (tree.kind(statement) == Kind::kImportFrom) break;  // the others are its members
  }
}

void CheckClass(const Module& module, NodeId definition, Findings* findings) {
  for (const NodeId base : module.resolver.Bases(definition)) {
    const Ref& ref = module.resolver.Resolve(base);
    if (ref.external() && (ref.path == "torch.Tensor" || ref.path == "torch.nn.Parameter"))
      findings->Add("S4.lazy", module.tree.Line(definition),
                    fmt::format("{} derives from {}: outputs must be plain tensors; return those",
                                module.names.NameOf(definition), ref.path));
  }
}

constexpr const char* kPatchReason =
    "changes a module or class that is not yours; write your own function and call it";

/// Whether an assignment to an attribute or element of `object` changes someone else's module.
bool IsForeign(const Ref& object) { return object.external(); }

bool IsSettings(std::string_view path) {
  return path.starts_with("torch.backends") || path.starts_with("torch._dynamo.config") ||
         path.starts_with("torch._inductor.config");
}

void CheckTarget(const Module& module, NodeId target, Findings* findings) {
  const ParseTree& tree = module.tree;
  const int line = tree.Line(target);
  if (tree.kind(target) == Kind::kAttribute) {
    const Ref& object = module.resolver.Resolve(tree.FirstChild(target));
    if (!IsForeign(object)) return;
    const std::string path = object.path + "." + std::string(tree.Text(tree.LastChild(target)));
    if (IsSettings(object.path)) {
      findings->Add(
          "S5.setting", line,
          fmt::format("{}: changes a setting of the whole process, which the judge does not "
                      "share; choose the precision inside your kernel",
                      path));
    } else {
      findings->Add("S5.patch", line, fmt::format("{}: {}", path, kPatchReason));
    }
  } else if (tree.kind(target) == Kind::kSubscript) {
    const Ref& object = module.resolver.Resolve(tree.FirstChild(target));
    const bool globals =
        tree.kind(tree.FirstChild(target)) == Kind::kCall &&
        module.resolver.Resolve(tree.FirstChild(tree.FirstChild(target))).path == "globals";
    if (IsForeign(object) && (object.path == "sys.modules" || object.path.ends_with("__dict__")))
      findings->Add("S5.patch", line, fmt::format("{}: {}", object.path, kPatchReason));
    else if (globals)
      findings->Add("S5.patch", line, "globals(): edits names by text; assign to the name itself");
  }
}

/// `torch = Proxy(torch)`: an imported name that becomes something else.
void CheckRebinding(const Module& module, NodeId assignment, Findings* findings) {
  const ParseTree& tree = module.tree;
  const NodeId target = tree.FirstChild(assignment);
  const NodeId value = tree.LastChild(assignment);
  if (tree.kind(target) != Kind::kIdentifier || tree.kind(value) != Kind::kCall) return;
  // Within try and if it may be the stand-in for a module that is missing.
  const NodeId statement = tree.parent(assignment);
  if (statement == kNoNode || tree.parent(statement) != 0) return;
  int32_t at = module.names.In(kModuleScope, tree.Text(target));
  for (int steps = 0; at >= 0 && steps < 8; at = module.names.binding(at).next, ++steps) {
    if (module.names.binding(at).what != Binding::What::kImport) continue;
    findings->Add("S5.rebind", tree.Line(assignment),
                  fmt::format("{} is imported and then replaced; give your own object another name",
                              tree.Text(target)));
    return;
  }
}

void CheckPatchCall(const Module& module, NodeId call, Findings* findings) {
  const ParseTree& tree = module.tree;
  const Ref& callee = module.resolver.Resolve(tree.FirstChild(call));
  const int line = tree.Line(call);
  if (callee.what == Ref::What::kBuiltin &&
      (callee.path == "setattr" || callee.path == "delattr")) {
    const Ref& object = module.resolver.Resolve(module.resolver.Argument(call, 0));
    if (IsForeign(object))
      findings->Add("S5.patch", line,
                    fmt::format("{}({}): {}", callee.path, object.path, kPatchReason));
  } else if (callee.external() && (callee.path.starts_with("sys.modules.") ||
                                   callee.path.find(".__dict__.") != std::string::npos)) {
    findings->Add("S5.patch", line, fmt::format("{}: {}", callee.path, kPatchReason));
  } else if (callee.external() && IsGlobalSetting(callee.path)) {
    findings->Add(
        "S5.setting", line,
        fmt::format("{}: changes a setting of the whole process, which the judge does not "
                    "share; choose it inside your kernel",
                    callee.path));
  }
}

}  // namespace

void CheckNames(const Module& module, Findings* findings, LintReport* report) {
  const ParseTree& tree = module.tree;
  for (NodeId node = 0; node < tree.size(); ++node) {
    switch (tree.kind(node)) {
      case Kind::kIdentifier:
        CheckIdentifier(module, node, findings, report);
        break;
      case Kind::kAttribute:
        if (tree.FirstChild(node) != kNoNode) CheckAttribute(module, node, findings, report);
        break;
      case Kind::kImport:
      case Kind::kImportFrom:
        CheckImportStatement(module, node, findings);
        break;
      default:
        break;
    }
  }
  for (const NodeId definition : module.names.classes()) CheckClass(module, definition, findings);
  for (const NodeId function : module.names.functions()) {
    const std::string_view name = module.names.NameOf(function);
    if (name == "__torch_function__" || name == "__torch_dispatch__")
      findings->Add(
          "S4.lazy", tree.Line(function),
          fmt::format("{}: makes tensors that compute later; return plain tensors", name));
  }
}

void CheckPatches(const Module& module, Findings* findings) {
  const ParseTree& tree = module.tree;
  for (NodeId node = 0; node < tree.size(); ++node) {
    const Kind kind = tree.kind(node);
    if (kind == Kind::kCall) CheckPatchCall(module, node, findings);
    const NodeId first = tree.FirstChild(node);
    if (first == kNoNode) continue;
    if (kind == Kind::kAssignment || kind == Kind::kAugmentedAssignment || kind == Kind::kDelete) {
      CheckTarget(module, first, findings);
      const Kind group = tree.kind(first);
      if (group == Kind::kPatternList || group == Kind::kTuplePattern ||
          group == Kind::kExpressionList)
        for (NodeId part = tree.FirstChild(first); part != kNoNode; part = tree.NextSibling(part))
          CheckTarget(module, part, findings);
      if (kind == Kind::kAssignment) CheckRebinding(module, node, findings);
    }
  }
}

}  // namespace assay::lint
