#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <utility>

#include "lint/cpp_scanner.h"

namespace assay::lint {
namespace {

enum CharClass : uint8_t { kStart = 1, kDigit = 2, kSpace = 4 };

/// What each byte may be; the C library's functions ask the locale each time.
constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (size_t c = 0; c < classes.size(); ++c)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c >= 0x80)
      classes[c] = kStart;
  for (size_t c = '0'; c <= '9'; ++c) classes[c] = kDigit;
  for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'})
    classes[static_cast<uint8_t>(c)] = kSpace;
  return classes;
}();

bool Is(char c, unsigned classes) { return (kClasses[static_cast<uint8_t>(c)] & classes) != 0; }

bool IsIdentifierStart(char c) { return Is(c, kStart); }

bool IsDigit(char c) { return Is(c, kDigit); }

bool IsIdentifierPart(char c) { return Is(c, kStart | kDigit); }

/// Reads one source; each Read… consumes what it names at the current position.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  std::vector<CppToken> Run() {
    tokens_.reserve(source_.size() / 3);
    while (at_ < source_.size()) Step();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] char Peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void Emit(CppToken::Type type, size_t start, size_t end) {
    tokens_.push_back({type, source_.substr(start, end - start), static_cast<uint32_t>(start)});
  }

  void Step() {
    const char c = Peek();
    if (c == '\n') {
      line_start_ = true;
      ++at_;
      return;
    }
    if (Is(c, kSpace) || c == '\\') {
      ++at_;
      return;
    }
    if (c == '/' && Peek(1) == '/') return SkipLineComment();
    if (c == '/' && Peek(1) == '*') return SkipTo(source_.find("*/", at_ + 2), 2);
    if (c == '#' && line_start_) return ReadDirective();
    line_start_ = false;
    if (IsIdentifierStart(c)) return ReadIdentifier();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return ReadNumber();
    if (c == '"') return ReadQuoted('"');
    if (c == '\'') return ReadQuoted('\'');
    ReadPunctuation();
  }

  void SkipTo(size_t found, size_t length) {
    at_ = found == std::string_view::npos ? source_.size() : found + length;
  }

  void SkipLineComment() {
    // A backslash before the newline continues the comment.
    do {
      SkipTo(source_.find('\n', at_), 0);
      if (at_ < source_.size() && source_[at_ - 1] != '\\') return;
      if (at_ < source_.size()) ++at_;
    } while (at_ < source_.size());
  }

  void SkipBlanks() {
    while (Peek() == ' ' || Peek() == '\t') ++at_;
  }

  void ReadDirective() {
    line_start_ = false;
    Emit(CppToken::Type::kPunctuation, at_, at_ + 1);
    ++at_;
    SkipBlanks();
    const size_t start = at_;
    while (IsIdentifierPart(Peek())) ++at_;
    const std::string_view directive = source_.substr(start, at_ - start);
    SkipBlanks();
    if (directive == "define")  // the macro's name is no part of what it stands for
      while (IsIdentifierPart(Peek())) ++at_;
    if (directive != "include") return;
    const char close = Peek() == '<' ? '>' : '"';
    if (Peek() != '<' && Peek() != '"') return;
    const size_t name = ++at_;
    while (at_ < source_.size() && Peek() != close && Peek() != '\n') ++at_;
    Emit(CppToken::Type::kHeader, name, at_);
    if (Peek() == close) ++at_;
  }

  void ReadIdentifier() {
    const size_t start = at_;
    while (IsIdentifierPart(Peek())) ++at_;
    const std::string_view text = source_.substr(start, at_ - start);
    if (Peek() == '"' &&
        (text == "R" || text == "u8R" || text == "uR" || text == "UR" || text == "LR"))
      return ReadRawString();
    Emit(CppToken::Type::kIdentifier, start, at_);
  }

  void ReadRawString() {
    // The language allows sixteen characters between the quote and the parenthesis.
    const size_t within = source_.substr(at_, 18).find('(');
    if (within == std::string_view::npos) return ReadQuoted('"');
    const size_t open = at_ + within;
    const std::string close = fmt::format("){}\"", source_.substr(at_ + 1, open - at_ - 1));
    const size_t end = source_.find(close, open);
    Emit(CppToken::Type::kString, open + 1, end == std::string_view::npos ? source_.size() : end);
    SkipTo(end, close.size());
  }

  void ReadNumber() {
    const size_t start = at_;
    while (
        IsIdentifierPart(Peek()) || Peek() == '.' ||
        (Peek() == '\'' && IsIdentifierPart(Peek(1))) ||
        ((Peek() == '+' || Peek() == '-') && (source_[at_ - 1] == 'e' || source_[at_ - 1] == 'E')))
      ++at_;
    Emit(CppToken::Type::kNumber, start, at_);
  }

  void ReadQuoted(char quote) {
    const size_t start = ++at_;
    while (at_ < source_.size() && Peek() != quote && Peek() != '\n')
      at_ += Peek() == '\\' && at_ + 1 < source_.size() ? 2 : 1;
    at_ = at_ < source_.size() ? at_ : source_.size();
    Emit(CppToken::Type::kString, start, at_);
    if (Peek() == quote) ++at_;
  }

  void ReadPunctuation() {
    const size_t length =
        (Peek() == ':' && Peek(1) == ':') || (Peek() == '-' && Peek(1) == '>') ? 2 : 1;
    Emit(CppToken::Type::kPunctuation, at_, at_ + length);
    at_ += length;
  }

  std::string_view source_;
  size_t at_ = 0;
  bool line_start_ = true;
  std::vector<CppToken> tokens_;
};

}  // namespace

std::vector<CppToken> TokenizeCpp(std::string_view source) { return Tokenizer(source).Run(); }

}  // namespace assay::lint
