#pragma once

#include <string_view>
#include <unordered_set>
#include <vector>

#include "lint/names.h"
#include "lint/parse_tree.h"
#include "lint/resolve.h"

namespace assay::lint {

/// The custom kernels of a module.
struct Kernels {
  std::vector<NodeId> functions;   ///< definitions that a kernel compiler (triton.jit, …) wraps
  std::vector<NodeId> extensions;  ///< calls that build C++ or CUDA (load_inline, RawKernel, …)
  std::vector<bool> inside;        ///< by node: within one of `functions`
  bool triton = false;             ///< one of `functions` is Triton's

  [[nodiscard]] bool none() const { return functions.empty() && extensions.empty(); }
};

Kernels FindKernels(const ParseTree& tree, const Names& names, const Resolver& resolver);

/// Whether a dotted path is a call that compiles C++ or CUDA source (or loads what was compiled).
bool IsExtensionBuilder(std::string_view path);

/// What a piece of code may lead to within the module. It over-approximates, so that honest code is
/// never called a decoy: mentioning a function counts as calling it, and an attribute of an unknown
/// object may be any member of that name.
class Reach {
 public:
  Reach(const ParseTree& tree, const Names& names, const Resolver& resolver);

  /// Adds a statement, expression, function or class, and all it leads to.
  void Add(NodeId region);
  /// Adds a class as its caller uses it: construction, call, forward and backward.
  void AddClass(NodeId class_node);
  /// Adds a method or attribute of a class, looked up in its bases too.
  void AddMember(NodeId class_node, std::string_view name);
  /// Adds only the classes that a region mentions (what a constructor stores in ways we do not
  /// see).
  void AddClassesIn(NodeId region);

  [[nodiscard]] bool Has(NodeId node) const { return reached_[static_cast<size_t>(node)]; }
  [[nodiscard]] bool HasKernel(const Kernels& kernels) const;

 private:
  void Push(NodeId region);
  void PushBinding(const Binding& binding);
  void PushChain(int32_t first);
  void PushMember(NodeId class_node, std::string_view name);
  void PushAttributes(NodeId class_node);
  void Drain();
  void VisitName(NodeId node);
  void VisitAttribute(NodeId node);
  void VisitCall(NodeId node);

  const ParseTree& tree_;
  const Names& names_;
  const Resolver& resolver_;
  std::vector<bool> reached_;
  std::vector<bool> class_reached_;
  std::vector<bool> chain_reached_;                    // by first binding of a name
  std::unordered_set<std::string_view> member_names_;  // of unknown objects
  std::vector<NodeId> work_;
};

}  // namespace assay::lint
