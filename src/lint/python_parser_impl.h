// The parser's class, for its sources only.
#pragma once

#include <string_view>
#include <vector>

#include "lint/python_lexer.h"
#include "lint/python_parser.h"

namespace assay::lint {

/// How tightly an operator binds.
enum class Precedence : uint8_t {
  kNone,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPower,
};

/// Recursive descent for statements and brackets, operator precedence with an explicit stack for
/// all that can be repeated without brackets. So brackets and indentation, which the lexer limits,
/// and lambdas in parameters, which kMaxDepth limits, are what the recursion depends on.
///
/// After an error the current token is kStop, which nothing accepts: every function finishes the
/// nodes it has begun and returns, up to one that recovers at the line's end.
class PythonParser {
 public:
  explicit PythonParser(std::string_view source);
  PythonSyntax Run();

 private:
  /// Where a node begins: in the text, and its first descendant.
  struct Mark {
    size_t node;
    uint32_t start;
  };
  /// A node that waits for its last operand.
  struct Pending {
    Mark mark;
    Kind kind;
    Precedence precedence;
  };

  // Tokens.
  [[nodiscard]] bool Is(TokenType type) const { return type_ == type; }
  [[nodiscard]] bool Failed() const { return type_ == TokenType::kStop; }
  [[nodiscard]] const Token& Current() const { return tokens_[at_]; }
  [[nodiscard]] TokenType NextType() const {
    return at_ + 1 < tokens_.size() ? tokens_[at_ + 1].type : TokenType::kEnd;
  }
  [[nodiscard]] bool IsWord(std::string_view word) const;
  [[nodiscard]] bool BeginsExpression() const;
  void Advance() {
    last_end_ = tokens_[at_].end;
    Skip();
  }
  /// Like Advance for tokens that are no text.
  void Skip() { type_ = tokens_[++at_].type; }
  bool Accept(TokenType type) {
    if (type_ != type) return false;
    Advance();
    return true;
  }
  bool Expect(TokenType type) {
    if (Accept(type)) return true;
    Fail();
    return false;
  }

  // Nodes.
  [[nodiscard]] Mark Begin() const { return {nodes_.size(), Current().start}; }
  /// Ends a node behind the last token; all since `mark` is in it.
  void End(Kind kind, Mark mark) {
    // A node without a token, which takes an error, is where it would have begun.
    if (last_end_ < mark.start) last_end_ = mark.start;
    End(kind, mark, last_end_);
  }
  void End(Kind kind, Mark mark, uint32_t end) {
    nodes_.push_back({kind, mark.start, end, static_cast<uint32_t>(nodes_.size() - mark.node + 1)});
  }
  void AddLeaf(Kind kind, uint32_t start, uint32_t end) { nodes_.push_back({kind, start, end, 1}); }
  /// Makes the current token a leaf.
  void TakeLeaf(Kind kind) {
    AddLeaf(kind, Current().start, Current().end);
    Advance();
  }
  void TakeName();
  void Wait(Kind kind, Mark mark, Precedence precedence = Precedence::kNone) {
    pending_.push_back({mark, kind, precedence});
  }
  Mark EndPending();
  void EndPendingDownTo(size_t base) {
    while (pending_.size() > base) EndPending();
  }

  // Errors.
  void Fail() { FailAt(Current().start); }
  void FailAt(uint32_t offset);
  void Recover();
  void AddError(uint32_t start, uint32_t end);
  [[nodiscard]] uint32_t UnclosedBracket(uint32_t otherwise) const;

  // Statements.
  void Statements();
  void Statement();
  void SimpleStatements();
  void SimpleStatement();
  void ExpressionStatement();
  void FinishLine();
  void Suite();
  void Import();
  void ImportFrom();
  void ImportedNames();
  void DottedName();
  void DeclaredNames(Kind kind);
  void TypeAlias();
  void If();
  void For(Mark mark);
  void While();
  void Try();
  void With(Mark mark);
  void WithItem();
  [[nodiscard]] bool HasParenthesizedItems(bool* several) const;
  void Function(Mark mark);
  void Class(Mark mark);
  void Decorated();
  void Async();
  void ElseClause();

  // Parameters and types.
  void Parameters(TokenType close);
  void Parameter(bool typed);
  void Type();
  void TypeParameters();

  // match and its patterns.
  [[nodiscard]] bool AtMatch() const;
  void Match();
  void Case();
  void CasePattern();
  void OrPattern();
  void SimplePattern();
  void NamePattern();
  void NumberPattern();
  void SplatPattern();
  void SequencePattern(Kind kind, TokenType close);
  void MappingPattern();

  // Expressions.
  void Expression();
  void NamedExpression();
  void StarExpression();
  void Item(bool named);
  void MoreItems(TokenType close);
  bool StarExpressions(bool named);
  void ExpressionList();
  void YieldOrList();
  void Yield();
  void Lambda();
  void Operators(Precedence least);
  void TakeOperator();
  void Primary();
  void Atom();
  void Parenthesized();
  void List();
  void Curly();
  bool DictionaryItem();
  void Arguments();
  void Argument();
  void Subscript();
  void Slice();
  bool AtComprehension() const { return Is(TokenType::kFor) || Is(TokenType::kAsync); }
  void Comprehension();
  void Targets();
  void MakeTargets(Mark mark);

  // Strings.
  void Strings();
  void String();
  void FormatString();
  void Field(Kind kind);
  void Content(uint32_t start, uint32_t end, std::string_view prefix);

  std::string_view source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  TokenType type_;         ///< of the current token, kStop after an error
  uint32_t last_end_ = 0;  ///< of the token before
  std::vector<PostNode> nodes_;
  std::vector<Pending> pending_;
  int depth_ = 0;
  uint32_t error_start_ = 0;
  NodeId first_error_ = kNoNode;
};

}  // namespace assay::lint
