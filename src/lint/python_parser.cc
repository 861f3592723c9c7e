#include "lint/python_parser.h"

#include <utility>

#include "lint/python_parser_impl.h"

namespace assay::lint {

PythonSyntax ParsePython(std::string_view source) { return PythonParser(source).Run(); }

PythonParser::PythonParser(std::string_view source)
    : source_(source), tokens_(TokenizePython(source)), type_(tokens_.front().type) {
  nodes_.reserve(tokens_.size() + tokens_.size() / 4);
}

PythonSyntax PythonParser::Run() {
  Statements();
  End(Kind::kModule, {0, 0}, static_cast<uint32_t>(source_.size()));
  return {std::move(nodes_), first_error_};
}

bool PythonParser::IsWord(std::string_view word) const {
  return Is(TokenType::kName) &&
         source_.substr(Current().start, Current().end - Current().start) == word;
}

void PythonParser::TakeName() {
  if (Is(TokenType::kName)) {
    TakeLeaf(Kind::kIdentifier);
  } else {
    Fail();
  }
}

PythonParser::Mark PythonParser::EndPending() {
  const Pending pending = pending_.back();
  pending_.pop_back();
  End(pending.kind, pending.mark);
  return pending.mark;
}

// Errors.

void PythonParser::FailAt(uint32_t offset) {
  if (Failed()) return;
  type_ = TokenType::kStop;
  error_start_ = first_error_ == kNoNode ? UnclosedBracket(offset) : offset;
}

void PythonParser::AddError(uint32_t start, uint32_t end) {
  if (first_error_ == kNoNode) first_error_ = static_cast<NodeId>(nodes_.size());
  AddLeaf(Kind::kError, start, end);
}

/// Ends the state of error in front of the line's end.
void PythonParser::Recover() {
  uint32_t end = Current().start;
  for (;; ++at_) {
    const TokenType type = Current().type;
    if (type == TokenType::kNewline || type == TokenType::kIndent || type == TokenType::kDedent ||
        type == TokenType::kEnd)
      break;
    end = Current().end;
  }
  type_ = Current().type;
  last_end_ = end;
  AddError(error_start_, end > error_start_ ? end : error_start_);
}

/// Where a bracket begins that is open here and never closed, as the place of an error is only a
/// consequence then.
uint32_t PythonParser::UnclosedBracket(uint32_t otherwise) const {
  size_t first = at_;
  while (first > 0 && tokens_[first - 1].type != TokenType::kNewline) --first;
  std::vector<size_t> open;
  for (size_t i = first;; ++i) {
    switch (tokens_[i].type) {
      case TokenType::kLeftParen:
      case TokenType::kLeftSquare:
      case TokenType::kLeftCurly:
      case TokenType::kFieldOpen:
        open.push_back(i);
        break;
      case TokenType::kRightParen:
      case TokenType::kRightSquare:
      case TokenType::kRightCurly:
      case TokenType::kFieldClose:
        if (!open.empty()) open.pop_back();
        break;
      case TokenType::kNewline:
      case TokenType::kEnd:
        while (!open.empty() && open.back() >= at_) open.pop_back();
        return open.empty() ? otherwise : tokens_[open.back()].start;
      default:
        break;
    }
  }
}

// Statements of one line.

void PythonParser::Statements() {
  int indents = 0;  // that begin no block
  for (;;) {
    switch (type_) {
      case TokenType::kEnd:
        return;
      case TokenType::kIndent:
        AddError(Current().start, Current().end);
        ++indents;
        Skip();
        break;
      case TokenType::kDedent:
        if (indents == 0) return;
        --indents;
        Skip();
        break;
      case TokenType::kBadIndent:
        AddError(Current().start, Current().end);
        Skip();
        break;
      case TokenType::kNewline:
        Skip();
        break;
      default:
        Statement();
    }
  }
}

void PythonParser::Statement() {
  switch (type_) {
    case TokenType::kIf:
      return If();
    case TokenType::kFor:
      return For(Begin());
    case TokenType::kWhile:
      return While();
    case TokenType::kTry:
      return Try();
    case TokenType::kWith:
      return With(Begin());
    case TokenType::kDef:
      return Function(Begin());
    case TokenType::kClass:
      return Class(Begin());
    case TokenType::kAt:
      return Decorated();
    case TokenType::kAsync:
      return Async();
    default:
      if (AtMatch()) return Match();
      return SimpleStatements();
  }
}

void PythonParser::SimpleStatements() {
  SimpleStatement();
  while (Accept(TokenType::kSemicolon) && !Is(TokenType::kNewline)) SimpleStatement();
  FinishLine();
}

void PythonParser::FinishLine() {
  if (!Is(TokenType::kNewline)) Fail();
  if (Failed()) Recover();
  if (Is(TokenType::kNewline)) Skip();
}

void PythonParser::SimpleStatement() {
  const Mark mark = Begin();
  switch (type_) {
    case TokenType::kImport:
      return Import();
    case TokenType::kFrom:
      return ImportFrom();
    case TokenType::kReturn:
      Advance();
      if (BeginsExpression()) ExpressionList();
      return End(Kind::kReturn, mark);
    case TokenType::kRaise:
      Advance();
      if (BeginsExpression()) {
        Expression();
        if (Accept(TokenType::kFrom)) Expression();
      }
      return End(Kind::kRaise, mark);
    case TokenType::kDel:
      Advance();
      ExpressionList();
      return End(Kind::kDelete, mark);
    case TokenType::kAssert:
      Advance();
      Expression();
      if (Accept(TokenType::kComma)) Expression();
      return End(Kind::kOther, mark);
    case TokenType::kGlobal:
      return DeclaredNames(Kind::kGlobal);
    case TokenType::kNonlocal:
      return DeclaredNames(Kind::kNonlocal);
    case TokenType::kPass:
      return TakeLeaf(Kind::kPass);
    case TokenType::kBreak:
    case TokenType::kContinue:
      return TakeLeaf(Kind::kOther);
    default:
      if (IsWord("type") && NextType() == TokenType::kName) return TypeAlias();
      return ExpressionStatement();
  }
}

/// An expression, an assignment of any kind, or an annotation.
void PythonParser::ExpressionStatement() {
  const Mark mark = Begin();
  const size_t base = pending_.size();
  bool list = false;
  if (Is(TokenType::kYield)) {
    Yield();
  } else {
    list = StarExpressions(false);
  }
  switch (type_) {
    case TokenType::kAssign: {
      // `a = b = c` is an assignment to a of an assignment to b.
      Mark target = mark;
      while (Is(TokenType::kAssign)) {
        MakeTargets(target);
        if (list) End(Kind::kPatternList, target);
        Wait(Kind::kAssignment, target);
        if (!Accept(TokenType::kAssign)) break;  // no target
        target = Begin();
        list = false;
        if (Is(TokenType::kYield)) {
          Yield();
        } else {
          list = StarExpressions(false);
        }
      }
      if (list && !Failed()) End(Kind::kExpressionList, target);
      break;
    }
    case TokenType::kColon:
      MakeTargets(mark);
      if (list) Fail();
      Accept(TokenType::kColon);
      Type();
      if (Accept(TokenType::kAssign)) YieldOrList();
      End(Kind::kAssignment, mark);
      break;
    case TokenType::kAugmentedAssign:
    case TokenType::kAtAssign:
      MakeTargets(mark);
      if (list) Fail();
      if (Is(TokenType::kAtAssign)) {
        TakeLeaf(Kind::kAt);
      } else {
        Accept(TokenType::kAugmentedAssign);
      }
      YieldOrList();
      End(Kind::kAugmentedAssignment, mark);
      break;
    default:
      break;
  }
  EndPendingDownTo(base);
  End(Kind::kExpressionStatement, mark);
}

void PythonParser::Import() {
  const Mark mark = Begin();
  Advance();
  do {
    const Mark item = Begin();
    DottedName();
    if (Accept(TokenType::kAs)) {
      TakeName();
      End(Kind::kAliasedImport, item);
    }
  } while (Accept(TokenType::kComma));
  End(Kind::kImport, mark);
}

void PythonParser::ImportFrom() {
  const Mark mark = Begin();
  Kind kind = Kind::kImportFrom;
  Advance();
  const Mark module = Begin();
  if (Is(TokenType::kDot) || Is(TokenType::kEllipsis)) {
    while (Accept(TokenType::kDot) || Accept(TokenType::kEllipsis)) continue;
    End(Kind::kOther, module);  // the dots
    if (Is(TokenType::kName)) DottedName();
    End(Kind::kRelativeImport, module);
  } else if (IsWord("__future__") && NextType() == TokenType::kImport) {
    kind = Kind::kFutureImport;
    Advance();
  } else {
    DottedName();
  }
  Expect(TokenType::kImport);
  if (Is(TokenType::kStar)) {
    TakeLeaf(Kind::kWildcardImport);
  } else if (Accept(TokenType::kLeftParen)) {
    ImportedNames();
    Expect(TokenType::kRightParen);
  } else {
    ImportedNames();
  }
  End(kind, mark);
}

void PythonParser::ImportedNames() {
  do {
    if (Is(TokenType::kRightParen)) break;  // behind the last comma
    const Mark item = Begin();
    TakeName();
    End(Kind::kDottedName, item);
    if (Accept(TokenType::kAs)) {
      TakeName();
      End(Kind::kAliasedImport, item);
    }
  } while (Accept(TokenType::kComma));
}

void PythonParser::DottedName() {
  const Mark mark = Begin();
  TakeName();
  while (Accept(TokenType::kDot)) TakeName();
  End(Kind::kDottedName, mark);
}

void PythonParser::DeclaredNames(Kind kind) {
  const Mark mark = Begin();
  Advance();
  do TakeName();
  while (Accept(TokenType::kComma));
  End(kind, mark);
}

void PythonParser::TypeAlias() {
  const Mark mark = Begin();
  Advance();
  const Mark name = Begin();
  TakeName();
  if (Is(TokenType::kLeftSquare)) {
    TypeParameters();
    End(Kind::kOther, name);
  }
  End(Kind::kType, name);
  Expect(TokenType::kAssign);
  Type();
  End(Kind::kOther, mark);
}

}  // namespace assay::lint
