#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lint/parse_tree.h"

namespace assay::lint {

/// A node behind its children: the subtree is the `size` nodes that end with it.
struct PostNode {
  Kind kind = Kind::kOther;
  uint32_t start = 0;  ///< byte offsets into the source
  uint32_t end = 0;
  uint32_t size = 1;
};

/// A module in post-order, the order in which a parser completes nodes. Never empty; the last node
/// is the module.
struct PythonSyntax {
  std::vector<PostNode> nodes;
  NodeId first_error = kNoNode;  ///< index in `nodes` of the first kError node
};

/// Parses UTF-8 text as Python 3, of any version up to 3.14, in linear time. Every error gives a
/// kError node for the part of its line that was skipped; the lines around it are parsed.
PythonSyntax ParsePython(std::string_view source);

}  // namespace assay::lint
