#include "tools/ending.h"

#include <cctype>

#include "base/strings.h"

namespace assay {
namespace {

bool IsFrame(std::string_view line) {
  return line.starts_with("frame #") || line.starts_with("File \"") || line.starts_with("#");
}

/// "torch.AcceleratorError: CUDA error: ..."
bool NamesError(std::string_view line) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, colon);
  return name.find(' ') == std::string_view::npos &&
         (name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Interrupt"));
}

std::string WithoutAddresses(std::string_view text) {
  std::string kept;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool inside = i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0;
    if (inside || !text.substr(i).starts_with("0x")) {
      kept += text[i];
      continue;
    }
    const size_t end = text.find_first_not_of("0123456789abcdefABCDEF", i + 2);
    kept += "0x...";
    i = (end == std::string_view::npos ? text.size() : end) - 1;
  }
  return kept;
}

}  // namespace

std::string ReasonOf(std::string_view text, size_t most) {
  std::string_view error;
  std::string_view last;
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(line);
    if (line.empty() || IsFrame(line)) continue;
    last = line;
    if (NamesError(line)) error = line;
  }
  return TruncateMiddle(CleanText(WithoutAddresses(error.empty() ? last : error)), most);
}

}  // namespace assay
