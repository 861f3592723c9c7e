#include "lint/names.h"

#include <utility>

namespace assay::lint {

Names::Names(const ParseTree& tree) : tree_(tree) {
  scope_of_.resize(static_cast<size_t>(tree.size()), kModuleScope);
  Open(Scope::Type::kModule, 0, -1);

  struct OpenScope {
    ScopeId id;
    NodeId end;
  };
  std::vector<OpenScope> open{{kModuleScope, tree.size()}};
  for (NodeId node = 0; node < tree.size(); ++node) {
    while (node >= open.back().end) open.pop_back();
    const ScopeId here = open.back().id;
    scope_of_[static_cast<size_t>(node)] = here;
    const Kind kind = tree.kind(node);
    if (kind == Kind::kFunction || kind == Kind::kLambda || kind == Kind::kClass) {
      const auto type = kind == Kind::kClass ? Scope::Type::kClass : Scope::Type::kFunction;
      open.push_back({Open(type, node, here), tree[node].next});
    }
  }
  for (NodeId node = 0; node < tree.size(); ++node) Visit(node);
}

ScopeId Names::Open(Scope::Type type, NodeId node, ScopeId parent) {
  const auto id = static_cast<ScopeId>(scopes_.size());
  scopes_.push_back({type, node, parent, {}});
  opened_by_[node] = id;
  return id;
}

ScopeId Names::OpenedBy(NodeId node) const {
  const auto found = opened_by_.find(node);
  return found != opened_by_.end() ? found->second : -1;
}

std::string_view Names::Keep(std::string text) { return kept_.emplace_back(std::move(text)); }

std::string_view Names::NameOf(NodeId definition) const {
  const NodeId name = tree_.ChildOf(definition, Kind::kIdentifier);
  return name != kNoNode ? tree_.Text(name) : std::string_view();
}

void Names::Bind(Table& table, ScopeId scope, std::string_view name, Binding binding) {
  const auto [slot, fresh] = table.try_emplace({scope, name}, -1);
  binding.next = slot->second;  // the latest first: it is what the name means at the end
  slot->second = static_cast<int32_t>(bindings_.size());
  bindings_.push_back(binding);
}

void Names::BindName(ScopeId scope, std::string_view name, Binding binding) {
  const auto redirect = redirects_.find({scope, name});
  if (redirect != redirects_.end()) scope = redirect->second;
  Bind(names_, scope, name, binding);
}

int32_t Names::In(ScopeId scope, std::string_view name) const {
  const auto found = names_.find({scope, name});
  return found != names_.end() ? found->second : -1;
}

int32_t Names::Lookup(std::string_view name, ScopeId from) const {
  for (ScopeId at = from; at >= 0; at = scope(at).parent) {
    if (at != from && scope(at).type == Scope::Type::kClass) continue;
    if (const int32_t found = In(at, name); found >= 0) return found;
  }
  return -1;
}

int32_t Names::Attribute(ScopeId class_scope, std::string_view name) const {
  const auto found = attributes_.find({class_scope, name});
  return found != attributes_.end() ? found->second : -1;
}

const std::vector<Binding>& Names::Members(std::string_view name) const {
  static const std::vector<Binding> none;
  const auto found = members_.find(name);
  return found != members_.end() ? found->second : none;
}

void Names::BindTarget(NodeId target, NodeId value, bool element) {
  // Nested targets are a work list; a pair is a target and what it is unpacked from.
  struct Item {
    NodeId target;
    NodeId value;
    bool element;
  };
  std::vector<Item> work{{target, value, element}};
  while (!work.empty()) {
    const Item item = work.back();
    work.pop_back();
    if (item.target == kNoNode) continue;
    const ScopeId scope = ScopeOf(item.target);
    const auto what = item.value == kNoNode ? Binding::What::kOpaque
                      : item.element        ? Binding::What::kElement
                                            : Binding::What::kValue;
    switch (tree_.kind(item.target)) {
      case Kind::kIdentifier:
        BindName(scope, tree_.Text(item.target), {what, item.value, {}, -1});
        break;
      case Kind::kAttribute: {
        const NodeId object = tree_.FirstChild(item.target);
        const NodeId name = tree_.LastChild(item.target);
        if (object == kNoNode || name == object) break;
        const int32_t base = Lookup(tree_.Text(object), scope);
        if (base < 0 || binding(base).what != Binding::What::kSelf) break;
        const ScopeId class_scope = OpenedBy(binding(base).node);
        Bind(attributes_, class_scope, tree_.Text(name), {what, item.value, {}, -1});
        members_[tree_.Text(name)].push_back({what, item.value, {}, -1});
        break;
      }
      case Kind::kPatternList:
      case Kind::kTuplePattern:
      case Kind::kListPattern:
      case Kind::kListSplatPattern:
      case Kind::kAsPatternTarget:
      case Kind::kTuple:
      case Kind::kList:
      case Kind::kExpressionList:
      case Kind::kParenthesized: {
        const bool alias = tree_.kind(item.target) == Kind::kAsPatternTarget;
        NodeId part = kNoNode;
        const bool literal = item.value != kNoNode && !item.element &&
                             (tree_.kind(item.value) == Kind::kExpressionList ||
                              tree_.kind(item.value) == Kind::kTuple);
        if (literal) part = tree_.FirstChild(item.value);
        for (NodeId child = tree_.FirstChild(item.target); child != kNoNode;
             child = tree_.NextSibling(child)) {
          if (part != kNoNode) {
            work.push_back({child, part, false});
            part = tree_.NextSibling(part);
          } else {
            work.push_back({child, item.value, item.element || !alias});
          }
        }
        break;
      }
      default:
        break;
    }
  }
}

void Names::BindParameters(NodeId function) {
  NodeId list = tree_.ChildOf(function, Kind::kParameters);
  if (list == kNoNode) list = tree_.ChildOf(function, Kind::kLambdaParameters);
  if (list == kNoNode) return;
  const ScopeId scope = OpenedBy(function);
  const ScopeId outer = this->scope(scope).parent;
  bool first =
      this->scope(outer).type == Scope::Type::kClass && tree_.kind(function) == Kind::kFunction;
  for (NodeId child = tree_.FirstChild(list); child != kNoNode; child = tree_.NextSibling(child)) {
    const NodeId name =
        tree_.kind(child) == Kind::kIdentifier ? child : tree_.ChildOf(child, Kind::kIdentifier);
    if (name == kNoNode) continue;
    Binding bound;
    if (first && name == child) bound = {Binding::What::kSelf, this->scope(outer).node, {}, -1};
    Bind(names_, scope, tree_.Text(name), bound);
    first = false;
  }
}

std::string Names::DottedText(NodeId dotted) const {
  std::string path;
  for (NodeId part = tree_.FirstChild(dotted); part != kNoNode; part = tree_.NextSibling(part)) {
    if (!path.empty()) path += '.';
    path += tree_.Text(part);
  }
  return path;
}

void Names::BindImport(NodeId statement) {
  const ScopeId scope = ScopeOf(statement);
  for (NodeId child = tree_.FirstChild(statement); child != kNoNode;
       child = tree_.NextSibling(child)) {
    if (tree_.kind(child) == Kind::kDottedName) {
      const NodeId head = tree_.FirstChild(child);
      if (head == kNoNode) continue;
      const std::string_view name = tree_.Text(head);
      BindName(scope, name, {Binding::What::kImport, child, name, -1});
    } else if (tree_.kind(child) == Kind::kAliasedImport) {
      const NodeId path = tree_.ChildOf(child, Kind::kDottedName);
      const NodeId alias = tree_.ChildOf(child, Kind::kIdentifier);
      if (path == kNoNode || alias == kNoNode) continue;
      BindName(scope, tree_.Text(alias),
               {Binding::What::kImport, child, Keep(DottedText(path)), -1});
    }
  }
}

void Names::BindImportFrom(NodeId statement) {
  const ScopeId scope = ScopeOf(statement);
  const NodeId module = tree_.FirstChild(statement);
  if (module == kNoNode) return;
  const bool relative = tree_.kind(module) == Kind::kRelativeImport;
  const std::string base = relative ? "." : DottedText(module);
  for (NodeId child = tree_.NextSibling(module); child != kNoNode;
       child = tree_.NextSibling(child)) {
    const Kind kind = tree_.kind(child);
    if (kind == Kind::kWildcardImport) star_imports_.push_back(statement);
    const NodeId path =
        kind == Kind::kAliasedImport ? tree_.ChildOf(child, Kind::kDottedName) : child;
    if (path == kNoNode || tree_.kind(path) != Kind::kDottedName) continue;
    const NodeId alias =
        kind == Kind::kAliasedImport ? tree_.ChildOf(child, Kind::kIdentifier) : path;
    if (alias == kNoNode) continue;
    BindName(scope, tree_.Text(alias),
             {Binding::What::kImport, child, Keep(base + "." + DottedText(path)), -1});
  }
}

void Names::BindAssignment(NodeId assignment) {
  const NodeId target = tree_.FirstChild(assignment);
  NodeId value = tree_.LastChild(assignment);
  if (target == kNoNode || value == target || tree_.kind(value) == Kind::kType) return;
  // In `a = b = v` the value of all is v; the inner assignments are visited right after the outer
  // one.
  if (tree_.kind(tree_.parent(assignment)) == Kind::kAssignment) {
    value = chain_value_;
  } else {
    while (tree_.kind(value) == Kind::kAssignment) {
      const NodeId inner = tree_.LastChild(value);
      if (inner == kNoNode) break;
      value = inner;
    }
    chain_value_ = value;
  }
  BindTarget(target, value, false);
}

void Names::Redirect(NodeId statement, bool global) {
  const ScopeId scope = ScopeOf(statement);
  for (NodeId child = tree_.FirstChild(statement); child != kNoNode;
       child = tree_.NextSibling(child)) {
    ScopeId target = kModuleScope;
    if (!global) {
      for (target = this->scope(scope).parent; target > kModuleScope;
           target = this->scope(target).parent)
        if (In(target, tree_.Text(child)) >= 0) break;
      if (target < 0) target = kModuleScope;
    }
    redirects_[{scope, tree_.Text(child)}] = target;
  }
}

void Names::Visit(NodeId node) {
  const ScopeId scope = ScopeOf(node);
  switch (tree_.kind(node)) {
    case Kind::kImport:
      BindImport(node);
      break;
    case Kind::kImportFrom:
      BindImportFrom(node);
      break;
    case Kind::kFunction: {
      functions_.push_back(node);
      const Binding bound{Binding::What::kFunction, node, {}, -1};
      BindName(scope, NameOf(node), bound);
      if (this->scope(scope).type == Scope::Type::kClass) members_[NameOf(node)].push_back(bound);
      BindParameters(node);
      break;
    }
    case Kind::kLambda:
      BindParameters(node);
      break;
    case Kind::kClass:
      classes_.push_back(node);
      BindName(scope, NameOf(node), {Binding::What::kClass, node, {}, -1});
      break;
    case Kind::kAssignment:
      BindAssignment(node);
      break;
    case Kind::kNamedExpression:
      BindTarget(tree_.FirstChild(node), tree_.LastChild(node), false);
      break;
    case Kind::kFor:
    case Kind::kForInClause: {
      const NodeId target = tree_.FirstChild(node);
      if (target != kNoNode) BindTarget(target, tree_.NextSibling(target), true);
      break;
    }
    case Kind::kAsPattern: {
      // `except E as e` and match patterns bind something else than the expression before `as`.
      const bool with = tree_.kind(tree_.parent(node)) == Kind::kWithItem;
      BindTarget(tree_.LastChild(node), with ? tree_.FirstChild(node) : kNoNode, false);
      break;
    }
    case Kind::kCasePattern: {
      const NodeId inner = tree_.FirstChild(node);
      if (inner != kNoNode && tree_.kind(inner) == Kind::kDottedName)
        BindTarget(tree_.FirstChild(inner), kNoNode, false);
      break;
    }
    case Kind::kGlobal:
      Redirect(node, true);
      break;
    case Kind::kNonlocal:
      Redirect(node, false);
      break;
    case Kind::kReturn:
      scopes_[static_cast<size_t>(scope)].returns.push_back(node);
      break;
    default:
      break;
  }
}

bool IsNameUse(const ParseTree& tree, NodeId identifier) {
  const NodeId parent = tree.parent(identifier);
  const bool first = tree.FirstChild(parent) == identifier;
  switch (tree.kind(parent)) {
    case Kind::kAttribute:
      return first;
    case Kind::kKeywordArgument:
    case Kind::kDefaultParameter:
      return !first;
    case Kind::kFunction:
    case Kind::kClass:
    case Kind::kParameters:
    case Kind::kTypedParameter:
    case Kind::kGlobal:
    case Kind::kNonlocal:
    case Kind::kDottedName:
      return false;
    default:
      return true;
  }
}

}  // namespace assay::lint
