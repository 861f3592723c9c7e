// String literals and the text of f-strings.
#include <algorithm>

#include "lint/python_lexer_impl.h"

namespace assay::lint {

/// What a word before a quote says about the literal.
StringPrefix StringPrefixOf(std::string_view word) {
  StringPrefix prefix;
  if (word.size() > 2) return prefix;
  bool bytes = false;
  bool unicode = false;
  for (const char c : word) {
    const auto lower = static_cast<char>(c | 0x20);
    bool* const flag = lower == 'r'                   ? &prefix.raw
                       : lower == 'f' || lower == 't' ? &prefix.format
                       : lower == 'b'                 ? &bytes
                       : lower == 'u'                 ? &unicode
                                                      : nullptr;
    if (flag == nullptr || *flag) return prefix;
    *flag = true;
  }
  prefix.valid = !(prefix.format && bytes) && !(unicode && word.size() > 1);
  return prefix;
}

/// A string literal that began at `start`; its quotes are next.
void PythonLexer::String(size_t start, const StringPrefix& prefix) {
  Quotes quotes{Peek(), false, prefix.raw, brackets_.size()};
  quotes.triple = Peek(1) == quotes.quote && Peek(2) == quotes.quote;
  at_ += quotes.triple ? 3 : 1;
  if (prefix.format) {
    Add(TokenType::kFormatOpen, start, at_);
    formats_.push_back(quotes);
    return FormatText();
  }
  for (; at_ < source_.size(); ++at_) {
    const char c = source_[at_];
    if (c == '\\') {
      // The next character is no end, whatever it is.
      at_ += std::max<size_t>(LineEnd(at_ + 1), 1);
    } else if (c == quotes.quote) {
      if (quotes.triple && !(Peek(1) == c && Peek(2) == c)) continue;
      at_ += quotes.triple ? 3 : 1;
      return Add(TokenType::kString, start, at_);
    } else if (!quotes.triple && (c == '\n' || c == '\r')) {
      break;
    }
  }
  at_ = std::min(at_, source_.size());
  Add(TokenType::kBad, start, at_);
}

/// The text of the innermost f-string, or of a format specifier in it, up to its end or the next
/// field.
void PythonLexer::FormatText() {
  const Quotes quotes = formats_.back();
  const bool specifier = brackets_.size() > quotes.brackets;
  size_t start = at_;
  const auto end_text = [&] {
    if (at_ > start) Add(TokenType::kFormatText, start, at_);
  };
  const auto leave = [&] {
    brackets_.resize(quotes.brackets);
    formats_.pop_back();
  };
  for (; at_ < source_.size(); ++at_) {
    const char c = source_[at_];
    if (c == '\\') {
      const char next = Peek(1);
      if (!quotes.raw && !specifier && next == 'N' && Peek(2) == '{') {
        // A character's name; its braces are no field's.
        at_ += 2;
        while (at_ + 1 < source_.size() && source_[at_] != '}' && source_[at_] != quotes.quote &&
               source_[at_] != '\n')
          ++at_;
        if (source_[at_] != '}') --at_;
      } else if (next != '{' && next != '}') {
        at_ += std::max<size_t>(LineEnd(at_ + 1), 1);
      }
    } else if (c == '{') {
      if (Peek(1) == '{' && !specifier) {
        ++at_;
        continue;
      }
      end_text();
      if (brackets_.size() >= kMaxBrackets) leave();
      return Open(TokenType::kFieldOpen, '{');
    } else if (c == '}') {
      if (specifier) {
        end_text();
        return CloseField();
      }
      if (Peek(1) == '}') {
        ++at_;
        continue;
      }
      end_text();
      Add(TokenType::kBad, at_, at_ + 1);
      start = at_ + 1;
    } else if (c == quotes.quote) {
      if (quotes.triple && !(Peek(1) == c && Peek(2) == c)) continue;
      end_text();
      leave();  // in a specifier the field is not closed; the parser sees that
      return Take(TokenType::kFormatClose, quotes.triple ? 3 : 1);
    } else if (!quotes.triple && (c == '\n' || c == '\r')) {
      break;
    }
  }
  at_ = std::min(at_, source_.size());
  leave();
  Add(TokenType::kBad, start, at_);
}

size_t StringPrefixLength(std::string_view literal) {
  return std::min(literal.find_first_of("\"'"), literal.size());
}

}  // namespace assay::lint
