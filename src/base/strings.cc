#include "base/strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <numeric>

namespace assay {
namespace {

bool IsContinuation(char c) { return (static_cast<uint8_t>(c) & 0xC0u) == 0x80u; }

/// Length of the valid UTF-8 sequence at the front and the code point it stands for; 0: invalid.
std::pair<size_t, uint32_t> DecodeUtf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, lead};
  size_t length = 0;
  uint32_t point = 0;
  if ((lead & 0xE0u) == 0xC0u) {
    length = 2;
    point = lead & 0x1Fu;
  } else if ((lead & 0xF0u) == 0xE0u) {
    length = 3;
    point = lead & 0x0Fu;
  } else if ((lead & 0xF8u) == 0xF0u) {
    length = 4;
    point = lead & 0x07u;
  } else {
    return {};
  }
  if (text.size() < length) return {};
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return {};
    point = (point << 6u) | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kSmallest[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
    return {};
  return {length, point};
}

/// U+0080 to U+009F, whose escapes terminals obey, and the marks that turn text around, so that it
/// reads as what it is not.
bool IsControl(uint32_t point) {
  return (point >= 0x80 && point <= 0x9F) || (point >= 0x202A && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

/// Length of the ANSI escape sequence at the front (which begins with ESC).
size_t AnsiLength(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return 1;
  size_t i = 2;
  while (i < text.size() && (text[i] < 0x40 || text[i] > 0x7E)) ++i;
  return std::min(i + 1, text.size());
}

}  // namespace

std::string_view Trim(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::string TruncateMiddle(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const std::string note = fmt::format("\n[... {} bytes left out ...]\n", text.size() - max_bytes);
  const size_t room = max_bytes > note.size() ? max_bytes - note.size() : 0;
  size_t head = room - room / 3;
  size_t tail = text.size() - room / 3;
  while (head > 0 && IsContinuation(text[head])) --head;
  while (tail < text.size() && IsContinuation(text[tail])) ++tail;
  return std::string(text.substr(0, head)) + note + std::string(text.substr(tail));
}

std::string CleanText(std::string_view bytes) {
  std::string clean;
  clean.reserve(bytes.size());
  while (!bytes.empty()) {
    const char c = bytes.front();
    size_t length = 1;
    if (c == '\x1b') {
      length = AnsiLength(bytes);
    } else if (c == '\n' || c == '\t') {
      clean += c;
    } else if (static_cast<uint8_t>(c) < 0x20 || c == 0x7F) {
      // Other control characters are dropped.
    } else if (const auto [valid, point] = DecodeUtf8(bytes); valid > 0) {
      length = valid;
      if (!IsControl(point)) clean += bytes.substr(0, length);
    } else {
      clean += "\xEF\xBF\xBD";
    }
    bytes.remove_prefix(length);
  }
  return clean;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace assay
