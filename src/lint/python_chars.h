#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace assay::lint {

/// How a token that begins with a character is read.
enum class CharClass : uint8_t {
  kNone,
  kBlank,
  kLineEnd,
  kComment,
  kLetter,
  kDigit,
  kQuote,
  kOperator,
  kBackslash,
};

inline constexpr auto kCharClasses = [] {
  std::array<CharClass, 256> classes{};
  const auto set = [&classes](std::string_view chars, CharClass value) {
    for (const char c : chars) classes[static_cast<uint8_t>(c)] = value;
  };
  set(" \t\f", CharClass::kBlank);
  set("\r\n", CharClass::kLineEnd);
  set("#", CharClass::kComment);
  set("0123456789", CharClass::kDigit);
  set("\"'", CharClass::kQuote);
  set("()[]{},:.;=-+*/%|&^~<>@!", CharClass::kOperator);
  set("\\", CharClass::kBackslash);
  set("_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", CharClass::kLetter);
  for (size_t c = 0x80; c < classes.size(); ++c) classes[c] = CharClass::kLetter;
  return classes;
}();

constexpr CharClass ClassOf(char c) { return kCharClasses[static_cast<uint8_t>(c)]; }
constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
constexpr bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
constexpr bool IsAsciiWord(char c) {
  const CharClass char_class = ClassOf(c);
  return (char_class == CharClass::kLetter && static_cast<uint8_t>(c) < 0x80) ||
         char_class == CharClass::kDigit;
}

struct CodePoint {
  uint32_t value = 0;
  size_t length = 1;  ///< bytes
};

/// The code point at an offset of UTF-8 text; of text that is none, some value and a length within
/// the text.
constexpr CodePoint CodePointAt(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  CodePoint point;
  if (lead < 0xC0) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  point.value = lead & (0x7Fu >> length);
  while (point.length < length && at + point.length < text.size() &&
         (static_cast<uint8_t>(text[at + point.length]) & 0xC0u) == 0x80u)
    point.value = point.value << 6 | (static_cast<uint8_t>(text[at + point.length++]) & 0x3Fu);
  return point;
}

/// False for the punctuation, symbols and blanks beyond ASCII that get into code by copying from
/// prose. Not the whole of Unicode's rule: CPython says the rest.
constexpr bool MayBeInName(uint32_t point) {
  struct Range {
    uint32_t first;
    uint32_t last;
  };
  constexpr Range kNotInNames[] = {
      {0x80, 0xA9},       {0xAB, 0xB4},       {0xB6, 0xB6},     {0xB8, 0xB9},
      {0xBB, 0xBF},       {0xD7, 0xD7},       {0xF7, 0xF7},     {0x2000, 0x203E},
      {0x2041, 0x2053},   {0x2055, 0x2070},   {0x2074, 0x207E}, {0x2080, 0x208E},
      {0x20A0, 0x20CF},   {0x2190, 0x2BFF},   {0x3000, 0x3004}, {0x3008, 0x3020},
      {0xD800, 0xF8FF},   {0xFE10, 0xFE1F},   {0xFE30, 0xFE32}, {0xFEFF, 0xFEFF},
      {0xFF00, 0xFF0F},   {0xFF1A, 0xFF20},   {0xFFE0, 0xFFFF}, {0x1F000, 0x1FBEF},
      {0xE0000, 0xE00FF}, {0xE01F0, 0x10FFFF}};
  for (const Range& range : kNotInNames)
    if (point >= range.first && point <= range.last) return false;
  return true;
}

}  // namespace assay::lint
