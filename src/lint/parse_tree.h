#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace assay::lint {

/// The node kinds that lint tells apart; every other named node is kOther. Comments and punctuation
/// are not in the tree.
enum class Kind : uint8_t {
  kOther,
  kError,
  kModule,
  kIdentifier,
  kDottedName,
  kImport,
  kImportFrom,
  kFutureImport,
  kAliasedImport,
  kRelativeImport,
  kWildcardImport,
  kExpressionStatement,
  kReturn,
  kRaise,
  kDelete,
  kPass,
  kIf,
  kFor,
  kWhile,
  kTry,
  kExceptClause,
  kFinallyClause,
  kWithItem,
  kFunction,
  kClass,
  kDecorated,
  kDecorator,
  kParameters,
  kLambda,
  kLambdaParameters,
  kDefaultParameter,
  kTypedParameter,
  kTypedDefaultParameter,
  kListSplatPattern,
  kDictSplatPattern,
  kKeywordSeparator,
  kPositionalSeparator,
  kBlock,
  kGlobal,
  kNonlocal,
  kArgumentList,
  kKeywordArgument,
  kListSplat,
  kDictSplat,
  kAssignment,
  kAugmentedAssignment,
  kNamedExpression,
  kPatternList,
  kTuplePattern,
  kListPattern,
  kExpressionList,
  kTuple,
  kList,
  kDictionary,
  kPair,
  kForInClause,
  kAsPattern,
  kAsPatternTarget,
  kCasePattern,
  kAttribute,
  kSubscript,
  kCall,
  kConditional,
  kBooleanOperator,
  kBinaryOperator,
  kParenthesized,
  kAwait,
  kType,
  kConcatenatedString,
  kString,
  kStringStart,
  kStringContent,
  kStringEnd,
  kEscape,
  kInterpolation,
  kNone,
  kAt,  ///< the operator tokens `@` and `@=`, the only anonymous ones kept
  kCount,
};

/// Index of a node; kNoNode where there is none.
using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

struct Node {
  Kind kind = Kind::kOther;
  uint32_t start = 0;  ///< byte offsets into the source
  uint32_t end = 0;
  NodeId parent = kNoNode;
  NodeId next = 0;  ///< first node after this one's subtree
};

/// A syntax tree in pre-order: the subtree of node i is [i, node(i).next). Passes over it are
/// loops, so no nesting depth can exhaust the stack. Views the source, which must outlive it.
class ParseTree {
 public:
  /// Parses UTF-8 text, in linear time. Never fails: damaged text gives a tree with has_error().
  static ParseTree Parse(std::string_view source);

  [[nodiscard]] NodeId size() const { return static_cast<NodeId>(nodes_.size()); }
  [[nodiscard]] const Node& operator[](NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  [[nodiscard]] Kind kind(NodeId id) const { return (*this)[id].kind; }
  [[nodiscard]] NodeId parent(NodeId id) const { return (*this)[id].parent; }
  [[nodiscard]] std::string_view source() const { return source_; }
  [[nodiscard]] std::string_view Text(NodeId id) const {
    return source_.substr((*this)[id].start, (*this)[id].end - (*this)[id].start);
  }

  [[nodiscard]] NodeId FirstChild(NodeId id) const {
    return id + 1 < (*this)[id].next ? id + 1 : kNoNode;
  }
  [[nodiscard]] NodeId NextSibling(NodeId id) const {
    const NodeId up = parent(id);
    return up != kNoNode && (*this)[id].next < (*this)[up].next ? (*this)[id].next : kNoNode;
  }
  [[nodiscard]] NodeId LastChild(NodeId id) const;
  /// First child of that kind.
  [[nodiscard]] NodeId ChildOf(NodeId id, Kind kind) const;
  /// `id` with any parentheses around it removed.
  [[nodiscard]] NodeId Unwrap(NodeId id) const;
  /// Nearest strict ancestor of that kind.
  [[nodiscard]] NodeId Ancestor(NodeId id, Kind kind) const;

  /// 1-based line of a byte offset or a node.
  [[nodiscard]] int LineAt(uint32_t offset) const;
  [[nodiscard]] int Line(NodeId id) const { return LineAt((*this)[id].start); }

  /// The first kError node in the text: what is not in the tree, or where something is missing.
  /// kNoNode if there is none.
  [[nodiscard]] NodeId first_error() const { return first_error_; }
  /// Whether the tree may lack parts of the text.
  [[nodiscard]] bool has_error() const { return first_error_ != kNoNode; }

 private:
  std::string_view source_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> line_starts_;
  NodeId first_error_ = kNoNode;
};

}  // namespace assay::lint
