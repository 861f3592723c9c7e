// Compound statements, parameters and types.
#include "lint/python_parser_impl.h"

namespace assay::lint {

/// The colon and the block or statements behind it. Recovers from an error in what was before.
void PythonParser::Suite() {
  Expect(TokenType::kColon);
  const bool failed = Failed();
  if (failed) {
    Recover();
  } else if (!Is(TokenType::kNewline)) {
    const Mark block = Begin();
    SimpleStatements();
    return End(Kind::kBlock, block);
  }
  if (Is(TokenType::kNewline)) Skip();
  if (!Is(TokenType::kIndent)) {
    if (!failed) AddError(Current().start, Current().start);
    return;
  }
  Skip();
  const Mark block = Begin();
  Statements();
  End(Kind::kBlock, block);
  if (Is(TokenType::kDedent)) Skip();
}

void PythonParser::ElseClause() {
  if (!Is(TokenType::kElse)) return;
  const Mark mark = Begin();
  Advance();
  Suite();
  End(Kind::kOther, mark);
}

void PythonParser::If() {
  const Mark mark = Begin();
  Advance();
  NamedExpression();
  Suite();
  while (Is(TokenType::kElif)) {
    const Mark clause = Begin();
    Advance();
    NamedExpression();
    Suite();
    End(Kind::kOther, clause);
  }
  ElseClause();
  End(Kind::kIf, mark);
}

void PythonParser::While() {
  const Mark mark = Begin();
  Advance();
  NamedExpression();
  Suite();
  ElseClause();
  End(Kind::kWhile, mark);
}

void PythonParser::For(Mark mark) {
  Advance();
  Targets();
  Expect(TokenType::kIn);
  ExpressionList();
  Suite();
  ElseClause();
  End(Kind::kFor, mark);
}

void PythonParser::Try() {
  const Mark mark = Begin();
  Advance();
  Suite();
  bool handled = false;
  while (Is(TokenType::kExcept)) {
    handled = true;
    const Mark clause = Begin();
    Advance();
    Accept(TokenType::kStar);
    if (!Is(TokenType::kColon)) {
      const Mark caught = Begin();
      Expression();
      while (Accept(TokenType::kComma)) Expression();
      if (Accept(TokenType::kAs)) {
        const Mark target = Begin();
        TakeName();
        End(Kind::kAsPatternTarget, target);
        End(Kind::kAsPattern, caught);
      }
    }
    Suite();
    End(Kind::kExceptClause, clause);
  }
  ElseClause();
  if (Is(TokenType::kFinally)) {
    handled = true;
    const Mark clause = Begin();
    Advance();
    Suite();
    End(Kind::kFinallyClause, clause);
  }
  if (!handled) AddError(Current().start, Current().start);
  End(Kind::kTry, mark);
}

/// Whether the parenthesis here is around items, not part of the first one, and has `several`.
bool PythonParser::HasParenthesizedItems(bool* several) const {
  *several = false;
  if (!Is(TokenType::kLeftParen)) return false;
  bool alias = false;
  int depth = 0;
  for (size_t i = at_;; ++i) {
    switch (tokens_[i].type) {
      case TokenType::kLeftParen:
      case TokenType::kLeftSquare:
      case TokenType::kLeftCurly:
      case TokenType::kFieldOpen:
        ++depth;
        break;
      case TokenType::kRightParen:
      case TokenType::kRightSquare:
      case TokenType::kRightCurly:
      case TokenType::kFieldClose:
        if (--depth == 0) return tokens_[i + 1].type == TokenType::kColon && (alias || *several);
        break;
      case TokenType::kComma:
        *several |= depth == 1;
        // A tuple with a starred element.
        if (depth == 1 && tokens_[i + 1].type == TokenType::kStar) return false;
        break;
      case TokenType::kAs:
        alias |= depth == 1;
        break;
      case TokenType::kStar:
      case TokenType::kYield:
        if (i == at_ + 1) return false;
        break;
      case TokenType::kFor:
      case TokenType::kWalrus:
      case TokenType::kLambda:
        if (depth == 1 && !alias) return false;
        break;
      case TokenType::kNewline:
      case TokenType::kEnd:
        return false;
      default:
        break;
    }
  }
}

void PythonParser::With(Mark mark) {
  Advance();
  const Mark clause = Begin();
  bool several = false;
  if (HasParenthesizedItems(&several)) {
    Advance();
    if (several) {
      do {
        if (Is(TokenType::kRightParen)) break;
        WithItem();
      } while (Accept(TokenType::kComma));
      Expect(TokenType::kRightParen);
    } else {
      // `with (a as b)`: the parentheses are the item's.
      const Mark item = Begin();
      Expression();
      Expect(TokenType::kAs);
      const Mark target = Begin();
      Primary();
      End(Kind::kAsPatternTarget, target);
      End(Kind::kAsPattern, item);
      Expect(TokenType::kRightParen);
      End(Kind::kParenthesized, clause);
      End(Kind::kWithItem, clause);
    }
  } else {
    do WithItem();
    while (Accept(TokenType::kComma));
  }
  End(Kind::kOther, clause);
  Suite();
  End(Kind::kOther, mark);
}

void PythonParser::WithItem() {
  const Mark mark = Begin();
  Expression();
  if (Accept(TokenType::kAs)) {
    const Mark target = Begin();
    Primary();
    End(Kind::kAsPatternTarget, target);
    End(Kind::kAsPattern, mark);
  }
  End(Kind::kWithItem, mark);
}

void PythonParser::Async() {
  const Mark mark = Begin();
  Advance();
  switch (type_) {
    case TokenType::kDef:
      return Function(mark);
    case TokenType::kFor:
      return For(mark);
    case TokenType::kWith:
      return With(mark);
    default:
      Fail();
      FinishLine();
  }
}

void PythonParser::Decorated() {
  const Mark mark = Begin();
  while (Is(TokenType::kAt)) {
    const Mark decorator = Begin();
    TakeLeaf(Kind::kAt);
    NamedExpression();
    End(Kind::kDecorator, decorator);
    FinishLine();
    for (; Is(TokenType::kBadIndent); Skip()) AddError(Current().start, Current().end);
  }
  if (Is(TokenType::kDef)) {
    Function(Begin());
  } else if (Is(TokenType::kClass)) {
    Class(Begin());
  } else if (Is(TokenType::kAsync) && NextType() == TokenType::kDef) {
    Async();
  } else {
    // What follows is parsed as if there were no decorator.
    AddError(Current().start, Current().start);
  }
  End(Kind::kDecorated, mark);
}

void PythonParser::Function(Mark mark) {
  Advance();
  TakeName();
  if (Is(TokenType::kLeftSquare)) TypeParameters();
  const Mark parameters = Begin();
  Expect(TokenType::kLeftParen);
  Parameters(TokenType::kRightParen);
  Expect(TokenType::kRightParen);
  End(Kind::kParameters, parameters);
  if (Accept(TokenType::kArrow)) Type();
  Suite();
  End(Kind::kFunction, mark);
}

void PythonParser::Class(Mark mark) {
  Advance();
  TakeName();
  if (Is(TokenType::kLeftSquare)) TypeParameters();
  if (Is(TokenType::kLeftParen)) Arguments();
  Suite();
  End(Kind::kClass, mark);
}

void PythonParser::Parameters(TokenType close) {
  while (!Is(close) && !Failed()) {
    Parameter(close == TokenType::kRightParen);
    if (!Accept(TokenType::kComma)) break;
  }
}

/// One parameter; those of a lambda are not `typed`.
void PythonParser::Parameter(bool typed) {
  const Mark mark = Begin();
  switch (type_) {
    case TokenType::kSlash:
      return TakeLeaf(Kind::kPositionalSeparator);
    case TokenType::kStar:
    case TokenType::kDoubleStar: {
      const bool list = Is(TokenType::kStar);
      Advance();
      if (list && Is(TokenType::kComma)) return End(Kind::kKeywordSeparator, mark);
      TakeName();
      End(list ? Kind::kListSplatPattern : Kind::kDictSplatPattern, mark);
      if (typed && Accept(TokenType::kColon)) {
        Type();
        End(Kind::kTypedParameter, mark);
      }
      return;
    }
    default:
      break;
  }
  TakeName();
  const bool type = typed && Accept(TokenType::kColon);
  if (type) Type();
  if (Accept(TokenType::kAssign)) {
    Expression();
    End(type ? Kind::kTypedDefaultParameter : Kind::kDefaultParameter, mark);
  } else if (type) {
    End(Kind::kTypedParameter, mark);
  }
}

void PythonParser::Type() {
  const Mark mark = Begin();
  if (Accept(TokenType::kStar)) {
    Expression();
    End(Kind::kOther, mark);
  } else {
    Expression();
  }
  End(Kind::kType, mark);
}

/// `[T: bound = default, *Ts, **P]`. Every name, bound and default is a type; a name and its bound
/// are in one.
void PythonParser::TypeParameters() {
  const Mark mark = Begin();
  Advance();
  do {
    if (Is(TokenType::kRightSquare)) break;
    const Mark parameter = Begin();
    if (Accept(TokenType::kStar) || Accept(TokenType::kDoubleStar)) {
      TakeName();
      End(Kind::kOther, parameter);
    } else {
      TakeName();
    }
    if (Is(TokenType::kColon)) {
      End(Kind::kType, parameter);
      Advance();
      Type();
      End(Kind::kOther, parameter);
    }
    End(Kind::kType, parameter);
    if (Accept(TokenType::kAssign)) Type();
  } while (Accept(TokenType::kComma));
  Expect(TokenType::kRightSquare);
  End(Kind::kOther, mark);
}

}  // namespace assay::lint
