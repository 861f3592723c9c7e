#include "openenv/extract.h"

#include <optional>

#include "base/strings.h"

namespace assay::openenv {
namespace {

struct Fence {
  size_t ticks = 0;
  std::string_view mark;  ///< what follows the backticks
};

/// A line that opens or closes a block: at most three spaces, three or more backticks, a word.
std::optional<Fence> ParseFence(std::string_view line) {
  size_t at = 0;
  while (at < line.size() && at < 4 && line[at] == ' ') ++at;
  if (at == 4) return std::nullopt;
  Fence fence;
  while (at < line.size() && line[at] == '`') ++at, ++fence.ticks;
  if (fence.ticks < 3) return std::nullopt;
  fence.mark = Trim(line.substr(at));
  if (fence.mark.find('`') != std::string_view::npos) return std::nullopt;
  return fence;
}

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size()))
    ++count;
  return count;
}

/// Whether the end of `before` lies inside a triple-quoted string, as far as counting tells.
bool InsideString(std::string_view before) {
  return Count(before, "\"\"\"") % 2 == 1 || Count(before, "'''") % 2 == 1;
}

bool IsPython(std::string_view mark) {
  const std::string word = ToLower(mark.substr(0, mark.find_first_of(" \t{")));
  return word == "python" || word == "py" || word == "python3";
}

}  // namespace

Extracted ExtractCode(std::string_view text) {
  std::optional<std::string_view> python;
  std::optional<std::string_view> plain;
  std::optional<Fence> open;
  size_t body = 0;
  bool fenced = false;
  bool open_python = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::optional<Fence> fence = ParseFence(line);
    if (fence && !open) {
      if (!fenced && InsideString(text.substr(0, at))) return {std::string(text), ""};
      fenced = true;
      open = fence;
      open_python = IsPython(fence->mark);
      body = std::min(end + 1, text.size());
    } else if (fence && fence->mark.empty() && fence->ticks >= open->ticks) {
      const std::string_view block = text.substr(body, at - body);
      if (open_python) python = block;
      if (open->mark.empty()) plain = block;
      open.reset();
    }
    at = end + 1;
  }
  if (!fenced) return {std::string(text), ""};
  if (open && (open_python || (!python && open->mark.empty())))
    return {"",
            "unterminated code block: the reply ends inside its last block, so the module is "
            "incomplete; send all of it, closed by ```"};
  if (python) return {std::string(*python), ""};
  if (plain) return {std::string(*plain), ""};
  return {"",
          "no Python code block: put the whole module into one block that begins with "
          "```python and ends with ```"};
}

}  // namespace assay::openenv
