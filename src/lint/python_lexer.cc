#include "lint/python_lexer.h"

#include <utility>

#include "lint/python_chars.h"
#include "lint/python_keywords.h"
#include "lint/python_lexer_impl.h"

namespace assay::lint {

std::vector<Token> TokenizePython(std::string_view source) { return PythonLexer(source).Run(); }

std::vector<Token> PythonLexer::Run() {
  tokens_.reserve(source_.size() / 3 + 16);
  if (source_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
  BeginLine();
  while (at_ < source_.size()) Next();
  Finish();
  return std::move(tokens_);
}

/// Skips blank lines and adds the indents and dedents before the next other one.
void PythonLexer::BeginLine() {
  for (;;) {
    Indent indent;
    uint32_t joined = 0;  // the first physical line of several counts
    for (;;) {
      const char c = Peek();
      if (c == ' ') {
        ++indent.column;
        ++indent.narrow;
      } else if (c == '\t') {
        indent.column = (indent.column / 8 + 1) * 8;
        ++indent.narrow;
      } else if (c == '\f') {
        indent = {};
      } else if (c == '\\' && LineEnd(at_ + 1) > 0) {
        if (joined == 0) joined = indent.column;
        at_ += LineEnd(at_ + 1);
      } else {
        break;
      }
      ++at_;
    }
    if (Peek() == '#') SkipComment();
    if (at_ >= source_.size()) return;
    if (const size_t length = LineEnd(at_); length > 0) {
      at_ += length;
      continue;
    }
    AddIndentation(joined != 0 ? Indent{joined, joined} : indent);
    return;
  }
}

void PythonLexer::AddIndentation(Indent indent) {
  bool bad = false;
  if (indent.column > indents_.back().column) {
    bad = indents_.size() >= kMaxIndents || indent.narrow <= indents_.back().narrow;
    if (indents_.size() < kMaxIndents) {
      indents_.push_back(indent);
      Add(TokenType::kIndent, at_, at_);
    }
  } else {
    while (indent.column < indents_.back().column) {
      // A line between two levels goes on with the deeper one, which is at its column from here.
      if (indent.column > indents_[indents_.size() - 2].column) {
        indents_.back() = indent;
        bad = true;
        break;
      }
      indents_.pop_back();
      Add(TokenType::kDedent, at_, at_);
    }
    bad |= indent.narrow != indents_.back().narrow;
  }
  if (bad) Add(TokenType::kBadIndent, at_, at_);
}

void PythonLexer::Finish() {
  const size_t end = source_.size();
  if (!tokens_.empty() && tokens_.back().type != TokenType::kNewline)
    Add(TokenType::kNewline, end, end);
  for (; indents_.size() > 1; indents_.pop_back()) Add(TokenType::kDedent, end, end);
  Add(TokenType::kEnd, end, end);
}

/// Ends all brackets and f-strings, so that the text goes on with a new line.
void PythonLexer::EndOpenBrackets() {
  brackets_.clear();
  formats_.clear();
  Add(TokenType::kNewline, at_, at_);
  // Back to the line's begin, for its indentation.
  while (at_ > 0 && (source_[at_ - 1] == ' ' || source_[at_ - 1] == '\t')) --at_;
  BeginLine();
}

void PythonLexer::Next() {
  const char c = source_[at_];
  switch (ClassOf(c)) {
    case CharClass::kBlank:
      ++at_;
      return;
    case CharClass::kLineEnd: {
      const size_t length = LineEnd(at_);
      if (!brackets_.empty()) {
        at_ += length;
        line_begins_ = true;
        return;
      }
      Take(TokenType::kNewline, length);
      BeginLine();
      return;
    }
    case CharClass::kComment:
      SkipComment();
      return;
    case CharClass::kLetter:
      Word();
      break;
    case CharClass::kDigit:
      Number();
      break;
    case CharClass::kQuote:
      String(at_, StringPrefix{true, false, false});
      break;
    case CharClass::kOperator:
      Operator();
      break;
    case CharClass::kBackslash:
      if (const size_t length = LineEnd(at_ + 1); length > 0 && at_ + 1 + length < source_.size()) {
        at_ += 1 + length;
        return;
      }
      Take(TokenType::kBad, 1);
      break;
    case CharClass::kNone:
      Take(TokenType::kBad, 1);
      break;
  }
  line_begins_ = false;
}

void PythonLexer::Word() {
  const size_t start = at_;
  bool valid = true;
  for (;;) {
    while (at_ < source_.size() && IsAsciiWord(source_[at_])) ++at_;
    if (at_ >= source_.size() || static_cast<uint8_t>(source_[at_]) < 0x80) break;
    const CodePoint point = CodePointAt(source_, at_);
    valid &= MayBeInName(point.value);
    at_ += point.length;
  }
  const std::string_view word = source_.substr(start, at_ - start);
  if (Peek() == '"' || Peek() == '\'') {
    if (const StringPrefix prefix = StringPrefixOf(word); prefix.valid) {
      String(start, prefix);
      return;
    }
  }
  const TokenType type = TypeOfPythonWord(word);
  if (line_begins_ && !brackets_.empty() && IsStatementKeyword(type)) {
    at_ = start;
    EndOpenBrackets();
    return;
  }
  Add(valid ? type : TokenType::kBad, start, at_);
}

void PythonLexer::Number() {
  const size_t start = at_;
  const auto digits = [this](auto is_digit) {
    while (is_digit(Peek()) || (Peek() == '_' && is_digit(Peek(1)))) ++at_;
  };
  const auto lower = static_cast<char>(Peek(1) | 0x20);
  if (Peek() == '0' && (lower == 'x' || lower == 'o' || lower == 'b')) {
    at_ += 2;
    if (lower == 'x') {
      digits(IsHexDigit);
    } else {
      digits(IsDigit);
    }
  } else {
    digits(IsDigit);
    if (Peek() == '.') {
      ++at_;
      digits(IsDigit);
    }
    if ((Peek() | 0x20) == 'e') {
      const size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
      if (IsDigit(Peek(1 + sign))) {
        at_ += 1 + sign;
        digits(IsDigit);
      }
    }
    if ((Peek() | 0x20) == 'j') ++at_;
  }
  // `1if x else y` is a number and a keyword; other letters make it neither.
  size_t end = at_;
  while (end < source_.size() && IsAsciiWord(source_[end])) ++end;
  if (end > at_) {
    switch (TypeOfPythonWord(source_.substr(at_, end - at_))) {
      case TokenType::kAnd:
      case TokenType::kElse:
      case TokenType::kFor:
      case TokenType::kIf:
      case TokenType::kIn:
      case TokenType::kIs:
      case TokenType::kNot:
      case TokenType::kOr:
        break;
      default:
        at_ = end;
        Add(TokenType::kBad, start, at_);
        return;
    }
  }
  Add(TokenType::kNumber, start, at_);
}

void PythonLexer::Open(TokenType type, char open) {
  if (brackets_.size() >= kMaxBrackets) {
    Take(TokenType::kBad, 1);
    return;
  }
  Bracket bracket;
  const bool field = type == TokenType::kFieldOpen;
  if (!field && !brackets_.empty()) bracket = brackets_.back();
  bracket.open = open;
  bracket.field = field;
  bracket.in_field |= field;
  (open == '(' ? bracket.parens : open == '[' ? bracket.squares : bracket.curlies) += 1;
  brackets_.push_back(bracket);
  Take(type, 1);
}

void PythonLexer::Close(TokenType type, char open) {
  if (brackets_.empty()) {
    Take(TokenType::kBad, 1);
    return;
  }
  const Bracket& top = brackets_.back();
  const bool fits = open == '(' ? top.parens > 0 : open == '[' ? top.squares > 0 : top.curlies > 0;
  if (!fits) {
    Take(TokenType::kBad, 1);
    return;
  }
  if (open == '{' && top.in_field && top.curlies == 1) {  // the field's own
    CloseField();
    return;
  }
  // Those opened after it were not closed; the parser sees what is missing.
  while (brackets_.back().open != open) brackets_.pop_back();
  brackets_.pop_back();
  Take(type, 1);
}

void PythonLexer::CloseField() {
  while (!brackets_.back().field) brackets_.pop_back();
  brackets_.pop_back();
  Take(TokenType::kFieldClose, 1);
  FormatText();
}

void PythonLexer::Operator() {
  using enum TokenType;
  const char c = source_[at_];
  const char second = Peek(1);
  // An operator, or its augmented assignment.
  const auto assignable = [&](TokenType type, size_t length) {
    const bool assigns = Peek(length) == '=';
    Take(assigns ? kAugmentedAssign : type, length + (assigns ? 1 : 0));
  };
  const bool field = !brackets_.empty() && brackets_.back().field;
  switch (c) {
    case '(':
      return Open(kLeftParen, '(');
    case '[':
      return Open(kLeftSquare, '[');
    case '{':
      return Open(kLeftCurly, '{');
    case ')':
      return Close(kRightParen, '(');
    case ']':
      return Close(kRightSquare, '[');
    case '}':
      return Close(kRightCurly, '{');
    case ',':
      return Take(kComma, 1);
    case ';':
      return Take(kSemicolon, 1);
    case '~':
      return Take(kTilde, 1);
    case ':':
      if (field) {
        Take(kFieldColon, 1);
        return FormatText();
      }
      return second == '=' ? Take(kWalrus, 2) : Take(kColon, 1);
    case '.':
      if (IsDigit(second)) return Number();
      return second == '.' && Peek(2) == '.' ? Take(kEllipsis, 3) : Take(kDot, 1);
    case '!':
      if (second == '=') return Take(kCompare, 2);
      return Take(field ? kBang : kBad, 1);
    case '=':
      return second == '=' ? Take(kCompare, 2) : Take(kAssign, 1);
    case '<':
    case '>':
      if (second == c) return assignable(kShift, 2);
      return Take(kCompare, second == '=' ? 2 : 1);
    case '-':
      return second == '>' ? Take(kArrow, 2) : assignable(kMinus, 1);
    case '*':
      return second == '*' ? assignable(kDoubleStar, 2) : assignable(kStar, 1);
    case '/':
      return second == '/' ? assignable(kDivide, 2) : assignable(kSlash, 1);
    case '@':
      return second == '=' ? Take(kAtAssign, 2) : Take(kAt, 1);
    case '%':
      return assignable(kDivide, 1);
    case '+':
      return assignable(kPlus, 1);
    case '|':
      return assignable(kPipe, 1);
    case '^':
      return assignable(kCaret, 1);
    case '&':
      return assignable(kAmpersand, 1);
    default:
      return Take(kBad, 1);
  }
}

}  // namespace assay::lint
