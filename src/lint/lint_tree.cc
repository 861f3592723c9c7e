// assay_lint_tree: reads paths of Python files from its input, a line each, and writes for each a
// line of JSON: the tree's nodes in pre-order as [kind, start, end, parent], and the line of the
// first error, 0 without one. tests/lint compares that with CPython's ast.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>

#include "lint/tree_names.h"

int main() {
  using assay::lint::NodeId;
  std::string path;
  while (std::getline(std::cin, path)) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      fmt::print(stderr, "cannot read {}\n", path);
      return 1;
    }
    std::ostringstream text;
    text << file.rdbuf();
    const std::string source = text.str();
    const auto tree = assay::lint::ParseTree::Parse(source);
    std::string line = fmt::format(R"({{"error": {}, "nodes": [)",
                                   tree.has_error() ? tree.Line(tree.first_error()) : 0);
    for (NodeId id = 0; id < tree.size(); ++id)
      fmt::format_to(std::back_inserter(line), R"({}["{}", {}, {}, {}])", id == 0 ? "" : ", ",
                     assay::lint::NameOf(tree.kind(id)), tree[id].start, tree[id].end,
                     tree.parent(id));
    std::cout << line << "]}\n";
  }
  return 0;
}
