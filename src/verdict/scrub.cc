#include "verdict/scrub.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/strings.h"

namespace assay {
namespace {

// Longer text is cut before any work is done on it; nothing that is shown is longer.
constexpr size_t kMaxInput = 256u << 10;
constexpr size_t kMaxDiagnosticMessage = 400;
// Constants of 32 bits stand in honest source lines; pointers of 64-bit processes are longer.
constexpr size_t kAddressDigits = 9;
// Directories that are recognised even where other text is glued to them.
constexpr std::string_view kRoots[] = {"/tmp/", "/usr/",  "/home/", "/root/", "/opt/",
                                       "/var/", "/proc/", "/etc/",  "/mnt/",  "/run/"};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsHexDigit(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool IsPathChar(char c) {
  constexpr std::string_view kOther = "/._-+@~%";
  return IsDigit(c) || IsLetter(c) || kOther.find(c) != std::string_view::npos ||
         static_cast<uint8_t>(c) >= 0x80;
}

size_t Indent(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? line.size() : first;
}

std::string_view BaseName(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

/// The file of a Python frame (`File "x.py", line 3, in f`), or nothing for another line.
std::optional<std::string_view> FrameFile(std::string_view line) {
  constexpr std::string_view kOpen = "File \"";
  line.remove_prefix(Indent(line));
  if (!line.starts_with(kOpen)) return std::nullopt;
  line.remove_prefix(kOpen.size());
  const size_t close = line.find("\", line ");
  if (close == std::string_view::npos) return std::nullopt;
  return line.substr(0, close);
}

/// Drops frames of foreign files together with the source lines shown below them.
std::string DropForeignFrames(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  std::optional<size_t> dropping;  // The indent of the frame being dropped.
  bool first = true;
  for (const std::string_view line : Split(text, '\n')) {
    const std::optional<std::string_view> file = FrameFile(line);
    if (file) {
      dropping.reset();
      if (BaseName(*file) != kSubmissionFile) dropping = Indent(line);
    } else if (dropping && Indent(line) <= *dropping) {
      dropping.reset();
    }
    if (dropping || Trim(line) == "Traceback (most recent call last):") continue;
    if (!first) kept += '\n';
    first = false;
    kept += line;
  }
  return kept;
}

/// Where in a stretch of path characters an absolute path begins, or npos.
size_t PathStart(std::string_view run) {
  if (run.starts_with('/') || run.starts_with("~/") || run.starts_with("../")) return 0;
  if (run.size() > 2 && run[0] == '-' && IsLetter(run[1]) && run[2] == '/') return 2;  // "-I/usr"
  size_t start = std::string_view::npos;  // Glued to other text.
  for (const std::string_view root : kRoots) start = std::min(start, run.find(root));
  return start;
}

/// `run` is a longest stretch of path characters and `before` the character in front of it; returns
/// what to show in its place.
std::string ShortPath(std::string_view run, char before) {
  const bool url = before == ':' && run.starts_with("//") && !run.starts_with("///");
  const size_t start = url ? std::string_view::npos : PathStart(run);
  if (start == std::string_view::npos) return std::string(run);
  // "/b" may be a division and "//note" a comment: a path has a directory and a name.
  const size_t name = run.find_first_not_of('/', start);
  if (name == std::string_view::npos || run.find('/', name) == std::string_view::npos)
    return std::string(run);
  return std::string(run.substr(0, start)) + std::string(BaseName(run.substr(start)));
}

std::string ShortenPaths(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (!IsPathChar(text[i])) {
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && IsPathChar(text[end])) ++end;
    out += ShortPath(text.substr(i, end - i), i > 0 ? text[i - 1] : ' ');
    i = end;
  }
  return out;
}

std::string HideAddresses(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const bool prefix = text[i] == '0' && i + 2 < text.size() &&
                        (text[i + 1] == 'x' || text[i + 1] == 'X') && IsHexDigit(text[i + 2]);
    if (!prefix) {
      out += text[i++];
      continue;
    }
    size_t end = i + 2;
    while (end < text.size() && IsHexDigit(text[end])) ++end;
    const bool object = text.substr(0, i).ends_with(" at ");  // "<Foo object at 0x1b2c>"
    if (object || end - i - 2 >= kAddressDigits)
      out += "0x...";
    else
      out += text.substr(i, end - i);
    i = end;
  }
  return out;
}

std::string ScrubAll(std::string_view text) {
  const std::string clean = CleanText(TruncateMiddle(text, kMaxInput));
  return HideAddresses(ShortenPaths(DropForeignFrames(clean)));
}

/// Names, numbers and hashes, most of what is shown: there is nothing in them to take out.
bool IsPlain(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!IsDigit(c) && !IsLetter(c) && c != '_' && c != '-' && c != '.' && c != ':') return false;
    if ((c == 'x' || c == 'X') && i > 0 && text[i - 1] == '0') return false;  // an address
  }
  return true;
}

/// Takes ":12" off the end of `text`.
std::optional<int> TakeTrailingNumber(std::string_view* text) {
  size_t start = text->size();
  while (start > 0 && IsDigit((*text)[start - 1])) --start;
  int number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data() + start, end, number);
  if (error != std::errc{} || stop != end || start == 0) return std::nullopt;
  text->remove_suffix(text->size() - start);
  return number;
}

/// File and line out of "f.cu:12:3" or "f.cu(12)".
std::optional<Diagnostic> ParsePlace(std::string_view place) {
  Diagnostic diagnostic;
  if (place.ends_with(')')) {
    place.remove_suffix(1);
    const auto line = TakeTrailingNumber(&place);
    if (!line || !place.ends_with('(')) return std::nullopt;
    place.remove_suffix(1);
    diagnostic.line = *line;
  } else {
    for (int part = 0; part < 2; ++part) {  // The column, if there is one, then the line.
      const auto number = TakeTrailingNumber(&place);
      if (!number || !place.ends_with(':')) break;
      place.remove_suffix(1);
      diagnostic.line = *number;
    }
    if (diagnostic.line == 0) return std::nullopt;
  }
  diagnostic.file = BaseName(Trim(place));
  if (diagnostic.file.empty()) return std::nullopt;
  return diagnostic;
}

/// "line 12: m": a line that was mapped to the submission's own before it came here.
std::optional<Diagnostic> ParseMapped(std::string_view line) {
  constexpr std::string_view kOpen = "line ";
  const size_t colon = line.find(": ");
  if (!line.starts_with(kOpen) || colon == std::string_view::npos) return std::nullopt;
  std::string_view place = line.substr(0, colon);
  const auto number = TakeTrailingNumber(&place);
  if (!number || place != kOpen) return std::nullopt;
  return Diagnostic{std::string(kSubmissionFile), *number,
                    ScrubLine(line.substr(colon + 2), kMaxDiagnosticMessage)};
}

std::optional<Diagnostic> ParseDiagnostic(std::string_view line) {
  if (std::optional<Diagnostic> mapped = ParseMapped(line)) return mapped;
  const size_t at = line.find("error");
  if (at == std::string_view::npos) return std::nullopt;
  // Between "error" and its colon there may be a number: "error #20-D: ".
  const size_t colon = line.find(':', at);
  if (colon == std::string_view::npos || colon - at > 24) return std::nullopt;
  const std::string_view number = line.substr(at + 5, colon - at - 5);
  if (!Trim(number).empty() && !Trim(number).starts_with('#')) return std::nullopt;

  std::string_view place = Trim(line.substr(0, at));
  if (place.ends_with("fatal")) place = Trim(place.substr(0, place.size() - 5));
  if (!place.ends_with(':')) return std::nullopt;
  place.remove_suffix(1);
  std::optional<Diagnostic> diagnostic = ParsePlace(place);
  if (diagnostic) diagnostic->message = ScrubLine(line.substr(colon + 1), kMaxDiagnosticMessage);
  return diagnostic;
}

}  // namespace

std::string Scrub(std::string_view text, size_t max_bytes) {
  const std::string scrubbed = ScrubAll(text);
  return TruncateMiddle(Trim(scrubbed), max_bytes);
}

std::string ScrubLine(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes && IsPlain(text)) return std::string(text);
  std::string line;
  for (const char c : ScrubAll(text)) {
    if (!IsSpace(c))
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  if (line.size() > max_bytes) {
    constexpr std::string_view kMore = "...";
    size_t end = max_bytes > kMore.size() ? max_bytes - kMore.size() : 0;
    while (end > 0 && (static_cast<uint8_t>(line[end]) & 0xC0u) == 0x80u) --end;
    line.resize(end);
    line += kMore;
  }
  return std::string(Trim(line));
}

std::vector<Diagnostic> CompilerErrors(std::string_view text, size_t max_count) {
  std::vector<Diagnostic> errors;
  const std::string clean = CleanText(TruncateMiddle(text, kMaxInput));
  for (const std::string_view line : Split(clean, '\n')) {
    if (errors.size() >= max_count) break;
    std::optional<Diagnostic> diagnostic = ParseDiagnostic(line);
    if (diagnostic && std::find(errors.begin(), errors.end(), *diagnostic) == errors.end())
      errors.push_back(std::move(*diagnostic));
  }
  return errors;
}

}  // namespace assay
