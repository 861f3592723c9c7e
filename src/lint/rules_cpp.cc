// S9: the C++ and CUDA that stands in strings.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "lint/cpp_scanner.h"
#include "lint/rules.h"

namespace assay::lint {
namespace {

/// The text a Python string literal means, and where in the source each part of it came from.
class DecodedString {
 public:
  DecodedString(const ParseTree& tree, NodeId literal) : tree_(tree) {
    if (tree.kind(literal) == Kind::kConcatenatedString) {
      for (NodeId part = tree.FirstChild(literal); part != kNoNode; part = tree.NextSibling(part))
        AddString(part);
    } else {
      AddString(literal);
    }
  }

  [[nodiscard]] std::string_view text() const { return text_; }

  /// Offset in the source of an offset in text().
  [[nodiscard]] uint32_t SourceOffset(uint32_t offset) const {
    const auto after = std::upper_bound(
        segments_.begin(), segments_.end(), offset,
        [](uint32_t value, const Segment& segment) { return value < segment.decoded; });
    if (after == segments_.begin()) return 0;
    const Segment& segment = *std::prev(after);
    return segment.source + (offset - segment.decoded);
  }

 private:
  struct Segment {
    uint32_t decoded;
    uint32_t source;
  };

  void Append(std::string_view text, uint32_t source) {
    segments_.push_back({static_cast<uint32_t>(text_.size()), source});
    text_ += text;
  }

  void AddString(NodeId string) {
    if (tree_.kind(string) != Kind::kString) return;
    for (NodeId part = tree_.FirstChild(string); part != kNoNode; part = tree_.NextSibling(part)) {
      if (tree_.kind(part) == Kind::kStringContent) {
        AddContent(part);
      } else if (tree_.kind(part) == Kind::kInterpolation) {
        Append("x", tree_[part].start);  // any operand
      }
    }
  }

  void AddContent(NodeId content) {
    const std::string_view source = tree_.source();
    uint32_t at = tree_[content].start;
    for (NodeId part = tree_.FirstChild(content); part != kNoNode; part = tree_.NextSibling(part)) {
      Append(source.substr(at, tree_[part].start - at), at);
      const std::string_view text = tree_.Text(part);
      if (tree_.kind(part) == Kind::kEscape) {
        Append(Unescape(text), tree_[part].start);
      } else if (text == "{{" || text == "}}") {
        Append(text.substr(0, 1), tree_[part].start);
      } else {
        Append(text, tree_[part].start);
      }
      at = tree_[part].end;
    }
    Append(source.substr(at, tree_[content].end - at), at);
  }

  static std::string Unescape(std::string_view escape) {
    if (escape.size() < 2) return std::string(escape);
    switch (escape[1]) {
      case 'n':
        return "\n";
      case 't':
        return "\t";
      case 'r':
        return "\r";
      case '\n':
      case '\r':
        return {};  // the line goes on
      case '\\':
      case '\'':
      case '"':
        return std::string(1, escape[1]);
      default:
        break;
    }
    // \x41, \u0041 and \101 of plain characters; the rest stays as it is written.
    const bool octal = escape[1] >= '0' && escape[1] <= '7';
    const std::string_view digits = escape.substr(octal ? 1 : 2);
    unsigned value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, octal ? 8 : 16);
    if (error == std::errc() && end == digits.data() + digits.size() && value > 0 && value < 0x80)
      return std::string(1, static_cast<char>(value));
    return std::string(escape);
  }

  const ParseTree& tree_;
  std::string text_;
  std::vector<Segment> segments_;
};

}  // namespace

CppSources CheckCpp(const Module& module, Findings* findings, LintReport* report) {
  const ParseTree& tree = module.tree;
  std::vector<bool> argument(static_cast<size_t>(tree.size()), false);
  for (const NodeId call : module.kernels.extensions)
    for (NodeId node = call; node < tree[call].next && !argument[static_cast<size_t>(node)]; ++node)
      argument[static_cast<size_t>(node)] = true;

  CppSources sources;
  for (NodeId node = 0; node < tree.size(); ++node) {
    const Kind kind = tree.kind(node);
    if (kind != Kind::kString && kind != Kind::kConcatenatedString) continue;
    const Kind parent = tree.kind(tree.parent(node));
    if (kind == Kind::kString && parent == Kind::kConcatenatedString) continue;
    if (parent == Kind::kExpressionStatement) continue;  // a docstring
    const DecodedString string(tree, node);
    const bool cpp = LooksLikeCpp(string.text());
    if (!cpp && !argument[static_cast<size_t>(node)]) continue;
    const CppReport scan = ScanCpp(string.text());
    for (const CppFinding& finding : scan.findings)
      findings->Add(finding.rule, tree.LineAt(string.SourceOffset(finding.offset)),
                    fmt::format("{}: {}", finding.what, finding.reason));
    sources.any |= cpp;
    sources.has_kernel |= scan.has_kernel;
    sources.has_loop |= scan.has_loop;
    report->uses_streams |= scan.uses_streams;
  }
  return sources;
}

}  // namespace assay::lint
