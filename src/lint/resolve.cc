#include "lint/resolve.h"

namespace assay::lint {
namespace {

// Longest chain of aliases, and most steps in all, that one question may take. Honest modules need
// a handful; the limits stop cycles and fans.
constexpr int kMaxDepth = 20;
constexpr int kMaxSteps = 96;
// A dotted path longer than this is no library's.
constexpr size_t kMaxPath = 200;

}  // namespace

Resolver::Resolver(const ParseTree& tree, const Names& names)
    : tree_(tree), names_(names), memo_(static_cast<size_t>(tree.size()), -1) {}

const Ref& Resolver::Resolve(NodeId expression) const {
  static const Ref unknown;
  if (expression == kNoNode) return unknown;
  int32_t& slot = memo_[static_cast<size_t>(expression)];
  if (slot < 0) {
    int budget = kMaxSteps;
    answers_.push_back(Compute(expression, 0, &budget));
    slot = static_cast<int32_t>(answers_.size()) - 1;
  }
  return answers_[static_cast<size_t>(slot)];
}

Ref Resolver::Member(NodeId class_node, std::string_view name) const {
  int budget = kMaxSteps;
  return MemberOf(class_node, name, 0, &budget);
}

Ref Resolver::Compute(NodeId expression, int depth, int* budget) const {
  expression = tree_.Unwrap(expression);
  if (expression == kNoNode || depth > kMaxDepth || --*budget < 0) return {};
  if (const int32_t known = memo_[static_cast<size_t>(expression)]; known >= 0)
    return answers_[static_cast<size_t>(known)];
  switch (tree_.kind(expression)) {
    case Kind::kIdentifier:
      return OfName(expression, depth, budget);
    case Kind::kAttribute: {
      const NodeId object = tree_.FirstChild(expression);
      const NodeId name = tree_.LastChild(expression);
      if (object == kNoNode || name == object) return {};
      return OfAttribute(Compute(object, depth + 1, budget), tree_.Text(name), depth, budget);
    }
    case Kind::kSubscript: {
      Ref value = Compute(tree_.FirstChild(expression), depth + 1, budget);
      if (value.external()) value.path += "[]";
      return value;  // kernel[grid] is the kernel, layers[0] a layer
    }
    case Kind::kCall:
      return OfCall(expression, depth, budget);
    case Kind::kLambda:
      return {Ref::What::kFunction, expression, {}};
    case Kind::kConditional:
    case Kind::kBooleanOperator:
      for (NodeId child = tree_.FirstChild(expression); child != kNoNode;
           child = tree_.NextSibling(child))
        if (Ref ref = Compute(child, depth + 1, budget); ref.known()) return ref;
      return {};
    case Kind::kNamedExpression:
      return Compute(tree_.LastChild(expression), depth + 1, budget);
    default:
      return {};
  }
}

Ref Resolver::OfName(NodeId identifier, int depth, int* budget) const {
  const std::string_view name = tree_.Text(identifier);
  int32_t at = names_.Lookup(name, names_.ScopeOf(identifier));
  if (at < 0) return {Ref::What::kBuiltin, kNoNode, std::string(name)};
  for (; at >= 0 && *budget > 0; at = names_.binding(at).next)
    if (Ref ref = OfBinding(names_.binding(at), depth, budget); ref.known()) return ref;
  return {};
}

Ref Resolver::OfBinding(const Binding& binding, int depth, int* budget) const {
  --*budget;
  switch (binding.what) {
    case Binding::What::kImport:
      return {Ref::What::kExternal, kNoNode, std::string(binding.path)};
    case Binding::What::kFunction:
      return {Ref::What::kFunction, binding.node, {}};
    case Binding::What::kClass:
      return {Ref::What::kClass, binding.node, {}};
    case Binding::What::kSelf:
      return {Ref::What::kInstance, binding.node, {}};
    case Binding::What::kValue:
      return Compute(binding.node, depth + 1, budget);
    case Binding::What::kElement: {
      // A part of a container keeps only what a container of modules says about its parts.
      Ref ref = Compute(binding.node, depth + 1, budget);
      return ref.what == Ref::What::kProduct ? ref : Ref{};
    }
    case Binding::What::kOpaque:
      return {};
  }
  return {};
}

Ref Resolver::OfAttribute(const Ref& object, std::string_view name, int depth, int* budget) const {
  switch (object.what) {
    case Ref::What::kExternal:
      if (object.path.size() + name.size() > kMaxPath) return {};
      return {Ref::What::kExternal, kNoNode, object.path + "." + std::string(name)};
    case Ref::What::kProduct:
      if (object.path.size() + name.size() > kMaxPath) return {};
      return {Ref::What::kProduct, object.node, object.path + "()." + std::string(name)};
    case Ref::What::kClass:
    case Ref::What::kInstance:
      return MemberOf(object.node, name, depth + 1, budget);
    default:
      return {};
  }
}

Ref Resolver::OfCall(NodeId call, int depth, int* budget) const {
  Ref callee = Compute(tree_.FirstChild(call), depth + 1, budget);
  switch (callee.what) {
    case Ref::What::kClass:
      return {Ref::What::kInstance, callee.node, {}};
    case Ref::What::kFunction: {
      if (tree_.kind(callee.node) == Kind::kLambda)
        return Compute(tree_.LastChild(callee.node), depth + 1, budget);
      const ScopeId scope = names_.OpenedBy(callee.node);
      if (scope < 0) return {};
      for (const NodeId statement : names_.scope(scope).returns) {
        if (*budget <= 0) break;
        Ref ref = Compute(tree_.FirstChild(statement), depth + 1, budget);
        if (ref.known()) return ref;
      }
      return {};
    }
    case Ref::What::kBuiltin:
      if (callee.path == "getattr") {
        const std::string_view name = Literal(Argument(call, 1));
        if (name.empty()) return {};
        return OfAttribute(Compute(Argument(call, 0), depth + 1, budget), name, depth, budget);
      }
      if (callee.path == "super") {
        const ScopeId scope = names_.ScopeOf(call);
        const ScopeId outer = scope >= 0 ? names_.scope(scope).parent : -1;
        if (outer < 0 || names_.scope(outer).type != Scope::Type::kClass) return {};
        for (const NodeId base : Bases(names_.scope(outer).node)) {
          const Ref ref = Compute(base, depth + 1, budget);
          if (ref.what == Ref::What::kClass) return {Ref::What::kInstance, ref.node, {}};
        }
      }
      return {};
    case Ref::What::kExternal:
      // Wrappers that give back what they are given.
      if (callee.path == "functools.partial" || callee.path == "triton.jit" ||
          callee.path == "functools.wraps" || callee.path == "torch.compile") {
        Ref inner = Compute(Argument(call, 0), depth + 1, budget);
        if (inner.known()) return inner;
      }
      return {Ref::What::kProduct, call, std::move(callee.path)};
    case Ref::What::kProduct:
      return callee;
    default:
      return {};
  }
}

Ref Resolver::MemberOf(NodeId class_node, std::string_view name, int depth, int* budget) const {
  if (depth > kMaxDepth || --*budget < 0) return {};
  const ScopeId scope = names_.OpenedBy(class_node);
  if (scope < 0) return {};
  for (int32_t at : {names_.In(scope, name), names_.Attribute(scope, name)})
    for (; at >= 0 && *budget > 0; at = names_.binding(at).next)
      if (Ref ref = OfBinding(names_.binding(at), depth, budget); ref.known()) return ref;
  for (const NodeId base : Bases(class_node)) {
    const Ref ref = Compute(base, depth + 1, budget);
    if (ref.what != Ref::What::kClass || ref.node == class_node) continue;
    if (Ref member = MemberOf(ref.node, name, depth + 1, budget); member.known()) return member;
  }
  return {};
}

NodeId Resolver::OwnMethod(NodeId class_node, std::string_view name) const {
  const ScopeId scope = names_.OpenedBy(class_node);
  if (scope < 0) return kNoNode;
  for (int32_t at = names_.In(scope, name); at >= 0; at = names_.binding(at).next)
    if (names_.binding(at).what == Binding::What::kFunction) return names_.binding(at).node;
  return kNoNode;
}

std::vector<NodeId> Resolver::Bases(NodeId class_node) const {
  std::vector<NodeId> bases;
  const NodeId list = tree_.ChildOf(class_node, Kind::kArgumentList);
  if (list == kNoNode) return bases;
  for (NodeId child = tree_.FirstChild(list); child != kNoNode; child = tree_.NextSibling(child))
    if (tree_.kind(child) != Kind::kKeywordArgument) bases.push_back(child);
  return bases;
}

std::string_view Resolver::Literal(NodeId string) const {
  if (string == kNoNode || tree_.kind(string) != Kind::kString) return {};
  const NodeId content = tree_.ChildOf(string, Kind::kStringContent);
  const NodeId start = tree_.FirstChild(string);
  if (content == kNoNode || start == kNoNode || tree_.FirstChild(content) != kNoNode) return {};
  if (tree_.NextSibling(start) != content) return {};
  return tree_.Text(content);
}

NodeId Resolver::Argument(NodeId call, int index) const {
  const NodeId list = tree_.LastChild(call);
  if (list == kNoNode || tree_.kind(list) != Kind::kArgumentList) return kNoNode;
  for (NodeId child = tree_.FirstChild(list); child != kNoNode; child = tree_.NextSibling(child)) {
    if (tree_.kind(child) == Kind::kKeywordArgument) continue;
    if (index-- == 0) return child;
  }
  return kNoNode;
}

}  // namespace assay::lint
