#include "lint/parse_tree.h"

#include <algorithm>

#include "lint/python_parser.h"

namespace assay::lint {

ParseTree ParseTree::Parse(std::string_view source) {
  ParseTree result;
  result.source_ = source;
  result.line_starts_.push_back(0);
  for (size_t at = source.find('\n'); at != std::string_view::npos; at = source.find('\n', at + 1))
    result.line_starts_.push_back(static_cast<uint32_t>(at + 1));

  // From post-order to pre-order. Read backwards, a parent comes before its children, and a child's
  // place among its parent's descendants is the same in both orders.
  const PythonSyntax syntax = ParsePython(source);
  struct Open {
    NodeId first;  ///< of the subtree, in post-order
    NodeId id;
  };
  std::vector<Open> open;
  result.nodes_.resize(syntax.nodes.size());
  for (auto i = static_cast<NodeId>(syntax.nodes.size()) - 1; i >= 0; --i) {
    const PostNode& node = syntax.nodes[static_cast<size_t>(i)];
    const auto size = static_cast<NodeId>(node.size);
    const NodeId first = i - size + 1;
    while (!open.empty() && i < open.back().first) open.pop_back();
    const NodeId parent = open.empty() ? kNoNode : open.back().id;
    const NodeId id = open.empty() ? 0 : parent + 1 + first - open.back().first;
    result.nodes_[static_cast<size_t>(id)] = {node.kind, node.start, node.end, parent, id + size};
    if (i == syntax.first_error) result.first_error_ = id;
    if (size > 1) open.push_back({first, id});
  }
  return result;
}

NodeId ParseTree::LastChild(NodeId id) const {
  NodeId last = kNoNode;
  for (NodeId child = FirstChild(id); child != kNoNode; child = NextSibling(child)) last = child;
  return last;
}

NodeId ParseTree::ChildOf(NodeId id, Kind wanted) const {
  for (NodeId child = FirstChild(id); child != kNoNode; child = NextSibling(child))
    if (kind(child) == wanted) return child;
  return kNoNode;
}

NodeId ParseTree::Unwrap(NodeId id) const {
  while (id != kNoNode && (kind(id) == Kind::kParenthesized || kind(id) == Kind::kAwait))
    id = FirstChild(id);
  return id;
}

NodeId ParseTree::Ancestor(NodeId id, Kind wanted) const {
  for (id = parent(id); id != kNoNode; id = parent(id))
    if (kind(id) == wanted) return id;
  return kNoNode;
}

int ParseTree::LineAt(uint32_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<int>(after - line_starts_.begin());
}

}  // namespace assay::lint
