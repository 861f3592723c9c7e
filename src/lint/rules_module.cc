// S1, S3 and S8: what the module is, imports and defines.
#include <fmt/format.h>

#include <algorithm>

#include "lint/rules.h"
#include "lint/tables.h"

namespace assay::lint {
namespace {

/// Whether the module may bind names that the text does not show.
bool BindsDynamically(const Module& module) {
  if (!module.names.star_imports().empty()) return true;
  for (NodeId node = 0; node < module.tree.size(); ++node) {
    if (module.tree.kind(node) != Kind::kIdentifier) continue;
    const std::string_view text = module.tree.Text(node);
    if (text == "exec" || text == "eval" || text == "globals" || text == "locals" ||
        text == "vars" || text == "setattr" || text == "__dict__" || text == "__import__" ||
        text == "__getattr__")
      return true;
  }
  return false;
}

/// How many positional arguments a function takes.
struct Arity {
  int least = 0;
  int most = 0;         ///< -1: any number
  std::string keyword;  ///< a keyword-only parameter without default, if there is one
};

Arity ArityOf(const ParseTree& tree, NodeId function) {
  Arity arity;
  bool keyword_only = false;
  const NodeId list = tree.ChildOf(function, Kind::kParameters);
  if (list == kNoNode) return {0, -1, {}};
  for (NodeId child = tree.FirstChild(list); child != kNoNode; child = tree.NextSibling(child)) {
    Kind kind = tree.kind(child);
    // `*args: int` is a typed parameter around a splat.
    if (kind == Kind::kTypedParameter && tree.FirstChild(child) != kNoNode) {
      const Kind inner = tree.kind(tree.FirstChild(child));
      if (inner == Kind::kListSplatPattern || inner == Kind::kDictSplatPattern) kind = inner;
    }
    switch (kind) {
      case Kind::kKeywordSeparator:
        keyword_only = true;
        break;
      case Kind::kListSplatPattern:
        keyword_only = true;
        arity.most = -1;
        break;
      case Kind::kIdentifier:
      case Kind::kTypedParameter:
        if (keyword_only) {
          arity.keyword = tree.Text(child);
        } else {
          ++arity.least;
          if (arity.most >= 0) ++arity.most;
        }
        break;
      case Kind::kDefaultParameter:
      case Kind::kTypedDefaultParameter:
        if (!keyword_only && arity.most >= 0) ++arity.most;
        break;
      default:
        break;
    }
  }
  return arity;
}

/// The forward whose parameters are surely those of the call; kNoNode when anything may change
/// them.
NodeId PlainForward(const Module& module) {
  const ParseTree& tree = module.tree;
  const Names& names = module.names;
  const NodeId model = module.model;
  if (model == kNoNode || tree.kind(tree.parent(model)) != Kind::kModule) return kNoNode;
  const int32_t only = names.In(kModuleScope, "ModelNew");
  if (only < 0 || names.binding(only).what != Binding::What::kClass ||
      names.binding(only).next >= 0 || names.binding(only).node != model)
    return kNoNode;
  const NodeId arguments = tree.ChildOf(model, Kind::kArgumentList);
  if (arguments != kNoNode && tree.ChildOf(arguments, Kind::kKeywordArgument) != kNoNode)
    return kNoNode;  // a metaclass
  const ScopeId scope = names.OpenedBy(model);
  const int32_t forward = names.In(scope, "forward");
  if (forward < 0 || names.binding(forward).what != Binding::What::kFunction ||
      names.binding(forward).next >= 0 || names.Attribute(scope, "forward") >= 0 ||
      names.In(scope, "__call__") >= 0)
    return kNoNode;
  const NodeId function = names.binding(forward).node;
  const NodeId block = tree.parent(function);  // a decorated one has another parent
  if (tree.kind(block) != Kind::kBlock || tree.parent(block) != model) return kNoNode;
  // `ModelNew.forward = …` and the like.
  for (NodeId node = 0; node < tree.size(); ++node) {
    if (tree.kind(node) != Kind::kAssignment) continue;
    const NodeId target = tree.FirstChild(node);
    if (target == kNoNode || tree.kind(target) != Kind::kAttribute) continue;
    const std::string_view text = tree.Text(target);
    if (text.ends_with("forward") || text.ends_with("__call__")) return kNoNode;
  }
  return function;
}

void CheckArity(const Module& module, Findings* findings) {
  const int inputs = module.options.forward_inputs;
  if (inputs < 0) return;
  const NodeId forward = PlainForward(module);
  if (forward == kNoNode) return;
  const Arity arity = ArityOf(module.tree, forward);
  const int given = inputs + 1;  // self
  std::string problem;
  if (!arity.keyword.empty()) {
    problem = fmt::format("requires the keyword-only argument '{}'", arity.keyword);
  } else if (given < arity.least) {
    problem = fmt::format("requires {} inputs", arity.least - 1);
  } else if (arity.most == 0) {
    problem = "takes no self";
  } else if (arity.most >= 0 && given > arity.most) {
    problem = fmt::format("takes at most {} inputs", arity.most - 1);
  }
  if (problem.empty()) return;
  findings->Add("S1.arity", module.tree.Line(forward),
                fmt::format("ModelNew.forward {}, but the reference's forward gets {}; give it the "
                            "reference's parameters, in their order",
                            problem, inputs),
                LintFinding::Severity::kInvalid);
}

void CheckPath(std::string_view path, int line, Findings* findings) {
  const std::string_view root = path.substr(0, path.find('.'));
  if (FindForbidden(path) != nullptr) return;  // S4 speaks
  if (IsAllowedImport(root)) return;
  findings->Add(
      "S3.import", line,
      fmt::format("imports {}, which may be missing where the kernel is judged; use torch, "
                  "triton, numpy and the standard library's pure parts",
                  root));
}

}  // namespace

void CheckModel(const Module& module, Findings* findings) {
  // The grammar may be older than the Python that runs the text: with an error nothing is certain.
  if (module.tree.has_error()) return;
  if (module.names.In(kModuleScope, "ModelNew") < 0 && !BindsDynamically(module)) {
    findings->Add("S1.no_model", 0,
                  "defines no ModelNew; define `class ModelNew(nn.Module)` at module level",
                  LintFinding::Severity::kInvalid);
    return;
  }
  CheckArity(module, findings);
}

/// Whether a name below `node` is one that `import` takes, as it is or under another name.
bool IsImported(const ParseTree& tree, NodeId node) {
  if (tree.kind(node) == Kind::kAliasedImport) node = tree.parent(node);
  return tree.kind(node) == Kind::kImport;
}

void CheckImports(const Module& module, Findings* findings) {
  const ParseTree& tree = module.tree;
  for (const NodeId statement : module.names.star_imports())
    findings->Add(
        "S3.star", tree.Line(statement),
        "imports everything with *; name what you use, so that readers and checks see it");
  for (NodeId node = 0; node < tree.size(); ++node) {
    const Kind kind = tree.kind(node);
    if (kind == Kind::kRelativeImport) {
      findings->Add("S3.relative", tree.Line(node),
                    "relative import; a submission is one file, put everything into it");
    } else if (kind == Kind::kDottedName && IsImported(tree, tree.parent(node))) {
      CheckPath(tree.Text(node), tree.Line(node), findings);
    } else if (kind == Kind::kImportFrom) {
      const NodeId from = tree.FirstChild(node);
      if (from != kNoNode && tree.kind(from) == Kind::kDottedName)
        CheckPath(tree.Text(from), tree.Line(node), findings);
    }
  }
}

void CheckHarness(const Module& module, Findings* findings) {
  const ParseTree& tree = module.tree;
  const Names& names = module.names;
  for (const std::string_view name : {"Model", "get_inputs", "get_init_inputs"}) {
    const int32_t at = names.In(kModuleScope, name);
    if (at < 0 || names.binding(at).node == kNoNode) continue;
    findings->Add(
        "S8.harness", tree.Line(names.binding(at).node),
        fmt::format("defines {}, which the judge takes from the task; leave it out", name));
  }
  const auto is_reference = [&](NodeId expression) {
    expression = tree.Unwrap(expression);
    return expression != kNoNode && tree.kind(expression) == Kind::kIdentifier &&
           tree.Text(expression) == "Model";
  };
  for (const NodeId definition : names.classes())
    for (const NodeId base : module.resolver.Bases(definition))
      if (is_reference(base))
        findings->Add("S8.reference", tree.Line(definition),
                      fmt::format("{} derives from the reference Model; derive from nn.Module and "
                                  "compute the result with your own kernels",
                                  names.NameOf(definition)));
  for (NodeId node = 0; node < tree.size(); ++node)
    if (tree.kind(node) == Kind::kCall && is_reference(tree.FirstChild(node)))
      findings->Add("S8.reference", tree.Line(node),
                    "builds the reference Model; compute the result with your own kernels");
}

}  // namespace assay::lint
