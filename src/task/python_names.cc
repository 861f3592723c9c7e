#include "task/python_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/strings.h"

namespace assay {
namespace {

/// A statement's text on one line, comments dropped and strings emptied.
struct LogicalLine {
  size_t indent = 0;
  std::string text;
};

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool IsName(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), IsNameChar);
}

std::string_view FirstWord(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && IsNameChar(text[end])) ++end;
  return text.substr(0, end);
}

/// Splits a module into logical lines.
class Splitter {
 public:
  explicit Splitter(std::string_view source) : source_(source) {}

  Result<std::vector<LogicalLine>> Run() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '\0') return Err(ErrorCode::kInvalid, "line {}: a NUL byte", line_);
      if (at_line_start_ && StartsDefinition()) EndStatement();
      at_line_start_ = false;
      if (c == '"' || c == '\'') {
        ASSAY_RETURN_IF_ERROR(SkipString());
        continue;
      }
      if (c == '#') {
        at_ = std::min(source_.find('\n', at_), source_.size());
        continue;
      }
      if (c == '\n') {
        EndPhysicalLine();
      } else if (c == '\\' && source_.substr(at_ + 1).starts_with('\n')) {
        ++at_;
        ++line_;
      } else {
        if (c == '(' || c == '[' || c == '{') ++depth_;
        if (c == ')' || c == ']' || c == '}') depth_ = std::max(0, depth_ - 1);
        text_ += c;
      }
      ++at_;
    }
    EndStatement();
    return std::move(lines_);
  }

 private:
  /// Whether a definition begins in column 0: then a statement begins, whatever brackets seem open,
  /// so that one odd nesting of quotes does not swallow the rest of the file.
  [[nodiscard]] bool StartsDefinition() const {
    const std::string_view rest = source_.substr(at_);
    return depth_ > 0 && (rest.starts_with("def ") || rest.starts_with("class "));
  }

  void EndPhysicalLine() {
    if (depth_ == 0) {
      EndStatement();
    } else {
      text_ += ' ';
    }
    ++line_;
    at_line_start_ = true;
  }

  void EndStatement() {
    const std::string_view text = Trim(text_);
    if (!text.empty()) {
      const auto indent = static_cast<size_t>(text.data() - text_.data());
      lines_.push_back({indent, std::string(text)});
    }
    text_.clear();
    depth_ = 0;
  }

  Status SkipString() {
    text_ += "''";
    const char quote = source_[at_];
    const std::string triple(3, quote);
    const int first_line = line_;
    const bool is_triple = source_.substr(at_).starts_with(triple);
    at_ += is_triple ? 3 : 1;
    for (; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      if (c == '\0') return Err(ErrorCode::kInvalid, "line {}: a NUL byte", line_);
      if (!is_triple && c == '\n') return {};  // CPython will say it better
      if (c == '\n') ++line_;
      if (c == '\\' && at_ + 1 < source_.size()) {
        ++at_;
        if (source_[at_] == '\n') ++line_;
      } else if (c == quote && (!is_triple || source_.substr(at_).starts_with(triple))) {
        at_ += is_triple ? 3 : 1;
        return {};
      }
    }
    if (!is_triple) return {};
    return Err(ErrorCode::kInvalid, "line {}: a triple-quoted string that never ends", first_line);
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  int depth_ = 0;
  bool at_line_start_ = true;
  std::string text_;
  std::vector<LogicalLine> lines_;
};

void BindImport(std::string_view list, PythonNames* found) {
  std::string clean(list);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c == '(' || c == ')'; }, ' ');
  for (std::string_view item : Split(clean, ',')) {
    item = Trim(item);
    if (item == "*") found->star_import = true;
    const size_t renamed = item.rfind(' ');
    const std::string_view name =
        renamed == std::string_view::npos ? FirstWord(item) : item.substr(renamed + 1);
    if (IsName(name)) found->names.emplace(name);
  }
}

void BindAssignment(std::string_view text, PythonNames* found) {
  std::vector<std::string_view> parts = Split(text, '=');
  parts.pop_back();  // the value
  for (const std::string_view targets : parts) {
    for (std::string_view target : Split(targets, ',')) {
      target = Trim(target.substr(0, target.find(':')));
      if (IsName(target)) found->names.emplace(target);
    }
  }
}

void Bind(std::string_view text, PythonNames* found) {
  const std::string_view word = FirstWord(text);
  if (word == "class" || word == "def") {
    found->names.emplace(FirstWord(Trim(text.substr(word.size()))));
  } else if (word == "import") {
    BindImport(text.substr(word.size()), found);
  } else if (word == "from") {
    const size_t import = text.find(" import");
    if (import != std::string_view::npos) BindImport(text.substr(import + 7), found);
  } else {
    BindAssignment(text, found);
  }
}

bool OpensBlockOfTopLevel(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"if",      "elif", "else", "try",  "except",
                                                      "finally", "with", "for",  "while"};
  return std::find(kWords.begin(), kWords.end(), FirstWord(text)) != kWords.end();
}

Status CheckUtf8(std::string_view source) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  const auto count = [&](std::string_view text) {
    size_t n = 0;
    for (size_t at = 0; (at = text.find(kReplacement, at)) != std::string_view::npos; ++at) ++n;
    return n;
  };
  int line = 0;
  for (const std::string_view text : Split(source, '\n')) {
    ++line;
    const bool ascii = std::all_of(text.begin(), text.end(),
                                   [](char c) { return static_cast<signed char>(c) >= 0; });
    if (!ascii && count(CleanText(text)) != count(text))
      return Err(ErrorCode::kInvalid, "line {}: not UTF-8", line);
  }
  return {};
}

}  // namespace

Result<PythonNames> ScanPythonNames(std::string_view source) {
  ASSAY_RETURN_IF_ERROR(CheckUtf8(source));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<LogicalLine> lines, Splitter(source).Run());
  PythonNames found;
  bool in_top_level_block = false;
  for (const LogicalLine& line : lines) {
    if (line.indent == 0) in_top_level_block = OpensBlockOfTopLevel(line.text);
    if (line.indent == 0 || in_top_level_block) Bind(line.text, &found);
  }
  return found;
}

}  // namespace assay
