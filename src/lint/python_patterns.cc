// The match statement and its patterns.
#include "lint/python_parser_impl.h"

namespace assay::lint {

/// Whether a line that begins with the name `match` begins a match statement: only that has a colon
/// at the end.
bool PythonParser::AtMatch() const {
  if (!IsWord("match")) return false;
  for (size_t i = at_ + 1;; ++i) {
    if (tokens_[i].type == TokenType::kEnd) return false;
    if (tokens_[i].type != TokenType::kNewline) continue;
    return i > at_ + 2 && tokens_[i - 1].type == TokenType::kColon &&
           tokens_[i + 1].type == TokenType::kIndent;
  }
}

void PythonParser::Match() {
  const Mark mark = Begin();
  Advance();
  StarExpressions(true);
  Expect(TokenType::kColon);
  if (!Is(TokenType::kNewline)) Fail();
  if (Failed()) Recover();
  Skip();  // the line's end
  Skip();  // the indent
  const Mark block = Begin();
  for (;;) {
    if (IsWord("case")) {
      Case();
    } else if (Is(TokenType::kBadIndent)) {
      AddError(Current().start, Current().end);
      Skip();
    } else if (Is(TokenType::kDedent) || Is(TokenType::kEnd)) {
      break;
    } else {
      // No case: an error, and statements up to the end of the block.
      AddError(Current().start, Current().start);
      Statements();
      break;
    }
  }
  End(Kind::kBlock, block);
  if (Is(TokenType::kDedent)) Skip();
  End(Kind::kOther, mark);
}

void PythonParser::Case() {
  const Mark mark = Begin();
  Advance();
  do {
    if (Is(TokenType::kIf) || Is(TokenType::kColon)) break;  // behind the last comma
    CasePattern();
  } while (Accept(TokenType::kComma));
  const Mark guard = Begin();
  if (Accept(TokenType::kIf)) {
    NamedExpression();
    End(Kind::kOther, guard);
  }
  Suite();
  End(Kind::kOther, mark);
}

void PythonParser::CasePattern() {
  const Mark mark = Begin();
  if (Is(TokenType::kName) && NextType() == TokenType::kAssign) {
    TakeName();
    Advance();
    OrPattern();
    End(Kind::kOther, mark);
  } else {
    OrPattern();
  }
  if (Is(TokenType::kAs)) {
    End(Kind::kCasePattern, mark);
    Advance();
    TakeName();
    End(Kind::kAsPattern, mark);
  }
  End(Kind::kCasePattern, mark);
}

void PythonParser::OrPattern() {
  const Mark mark = Begin();
  SimplePattern();
  if (!Is(TokenType::kPipe)) return;
  while (Accept(TokenType::kPipe)) SimplePattern();
  End(Kind::kOther, mark);
}

void PythonParser::SimplePattern() {
  switch (type_) {
    case TokenType::kName:
      return NamePattern();
    case TokenType::kNumber:
    case TokenType::kMinus:
      return NumberPattern();
    case TokenType::kString:
    case TokenType::kFormatOpen:
      return Strings();
    case TokenType::kNone:
      return TakeLeaf(Kind::kNone);
    case TokenType::kTrue:
    case TokenType::kFalse:
      return TakeLeaf(Kind::kOther);
    case TokenType::kStar:
      return SplatPattern();
    case TokenType::kLeftParen:
      return SequencePattern(Kind::kTuplePattern, TokenType::kRightParen);
    case TokenType::kLeftSquare:
      return SequencePattern(Kind::kListPattern, TokenType::kRightSquare);
    case TokenType::kLeftCurly:
      return MappingPattern();
    default:
      return Fail();
  }
}

/// A capture, a value or a class with its patterns. The wildcard `_` is no node.
void PythonParser::NamePattern() {
  const Mark mark = Begin();
  if (IsWord("_") && NextType() != TokenType::kDot && NextType() != TokenType::kLeftParen)
    return Advance();
  DottedName();
  if (!Accept(TokenType::kLeftParen)) return;
  do {
    if (Is(TokenType::kRightParen)) break;
    CasePattern();
  } while (Accept(TokenType::kComma));
  Expect(TokenType::kRightParen);
  End(Kind::kOther, mark);
}

/// A number, or a complex one of two. A sign is no node.
void PythonParser::NumberPattern() {
  const Mark mark = Begin();
  Accept(TokenType::kMinus);
  if (!Is(TokenType::kNumber)) return Fail();
  TakeLeaf(Kind::kOther);
  if (!Accept(TokenType::kPlus) && !Accept(TokenType::kMinus)) return;
  if (!Is(TokenType::kNumber)) return Fail();
  TakeLeaf(Kind::kOther);
  End(Kind::kOther, mark);
}

/// `*rest`, and `**rest` in mappings.
void PythonParser::SplatPattern() {
  const Mark mark = Begin();
  Advance();
  if (IsWord("_")) {
    Advance();
  } else {
    TakeName();
  }
  End(Kind::kOther, mark);
}

void PythonParser::SequencePattern(Kind kind, TokenType close) {
  const Mark mark = Begin();
  Advance();
  do {
    if (Is(close)) break;
    CasePattern();
  } while (Accept(TokenType::kComma));
  Expect(close);
  End(kind, mark);
}

void PythonParser::MappingPattern() {
  const Mark mark = Begin();
  Advance();
  do {
    if (Is(TokenType::kRightCurly)) break;
    if (Is(TokenType::kDoubleStar)) {
      SplatPattern();
    } else {
      SimplePattern();
      Expect(TokenType::kColon);
      CasePattern();
    }
  } while (Accept(TokenType::kComma));
  Expect(TokenType::kRightCurly);
  End(Kind::kOther, mark);
}

}  // namespace assay::lint
