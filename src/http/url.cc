#include "http/url.h"

#include <cstdint>

#include "base/strings.h"

namespace assay::http {
namespace {

/// Length of the UTF-8 sequence at the start of `text`, 0 if it is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;   // overlong
  if (lead == 0xED && byte(1) >= 0xA0) return 0;  // surrogates
  if (lead == 0xF0 && byte(1) < 0x90) return 0;   // overlong
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;  // beyond U+10FFFF
  return length;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsControl(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return byte < 0x20 || byte == 0x7F;
}

Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> query;
  for (const std::string_view item : Split(text, '&')) {
    if (item.empty()) continue;
    const size_t equals = item.find('=');
    ASSAY_ASSIGN_OR_RETURN(std::string name, PercentDecode(item.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos) {
      ASSAY_ASSIGN_OR_RETURN(value, PercentDecode(item.substr(equals + 1), true));
    }
    query.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Result<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return Err(ErrorCode::kInvalid, "'%' in a URL must be followed by two hexadecimal digits");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    // Queries may carry text with line ends; paths with control characters only ever confuse.
    if (IsControl(c) && !(plus_is_space && (c == '\n' || c == '\r' || c == '\t')))
      return Err(ErrorCode::kInvalid, "a URL must not hold control characters");
    decoded += c;
  }
  if (!IsUtf8(decoded)) return Err(ErrorCode::kInvalid, "a URL must be UTF-8 once it is decoded");
  return decoded;
}

Result<Target> ParseTarget(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    const size_t path = target.find_first_of("/?");
    target = path == std::string_view::npos ? "/" : target.substr(path);
    break;
  }
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  Target parsed;
  ASSAY_ASSIGN_OR_RETURN(parsed.path, PercentDecode(target.substr(0, question), false));
  if (!parsed.path.starts_with('/'))
    return Err(ErrorCode::kInvalid, "a request's target must begin with '/'");
  for (const std::string_view segment : Split(parsed.path, '/'))
    if (segment == "." || segment == "..")
      return Err(ErrorCode::kInvalid, "a path must not hold '.' or '..' segments");
  if (question != std::string_view::npos) {
    ASSAY_ASSIGN_OR_RETURN(parsed.query, ParseQuery(target.substr(question + 1)));
  }
  return parsed;
}

}  // namespace assay::http
