// The lexer's class, for its sources only.
#pragma once

#include <string_view>
#include <vector>

#include "lint/python_lexer.h"

namespace assay::lint {

// CPython's limits. They also bound how deep the parser recurses.
inline constexpr size_t kMaxBrackets = 200;
inline constexpr size_t kMaxIndents = 100;

/// What a word before a quote says about the literal.
struct StringPrefix {
  bool valid = false;
  bool raw = false;
  bool format = false;
};

StringPrefix StringPrefixOf(std::string_view word);

/// A string whose end the lexer looks for.
struct Quotes {
  char quote = 0;
  bool triple = false;
  bool raw = false;
  size_t brackets = 0;  ///< open when an f-string began
};

/// An open bracket, or field of an f-string.
struct Bracket {
  char open = 0;
  bool field = false;
  bool in_field = false;  ///< it is a field, or in one
  // How many of each kind are open in the same field, this one included.
  uint8_t parens = 0;
  uint8_t squares = 0;
  uint8_t curlies = 0;
};

struct Indent {
  uint32_t column = 0;
  uint32_t narrow = 0;  ///< with tabs of one column: indentation must not depend on their width
};

class PythonLexer {
 public:
  explicit PythonLexer(std::string_view source) : source_(source) {}

  std::vector<Token> Run();

 private:
  [[nodiscard]] char Peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void Add(TokenType type, size_t start, size_t end) {
    tokens_.push_back({type, static_cast<uint32_t>(start), static_cast<uint32_t>(end)});
  }
  /// Adds the next `length` bytes as a token.
  void Take(TokenType type, size_t length) {
    Add(type, at_, at_ + length);
    at_ += length;
  }

  /// Length of the line end at an offset, 0 if there is none.
  [[nodiscard]] size_t LineEnd(size_t at) const {
    if (at >= source_.size()) return 0;
    if (source_[at] == '\n') return 1;
    if (source_[at] != '\r') return 0;
    return at + 1 < source_.size() && source_[at + 1] == '\n' ? 2 : 1;
  }

  void SkipComment() {
    while (at_ < source_.size() && source_[at_] != '\n' && source_[at_] != '\r') ++at_;
  }

  void BeginLine();
  void AddIndentation(Indent indent);
  void Finish();
  void Next();
  void Word();
  void Number();
  void Operator();
  void Open(TokenType type, char open);
  void Close(TokenType type, char open);
  void CloseField();
  void String(size_t start, const StringPrefix& prefix);
  void FormatText();
  void EndOpenBrackets();

  std::string_view source_;
  size_t at_ = 0;
  bool line_begins_ = false;  ///< inside brackets: nothing of this line was seen yet
  std::vector<Token> tokens_;
  std::vector<Bracket> brackets_;
  std::vector<Quotes> formats_;  ///< open f-strings
  std::vector<Indent> indents_{{}};
};

}  // namespace assay::lint
