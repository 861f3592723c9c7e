#pragma once

#include <string>
#include <vector>

#include "lint/names.h"
#include "lint/parse_tree.h"

namespace assay::lint {

/// What an expression stands for, as far as the text says.
struct Ref {
  enum class What : uint8_t {
    kUnknown,
    kBuiltin,   ///< `path` is a name bound nowhere in the module
    kExternal,  ///< `path` is a module or member of one ("torch.nn.functional.relu")
    kProduct,   ///< the result of calling external `path`, or a member of it; `node` is the call
    kFunction,  ///< `node` is the definition or lambda
    kClass,     ///< `node` is the definition
    kInstance,  ///< of the class defined at `node`
  };
  What what = What::kUnknown;
  NodeId node = kNoNode;
  std::string path;

  [[nodiscard]] bool known() const { return what != What::kUnknown; }
  [[nodiscard]] bool external() const { return what == What::kExternal; }
};

/// Follows imports, aliases, instance attributes and simple returns. Every question has a bounded
/// number of steps, so no text can make it slow; an answer it does not reach is kUnknown.
class Resolver {
 public:
  Resolver(const ParseTree& tree, const Names& names);

  /// The answer is remembered; the reference is valid as long as the Resolver.
  const Ref& Resolve(NodeId expression) const;

  /// Method or attribute of a class defined in the module, looked up in its bases too.
  [[nodiscard]] Ref Member(NodeId class_node, std::string_view name) const;
  /// The function a class has under that name in its own body; kNoNode if none.
  [[nodiscard]] NodeId OwnMethod(NodeId class_node, std::string_view name) const;
  /// Expressions of a class's bases.
  [[nodiscard]] std::vector<NodeId> Bases(NodeId class_node) const;
  /// Text of a plain string literal without escapes; empty for anything else.
  [[nodiscard]] std::string_view Literal(NodeId string) const;
  /// First positional argument of a call; kNoNode if none.
  [[nodiscard]] NodeId Argument(NodeId call, int index) const;

 private:
  Ref Compute(NodeId expression, int depth, int* budget) const;
  Ref OfName(NodeId identifier, int depth, int* budget) const;
  Ref OfBinding(const Binding& binding, int depth, int* budget) const;
  Ref OfAttribute(const Ref& object, std::string_view name, int depth, int* budget) const;
  Ref OfCall(NodeId call, int depth, int* budget) const;
  Ref MemberOf(NodeId class_node, std::string_view name, int depth, int* budget) const;

  const ParseTree& tree_;
  const Names& names_;
  mutable std::vector<int32_t> memo_;  // by node; index into answers_
  mutable std::deque<Ref> answers_;
};

}  // namespace assay::lint
