// String literals: the lexer found where they end, here is what is in them.
#include "lint/python_chars.h"
#include "lint/python_parser_impl.h"

namespace assay::lint {
namespace {

bool HasLetter(std::string_view prefix, char letter) {
  for (const char c : prefix)
    if ((c | 0x20) == letter) return true;
  return false;
}

/// Whether `count` characters of that kind are at an offset.
template <typename IsDigitKind>
bool HasDigits(std::string_view text, size_t at, size_t count, const IsDigitKind& is_digit) {
  if (at + count > text.size()) return false;
  for (size_t i = at; i < at + count; ++i)
    if (!is_digit(text[i])) return false;
  return true;
}

/// Length of the escape sequence at the begin of a text, 0 when the backslash stands for itself.
size_t EscapeLength(std::string_view text, bool bytes) {
  if (text.size() < 2) return 0;
  const char c = text[1];
  switch (c) {
    case '\n':
    case '\'':
    case '"':
    case '\\':
    case 'a':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
    case 'v':
      return 2;
    case '\r':
      return text.size() > 2 && text[2] == '\n' ? 3 : 2;
    case 'x':
      return HasDigits(text, 2, 2, IsHexDigit) ? 4 : 0;
    case 'u':
      return !bytes && HasDigits(text, 2, 4, IsHexDigit) ? 6 : 0;
    case 'U':
      return !bytes && HasDigits(text, 2, 8, IsHexDigit) ? 10 : 0;
    case 'N': {
      if (bytes || text.size() < 3 || text[2] != '{') return 0;
      const size_t end = text.find_first_of("}\n", 3);
      return end != std::string_view::npos && end > 3 && text[end] == '}' ? end + 1 : 0;
    }
    default: {
      size_t length = 1;
      while (length < 4 && length < text.size() && IsDigit(text[length])) ++length;
      return length > 1 ? length : 0;
    }
  }
}

}  // namespace

/// One literal, or several that are one string.
void PythonParser::Strings() {
  const Mark mark = Begin();
  int count = 0;
  for (;; ++count) {
    if (Is(TokenType::kString)) {
      String();
    } else if (Is(TokenType::kFormatOpen)) {
      FormatString();
    } else {
      break;
    }
  }
  if (count > 1) End(Kind::kConcatenatedString, mark);
}

void PythonParser::String() {
  const Mark mark = Begin();
  const Token token = Current();
  const std::string_view text = source_.substr(token.start, token.end - token.start);
  const size_t prefix = StringPrefixLength(text);
  const bool triple = text.size() >= prefix + 6 && text[prefix + 1] == text[prefix] &&
                      text[prefix + 2] == text[prefix];
  const uint32_t quotes = triple ? 3 : 1;
  const uint32_t content = token.start + static_cast<uint32_t>(prefix) + quotes;
  AddLeaf(Kind::kStringStart, token.start, content);
  Content(content, token.end - quotes, text.substr(0, prefix));
  AddLeaf(Kind::kStringEnd, token.end - quotes, token.end);
  Advance();
  End(Kind::kString, mark);
}

void PythonParser::FormatString() {
  const Mark mark = Begin();
  const std::string_view open = source_.substr(Current().start, Current().end - Current().start);
  const std::string_view prefix = open.substr(0, StringPrefixLength(open));
  TakeLeaf(Kind::kStringStart);
  for (;;) {
    if (Is(TokenType::kFormatText)) {
      Content(Current().start, Current().end, prefix);
      Advance();
    } else if (Is(TokenType::kFieldOpen)) {
      Field(Kind::kInterpolation);
    } else {
      break;
    }
  }
  if (Is(TokenType::kFormatClose)) {
    TakeLeaf(Kind::kStringEnd);
  } else {
    Fail();
  }
  End(Kind::kString, mark);
}

/// A replacement field: of the string, or of a format specifier in it.
void PythonParser::Field(Kind kind) {
  const Mark mark = Begin();
  Advance();
  YieldOrList();
  Accept(TokenType::kAssign);
  const Mark conversion = Begin();
  if (Accept(TokenType::kBang)) {
    Expect(TokenType::kName);
    End(Kind::kOther, conversion);
  }
  const Mark specifier = Begin();
  if (Accept(TokenType::kFieldColon)) {
    for (;;) {
      if (Is(TokenType::kFieldOpen)) {
        Field(Kind::kOther);
      } else if (!Accept(TokenType::kFormatText)) {
        break;
      }
    }
    End(Kind::kOther, specifier);
  }
  Expect(TokenType::kFieldClose);
  End(kind, mark);
}

/// The text between quotes or fields, with its escapes.
void PythonParser::Content(uint32_t start, uint32_t end, std::string_view prefix) {
  if (start == end) return;
  const Mark mark{nodes_.size(), start};
  const std::string_view text = source_.substr(0, end);
  const bool raw = HasLetter(prefix, 'r');
  const bool bytes = HasLetter(prefix, 'b');
  const bool format = HasLetter(prefix, 'f') || HasLetter(prefix, 't');
  if (!raw || format) {
    const std::string_view special = format ? "\\{}" : "\\";
    for (size_t at = text.find_first_of(special, start); at != std::string_view::npos;) {
      size_t length = 2;
      if (text[at] != '\\') {
        if (at + 1 < end && text[at + 1] == text[at])
          AddLeaf(Kind::kOther, static_cast<uint32_t>(at), static_cast<uint32_t>(at + 2));
      } else if (!raw && (length = EscapeLength(text.substr(at), bytes)) > 0) {
        AddLeaf(Kind::kEscape, static_cast<uint32_t>(at), static_cast<uint32_t>(at + length));
      } else {
        length = 1;
      }
      at = text.find_first_of(special, at + length);
    }
  }
  End(Kind::kStringContent, mark, end);
}

}  // namespace assay::lint
