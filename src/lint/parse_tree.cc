#include "lint/parse_tree.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/result.h"

extern "C" const TSLanguage* tree_sitter_python(void);

namespace assay::lint {
namespace {

struct KindName {
  const char* name;
  Kind kind;
};

constexpr KindName kKindNames[] = {
    {"module", Kind::kModule},
    {"identifier", Kind::kIdentifier},
    {"dotted_name", Kind::kDottedName},
    {"import_statement", Kind::kImport},
    {"import_from_statement", Kind::kImportFrom},
    {"future_import_statement", Kind::kFutureImport},
    {"aliased_import", Kind::kAliasedImport},
    {"relative_import", Kind::kRelativeImport},
    {"wildcard_import", Kind::kWildcardImport},
    {"expression_statement", Kind::kExpressionStatement},
    {"return_statement", Kind::kReturn},
    {"raise_statement", Kind::kRaise},
    {"delete_statement", Kind::kDelete},
    {"pass_statement", Kind::kPass},
    {"if_statement", Kind::kIf},
    {"for_statement", Kind::kFor},
    {"while_statement", Kind::kWhile},
    {"try_statement", Kind::kTry},
    {"except_clause", Kind::kExceptClause},
    {"except_group_clause", Kind::kExceptClause},
    {"finally_clause", Kind::kFinallyClause},
    {"with_item", Kind::kWithItem},
    {"function_definition", Kind::kFunction},
    {"class_definition", Kind::kClass},
    {"decorated_definition", Kind::kDecorated},
    {"decorator", Kind::kDecorator},
    {"parameters", Kind::kParameters},
    {"lambda", Kind::kLambda},
    {"lambda_parameters", Kind::kLambdaParameters},
    {"default_parameter", Kind::kDefaultParameter},
    {"typed_parameter", Kind::kTypedParameter},
    {"typed_default_parameter", Kind::kTypedDefaultParameter},
    {"list_splat_pattern", Kind::kListSplatPattern},
    {"dictionary_splat_pattern", Kind::kDictSplatPattern},
    {"keyword_separator", Kind::kKeywordSeparator},
    {"positional_separator", Kind::kPositionalSeparator},
    {"block", Kind::kBlock},
    {"global_statement", Kind::kGlobal},
    {"nonlocal_statement", Kind::kNonlocal},
    {"exec_statement", Kind::kExec},
    {"argument_list", Kind::kArgumentList},
    {"keyword_argument", Kind::kKeywordArgument},
    {"list_splat", Kind::kListSplat},
    {"dictionary_splat", Kind::kDictSplat},
    {"assignment", Kind::kAssignment},
    {"augmented_assignment", Kind::kAugmentedAssignment},
    {"named_expression", Kind::kNamedExpression},
    {"pattern_list", Kind::kPatternList},
    {"tuple_pattern", Kind::kTuplePattern},
    {"list_pattern", Kind::kListPattern},
    {"expression_list", Kind::kExpressionList},
    {"tuple", Kind::kTuple},
    {"list", Kind::kList},
    {"dictionary", Kind::kDictionary},
    {"pair", Kind::kPair},
    {"for_in_clause", Kind::kForInClause},
    {"as_pattern", Kind::kAsPattern},
    {"as_pattern_target", Kind::kAsPatternTarget},
    {"case_pattern", Kind::kCasePattern},
    {"attribute", Kind::kAttribute},
    {"subscript", Kind::kSubscript},
    {"call", Kind::kCall},
    {"conditional_expression", Kind::kConditional},
    {"boolean_operator", Kind::kBooleanOperator},
    {"binary_operator", Kind::kBinaryOperator},
    {"parenthesized_expression", Kind::kParenthesized},
    {"await", Kind::kAwait},
    {"type", Kind::kType},
    {"concatenated_string", Kind::kConcatenatedString},
    {"string", Kind::kString},
    {"string_start", Kind::kStringStart},
    {"string_content", Kind::kStringContent},
    {"string_end", Kind::kStringEnd},
    {"escape_sequence", Kind::kEscape},
    {"interpolation", Kind::kInterpolation},
    {"none", Kind::kNone},
};

// libtree-sitter 0.20 corrupts its heap when error recovery makes one node of 65536 children or
// more, which takes that many tokens of which none was complete. Texts that could reach it are not
// parsed; the margin is for the tokens that recovery invents. Honest code of 100 KB has about
// 35000.
constexpr size_t kMaxTokens = 60000;

/// An upper bound of the tokens that the parser may see, also when recovery reads strings as code.
size_t TokenBound(std::string_view source) {
  enum class Run : uint8_t { kNone, kWord, kNumber };
  size_t tokens = 0;
  Run run = Run::kNone;
  for (const char c : source) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (letter || digit) {
      // A number ends where its letters do not fit, so each letter in it may begin a token.
      if (run == Run::kNone || (run == Run::kNumber && letter)) ++tokens;
      if (run == Run::kNone) run = digit ? Run::kNumber : Run::kWord;
      continue;
    }
    run = Run::kNone;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') continue;
    // A line's end, indent and dedent are tokens; quotes, braces and escapes have content beside
    // them.
    const bool line = c == '\n';
    const bool pair = c == '"' || c == '\'' || c == '{' || c == '}' || c == '\\';
    tokens += line ? 3 : pair ? 2 : 1;
  }
  return tokens;
}

/// What a grammar symbol becomes in our tree.
struct SymbolUse {
  Kind kind = Kind::kOther;
  bool keep = false;
};

/// By grammar symbol. Several symbols may share a name (aliases), so the names of all are compared.
const std::vector<SymbolUse>& SymbolUses() {
  static const std::vector<SymbolUse> uses = [] {
    const TSLanguage* language = tree_sitter_python();
    std::vector<SymbolUse> table(ts_language_symbol_count(language));
    for (size_t symbol = 0; symbol < table.size(); ++symbol) {
      const auto id = static_cast<TSSymbol>(symbol);
      const std::string_view name = ts_language_symbol_name(language, id);
      if (ts_language_symbol_type(language, id) == TSSymbolTypeRegular) {
        const auto* known = std::find_if(std::begin(kKindNames), std::end(kKindNames),
                                         [&](const KindName& k) { return name == k.name; });
        table[symbol].kind = known != std::end(kKindNames) ? known->kind : Kind::kOther;
        table[symbol].keep = name != "comment" && name != "line_continuation";
      } else if (name == "@" || name == "@=") {
        table[symbol] = {Kind::kAt, true};
      }
    }
    return table;
  }();
  return uses;
}

struct ParserDelete {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
};
struct TreeDelete {
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};
struct CursorGuard {
  TSTreeCursor cursor;
  explicit CursorGuard(TSNode root) : cursor(ts_tree_cursor_new(root)) {}
  CursorGuard(const CursorGuard&) = delete;
  CursorGuard& operator=(const CursorGuard&) = delete;
  ~CursorGuard() { ts_tree_cursor_delete(&cursor); }
};

std::chrono::nanoseconds ThreadCpuTime() {
  timespec now{};
  ASSAY_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Parses within a limit of this thread's CPU time; null when it is reached. The parser itself only
/// knows wall time, by which a loaded machine would decide about the text: it is stopped every now
/// and then and goes on where it was.
TSTree* ParseWithin(TSParser* parser, std::string_view source, std::chrono::nanoseconds limit) {
  constexpr uint64_t kSliceMicros = 50000;
  ts_parser_set_timeout_micros(parser, kSliceMicros);
  const std::chrono::nanoseconds end = ThreadCpuTime() + limit;
  do {
    TSTree* tree = ts_parser_parse_string(parser, nullptr, source.data(),
                                          static_cast<uint32_t>(source.size()));
    if (tree != nullptr) return tree;
  } while (ThreadCpuTime() < end);
  return nullptr;
}

}  // namespace

ParseTree ParseTree::Parse(std::string_view source, std::chrono::milliseconds cpu_limit) {
  ParseTree result;
  result.source_ = source;
  result.line_starts_.push_back(0);
  for (size_t at = source.find('\n'); at != std::string_view::npos; at = source.find('\n', at + 1))
    result.line_starts_.push_back(static_cast<uint32_t>(at + 1));

  const auto unparsed = [&result] {
    result.nodes_.push_back({Kind::kModule, 0, 0, kNoNode, 1});
    result.has_error_ = result.unparsed_ = true;
    return std::move(result);
  };
  if (TokenBound(source) > kMaxTokens) return unparsed();
  const std::unique_ptr<TSParser, ParserDelete> parser(ts_parser_new());
  ASSAY_CHECK(ts_parser_set_language(parser.get(), tree_sitter_python()));
  const std::unique_ptr<TSTree, TreeDelete> tree(ParseWithin(parser.get(), source, cpu_limit));
  if (tree == nullptr) return unparsed();

  const TSNode root = ts_tree_root_node(tree.get());
  result.has_error_ = ts_node_has_error(root);
  result.nodes_.reserve(source.size() / 4 + 1);
  const std::vector<SymbolUse>& uses = SymbolUses();
  CursorGuard guard(root);
  TSTreeCursor* cursor = &guard.cursor;

  // Nodes that are being visited, kNoNode for those that are left out (their children go to the
  // parent).
  std::vector<NodeId> open;
  NodeId parent = kNoNode;
  for (;;) {
    const TSNode node = ts_tree_cursor_current_node(cursor);
    const TSSymbol symbol = ts_node_symbol(node);
    SymbolUse use = symbol < uses.size() ? uses[symbol] : SymbolUse{Kind::kError, true};
    if (open.empty()) use = {Kind::kModule, true};  // also when the parser gave up on the whole
    NodeId id = kNoNode;
    if (use.keep) {
      id = result.size();
      result.nodes_.push_back(
          {use.kind, ts_node_start_byte(node), ts_node_end_byte(node), parent, id + 1});
    }
    if (result.has_error_ && result.first_error_ == kNoNode && parent != kNoNode &&
        (use.kind == Kind::kError || ts_node_is_missing(node))) {
      result.first_error_ = id != kNoNode ? id : parent;
    }
    open.push_back(id);
    if (ts_tree_cursor_goto_first_child(cursor)) {
      if (id != kNoNode) parent = id;
      continue;
    }
    bool done = false;
    for (;;) {
      const NodeId closed = open.back();
      open.pop_back();
      if (closed != kNoNode) {
        result.nodes_[static_cast<size_t>(closed)].next = result.size();
        parent = result.parent(closed);
      }
      if (open.empty()) {
        done = true;
        break;
      }
      if (ts_tree_cursor_goto_next_sibling(cursor)) break;
      ts_tree_cursor_goto_parent(cursor);
    }
    if (done) break;
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
