#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lint/parse_tree.h"

namespace assay::lint {

using ScopeId = int32_t;
inline constexpr ScopeId kModuleScope = 0;

/// What a name was bound to in one place.
struct Binding {
  enum class What : uint8_t {
    kImport,    ///< `path` is the dotted module or member
    kFunction,  ///< `node` is the definition
    kClass,     ///< `node` is the definition
    kValue,     ///< `node` is the expression assigned
    kElement,   ///< `node` is an expression of which this is a part: loop variables, unpacking
    kSelf,      ///< first parameter of a method; `node` is the class definition
    kOpaque,    ///< bound, nothing known: parameters, exceptions, patterns
  };
  What what = What::kOpaque;
  NodeId node = kNoNode;
  std::string_view path;
  int32_t next = -1;  ///< next binding of the same name in the same scope
};

struct Scope {
  enum class Type : uint8_t { kModule, kClass, kFunction };
  Type type = Type::kModule;
  NodeId node = 0;  ///< module, class, function or lambda
  ScopeId parent = -1;
  std::vector<NodeId> returns;  ///< of a function: its own return statements
};

/// Scopes, bindings and instance attributes of a module, by Python's rules: a function's names hide
/// the enclosing ones, class scopes are invisible to the functions in them, `global` and `nonlocal`
/// redirect. Comprehension variables count as their surrounding scope's.
class Names {
 public:
  explicit Names(const ParseTree& tree);

  [[nodiscard]] const Scope& scope(ScopeId id) const { return scopes_[static_cast<size_t>(id)]; }
  [[nodiscard]] ScopeId ScopeOf(NodeId node) const { return scope_of_[static_cast<size_t>(node)]; }
  /// The scope that a class, function or lambda opens; -1 for other nodes.
  [[nodiscard]] ScopeId OpenedBy(NodeId node) const;
  [[nodiscard]] const Binding& binding(int32_t id) const {
    return bindings_[static_cast<size_t>(id)];
  }

  [[nodiscard]] size_t binding_count() const { return bindings_.size(); }

  /// First binding of a name as seen from a scope, following Python's lookup order; -1 if unbound.
  [[nodiscard]] int32_t Lookup(std::string_view name, ScopeId from) const;
  /// First binding in exactly that scope; -1 if none.
  [[nodiscard]] int32_t In(ScopeId scope, std::string_view name) const;
  /// First binding of `self.<name> = …` in the methods of the class that opens `class_scope`.
  [[nodiscard]] int32_t Attribute(ScopeId class_scope, std::string_view name) const;
  /// Every value ever assigned to `self.<name>` or method of that name, in any class.
  [[nodiscard]] const std::vector<Binding>& Members(std::string_view name) const;

  /// Nodes of `from x import *`.
  [[nodiscard]] const std::vector<NodeId>& star_imports() const { return star_imports_; }
  [[nodiscard]] const std::vector<NodeId>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<NodeId>& classes() const { return classes_; }
  [[nodiscard]] std::string_view NameOf(NodeId definition) const;

 private:
  struct Key {
    ScopeId scope;
    std::string_view name;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()(key.name) * 31u + static_cast<size_t>(key.scope);
    }
  };
  using Table = std::unordered_map<Key, int32_t, KeyHash>;

  ScopeId Open(Scope::Type type, NodeId node, ScopeId parent);
  void Bind(Table& table, ScopeId scope, std::string_view name, Binding binding);
  void BindName(ScopeId scope, std::string_view name, Binding binding);
  void BindTarget(NodeId target, NodeId value, bool element);
  void BindParameters(NodeId function);
  void BindImport(NodeId statement);
  void BindImportFrom(NodeId statement);
  void BindAssignment(NodeId assignment);
  void Redirect(NodeId statement, bool global);
  void Visit(NodeId node);
  std::string_view Keep(std::string text);
  std::string DottedText(NodeId dotted) const;

  const ParseTree& tree_;
  std::vector<Scope> scopes_;
  std::vector<ScopeId> scope_of_;
  std::vector<Binding> bindings_;
  Table names_;
  Table attributes_;
  Table redirects_;  // value: the scope that `global` and `nonlocal` name
  std::unordered_map<NodeId, ScopeId> opened_by_;
  std::unordered_map<std::string_view, std::vector<Binding>> members_;
  NodeId chain_value_ = kNoNode;  // of the assignment statement that is being visited
  std::vector<NodeId> star_imports_;
  std::vector<NodeId> functions_;
  std::vector<NodeId> classes_;
  std::deque<std::string> kept_;  // dotted paths, which bindings view
};

/// Whether an identifier stands for itself, not as the name after a dot, of a keyword or
/// definition.
bool IsNameUse(const ParseTree& tree, NodeId identifier);

}  // namespace assay::lint
