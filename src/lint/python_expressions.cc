// Expressions and assignment targets.
#include <array>

#include "lint/python_parser_impl.h"

namespace assay::lint {
namespace {

// Brackets and lambdas in each other, where the lexer lets at most 200 brackets through.
constexpr int kMaxDepth = 400;

constexpr size_t kTokenTypes = static_cast<size_t>(TokenType::kCount);

constexpr auto kBeginsExpression = [] {
  std::array<bool, kTokenTypes> begins{};
  for (const TokenType type :
       {TokenType::kName, TokenType::kNumber, TokenType::kString, TokenType::kFormatOpen,
        TokenType::kAwait, TokenType::kFalse, TokenType::kLambda, TokenType::kNone, TokenType::kNot,
        TokenType::kTrue, TokenType::kLeftParen, TokenType::kLeftSquare, TokenType::kLeftCurly,
        TokenType::kEllipsis, TokenType::kPlus, TokenType::kMinus, TokenType::kStar,
        TokenType::kTilde})
    begins[static_cast<size_t>(type)] = true;
  return begins;
}();

constexpr auto kPrecedences = [] {
  std::array<Precedence, kTokenTypes> table{};
  const auto set = [&table](TokenType type, Precedence precedence) {
    table[static_cast<size_t>(type)] = precedence;
  };
  set(TokenType::kOr, Precedence::kOr);
  set(TokenType::kAnd, Precedence::kAnd);
  set(TokenType::kNot, Precedence::kCompare);  // of `not in`
  set(TokenType::kIn, Precedence::kCompare);
  set(TokenType::kIs, Precedence::kCompare);
  set(TokenType::kCompare, Precedence::kCompare);
  set(TokenType::kPipe, Precedence::kBitOr);
  set(TokenType::kCaret, Precedence::kBitXor);
  set(TokenType::kAmpersand, Precedence::kBitAnd);
  set(TokenType::kShift, Precedence::kShift);
  set(TokenType::kPlus, Precedence::kSum);
  set(TokenType::kMinus, Precedence::kSum);
  set(TokenType::kStar, Precedence::kProduct);
  set(TokenType::kSlash, Precedence::kProduct);
  set(TokenType::kDivide, Precedence::kProduct);
  set(TokenType::kAt, Precedence::kProduct);
  set(TokenType::kDoubleStar, Precedence::kPower);
  return table;
}();

constexpr Kind KindOf(Precedence precedence) {
  switch (precedence) {
    case Precedence::kOr:
    case Precedence::kAnd:
      return Kind::kBooleanOperator;
    case Precedence::kCompare:
      return Kind::kOther;
    default:
      return Kind::kBinaryOperator;
  }
}

}  // namespace

bool PythonParser::BeginsExpression() const {
  return kBeginsExpression[static_cast<size_t>(type_)];
}

void PythonParser::Expression() {
  if (++depth_ > kMaxDepth) Fail();
  const size_t base = pending_.size();
  while (!Failed()) {
    const Mark mark = Begin();
    if (Is(TokenType::kLambda)) {
      Lambda();
      Wait(Kind::kLambda, mark);
      continue;
    }
    Operators(Precedence::kOr);
    if (!Accept(TokenType::kIf)) break;
    Operators(Precedence::kOr);
    Expect(TokenType::kElse);
    Wait(Kind::kConditional, mark);
  }
  EndPendingDownTo(base);
  --depth_;
}

/// A lambda up to its colon.
void PythonParser::Lambda() {
  Advance();
  if (!Is(TokenType::kColon)) {
    const Mark parameters = Begin();
    Parameters(TokenType::kColon);
    End(Kind::kLambdaParameters, parameters);
  }
  Expect(TokenType::kColon);
}

void PythonParser::NamedExpression() {
  if (Is(TokenType::kName) && NextType() == TokenType::kWalrus) {
    const Mark mark = Begin();
    TakeName();
    Advance();
    Expression();
    End(Kind::kNamedExpression, mark);
  } else {
    Expression();
  }
}

void PythonParser::StarExpression() {
  const Mark mark = Begin();
  Advance();
  Expression();
  End(Kind::kListSplat, mark);
}

/// An element of a list of expressions.
void PythonParser::Item(bool named) {
  if (Is(TokenType::kStar)) {
    StarExpression();
  } else if (named) {
    NamedExpression();
  } else {
    Expression();
  }
}

/// One expression or several, as siblings; whether there was a comma.
bool PythonParser::StarExpressions(bool named) {
  Item(named);
  if (!Is(TokenType::kComma)) return false;
  while (Accept(TokenType::kComma) && BeginsExpression()) Item(named);
  return true;
}

void PythonParser::ExpressionList() {
  const Mark mark = Begin();
  if (StarExpressions(false)) End(Kind::kExpressionList, mark);
}

void PythonParser::YieldOrList() {
  if (Is(TokenType::kYield)) {
    Yield();
  } else {
    ExpressionList();
  }
}

void PythonParser::Yield() {
  const Mark mark = Begin();
  Advance();
  if (Accept(TokenType::kFrom)) {
    Expression();
  } else if (BeginsExpression()) {
    ExpressionList();
  }
  End(Kind::kOther, mark);
}

/// Operands and operators that bind at least so tightly.
void PythonParser::Operators(Precedence least) {
  const size_t base = pending_.size();
  for (;;) {
    // Prefixes wait for their operand.
    for (;;) {
      if (Is(TokenType::kNot)) {
        const bool tighter =
            pending_.size() > base && pending_.back().precedence > Precedence::kNot;
        if (tighter) Fail();  // `1 + not x`
        Wait(Kind::kOther, Begin(), Precedence::kNot);
        Accept(TokenType::kNot);
      } else if (Is(TokenType::kMinus) || Is(TokenType::kPlus) || Is(TokenType::kTilde)) {
        Wait(Kind::kOther, Begin(), Precedence::kUnary);
        Advance();
      } else {
        break;
      }
    }
    Mark operand = Begin();
    Primary();

    Precedence next = kPrecedences[static_cast<size_t>(type_)];
    if (next < least || (Is(TokenType::kNot) && NextType() != TokenType::kIn))
      next = Precedence::kNone;
    // What binds more tightly than the next operator has its last operand now. Powers group from
    // the right, and comparisons are one node.
    const bool right = next == Precedence::kPower || next == Precedence::kCompare;
    while (pending_.size() > base &&
           (pending_.back().precedence > next || (pending_.back().precedence == next && !right)))
      operand = EndPending();
    if (next == Precedence::kNone) return;
    if (next != Precedence::kCompare || pending_.size() == base ||
        pending_.back().precedence != next)
      Wait(KindOf(next), operand, next);
    TakeOperator();
  }
}

void PythonParser::TakeOperator() {
  if (Is(TokenType::kAt)) return TakeLeaf(Kind::kAt);
  const bool is = Is(TokenType::kIs);
  const bool negated = Is(TokenType::kNot);
  Advance();
  if (is) Accept(TokenType::kNot);
  if (negated) Expect(TokenType::kIn);
}

/// An atom with its attributes, calls and subscripts, perhaps awaited.
void PythonParser::Primary() {
  const Mark mark = Begin();
  const bool awaited = Accept(TokenType::kAwait);
  const Mark object = Begin();
  Atom();
  for (;;) {
    switch (type_) {
      case TokenType::kDot:
        Advance();
        TakeName();
        End(Kind::kAttribute, object);
        break;
      case TokenType::kLeftParen:
        Arguments();
        End(Kind::kCall, object);
        break;
      case TokenType::kLeftSquare:
        Subscript();
        End(Kind::kSubscript, object);
        break;
      default:
        if (awaited) End(Kind::kAwait, mark);
        return;
    }
  }
}

void PythonParser::Atom() {
  switch (type_) {
    case TokenType::kName:
      return TakeLeaf(Kind::kIdentifier);
    case TokenType::kNone:
      return TakeLeaf(Kind::kNone);
    case TokenType::kNumber:
    case TokenType::kTrue:
    case TokenType::kFalse:
    case TokenType::kEllipsis:
      return TakeLeaf(Kind::kOther);
    case TokenType::kString:
    case TokenType::kFormatOpen:
      return Strings();
    case TokenType::kLeftParen:
      return Parenthesized();
    case TokenType::kLeftSquare:
      return List();
    case TokenType::kLeftCurly:
      return Curly();
    default:
      return Fail();
  }
}

/// The elements after the first one.
void PythonParser::MoreItems(TokenType close) {
  while (Accept(TokenType::kComma) && !Is(close)) Item(true);
}

void PythonParser::Parenthesized() {
  const Mark mark = Begin();
  Kind kind = Kind::kParenthesized;
  Advance();
  if (Is(TokenType::kRightParen)) {
    kind = Kind::kTuple;
  } else if (Is(TokenType::kYield)) {
    Yield();
  } else {
    Item(true);
    if (AtComprehension()) {
      Comprehension();
      kind = Kind::kOther;
    } else if (Is(TokenType::kComma)) {
      MoreItems(TokenType::kRightParen);
      kind = Kind::kTuple;
    }
  }
  Expect(TokenType::kRightParen);
  End(kind, mark);
}

void PythonParser::List() {
  const Mark mark = Begin();
  Kind kind = Kind::kList;
  Advance();
  if (!Is(TokenType::kRightSquare)) {
    Item(true);
    if (AtComprehension()) {
      Comprehension();
      kind = Kind::kOther;
    } else {
      MoreItems(TokenType::kRightSquare);
    }
  }
  Expect(TokenType::kRightSquare);
  End(kind, mark);
}

/// A dictionary, a set or a comprehension of one.
void PythonParser::Curly() {
  const Mark mark = Begin();
  Kind kind = Kind::kDictionary;
  Advance();
  if (!Is(TokenType::kRightCurly)) {
    if (!DictionaryItem()) kind = Kind::kOther;
    if (AtComprehension()) {
      Comprehension();
      kind = Kind::kOther;
    } else {
      while (Accept(TokenType::kComma) && !Is(TokenType::kRightCurly)) DictionaryItem();
    }
  }
  Expect(TokenType::kRightCurly);
  End(kind, mark);
}

/// An element of a dictionary or set; whether it can only be of a dictionary.
bool PythonParser::DictionaryItem() {
  const Mark mark = Begin();
  if (Accept(TokenType::kDoubleStar)) {
    Expression();
    End(Kind::kDictSplat, mark);
    return true;
  }
  Item(true);
  if (!Accept(TokenType::kColon)) return false;
  Expression();
  End(Kind::kPair, mark);
  return true;
}

void PythonParser::Arguments() {
  const Mark mark = Begin();
  Kind kind = Kind::kArgumentList;
  Advance();
  if (!Is(TokenType::kRightParen)) {
    Argument();
    if (AtComprehension()) {
      Comprehension();  // its parentheses are those of the call
      kind = Kind::kOther;
    } else {
      while (Accept(TokenType::kComma) && !Is(TokenType::kRightParen)) Argument();
    }
  }
  Expect(TokenType::kRightParen);
  End(kind, mark);
}

void PythonParser::Argument() {
  const Mark mark = Begin();
  if (Accept(TokenType::kDoubleStar)) {
    Expression();
    End(Kind::kDictSplat, mark);
  } else if (Is(TokenType::kName) && NextType() == TokenType::kAssign) {
    TakeName();
    Advance();
    Expression();
    End(Kind::kKeywordArgument, mark);
  } else {
    Item(true);
  }
}

void PythonParser::Subscript() {
  Advance();
  Slice();
  while (Accept(TokenType::kComma) && !Is(TokenType::kRightSquare)) Slice();
  Expect(TokenType::kRightSquare);
}

void PythonParser::Slice() {
  const Mark mark = Begin();
  if (!Is(TokenType::kColon)) Item(true);
  if (!Accept(TokenType::kColon)) return;
  if (BeginsExpression()) Expression();
  if (Accept(TokenType::kColon) && BeginsExpression()) Expression();
  End(Kind::kOther, mark);
}

/// The clauses of a comprehension.
void PythonParser::Comprehension() {
  for (;;) {
    const Mark mark = Begin();
    if (AtComprehension()) {
      Accept(TokenType::kAsync);
      Expect(TokenType::kFor);
      Targets();
      Expect(TokenType::kIn);
      Operators(Precedence::kOr);
      End(Kind::kForInClause, mark);
    } else if (Accept(TokenType::kIf)) {
      Operators(Precedence::kOr);
      End(Kind::kOther, mark);
    } else {
      return;
    }
  }
}

/// What a `for` assigns to.
void PythonParser::Targets() {
  const Mark mark = Begin();
  bool list = false;
  do {
    if (list && !BeginsExpression()) break;  // behind the last comma
    const Mark target = Begin();
    if (Accept(TokenType::kStar)) {
      Operators(Precedence::kBitOr);
      End(Kind::kListSplat, target);
    } else {
      Operators(Precedence::kBitOr);
    }
    list |= Is(TokenType::kComma);
  } while (Accept(TokenType::kComma));
  MakeTargets(mark);
  if (list) End(Kind::kPatternList, mark);
}

/// Makes targets of the expressions since `mark`: `(a, [b, *c])` was read before the `=`.
void PythonParser::MakeTargets(Mark mark) {
  if (Failed()) return;
  for (size_t i = nodes_.size(); i > mark.node;) {
    PostNode& node = nodes_[i - 1];
    switch (node.kind) {
      case Kind::kParenthesized:
      case Kind::kTuple:
        node.kind = Kind::kTuplePattern;
        --i;  // and those in it
        break;
      case Kind::kList:
        node.kind = Kind::kListPattern;
        --i;
        break;
      case Kind::kListSplat:
        node.kind = Kind::kListSplatPattern;
        --i;
        break;
      case Kind::kIdentifier:
      case Kind::kAttribute:
      case Kind::kSubscript:
        i -= node.size;
        break;
      default:
        return FailAt(node.start);
    }
  }
}

}  // namespace assay::lint
