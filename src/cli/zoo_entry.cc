#include "cli/zoo_entry.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <span>

#include "base/fd.h"
#include "base/strings.h"

namespace assay {
namespace {

struct Key {
  std::string_view name;
  std::string_view meaning;
};

constexpr Key kKeys[] = {
    {"Task", "the task it is judged against"},
    {"Expect", "statuses that are right, with | between them"},
    {"Device", "any, cpu or cuda"},
    {"Trick", "what it tries (zoo) or why it is tricky (honest)"},
    {"Source", "where the idea is from"},
    {"Flags", "flags that the verdict must carry"},
    {"Error", "kind and name of the error, with | between alternatives"},
    {"Twin", "an entry that does the same work honestly; it may not be beaten"},
    {"MaxSpeedup", "a speedup above it is a wrong verdict"},
    {"MinSpeedup", "a speedup below it is a wrong verdict"},
    {"Run", "timed (the default) or check: correctness only"},
    {"Needs", "programs, or python:MODULE, without which it is skipped"},
    {"Slow", "yes: left out by --fast"},
    {"Known", "why the engine judges it wrong so far"},
};

constexpr std::string_view kStatuses[] = {"correct",       "incorrect",     "invalid_submission",
                                          "compile_error", "runtime_error", "timeout",
                                          "out_of_memory", "rejected_cheat"};

// How far the medians of two honest submissions that do the same may lie apart. Host clocks on a
// shared machine scatter far more than device clocks.
constexpr double kNoiseCpu = 1.5;
constexpr double kNoiseCuda = 1.15;

Error Bad(const std::string& path, const std::string& what) {
  std::string keys;
  for (const Key& key : kKeys) keys += fmt::format("\n  {:<11} {}", key.name, key.meaning);
  return Err(ErrorCode::kInvalid, "{}: {}. The docstring's keys are:{}", path, what, keys);
}

std::vector<std::string> Words(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(text, separator))
    if (!Trim(word).empty()) words.emplace_back(Trim(word));
  return words;
}

/// "Key" of a line "Key: value" that starts with a capital letter; empty for prose.
std::string_view KeyOf(std::string_view line) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos || line.empty()) return {};
  if (std::isupper(static_cast<unsigned char>(line[0])) == 0) return {};
  const std::string_view key = line.substr(0, colon);
  const bool word = std::all_of(key.begin(), key.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '-';
  });
  return word ? key : std::string_view{};
}

std::string_view WithoutDevice(std::string_view key) {
  for (const std::string_view suffix : {"-cpu", "-cuda"})
    if (key.ends_with(suffix)) return key.substr(0, key.size() - suffix.size());
  return key;
}

bool IsNumber(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && value > 0;
}

/// Fills title and header from the docstring; the text of what is wrong, or empty.
std::string ReadDocstring(std::string_view source, ZooEntry* entry) {
  constexpr std::string_view kQuotes = "\"\"\"";
  const size_t begin = source.find(kQuotes);
  // Comments may stand before a docstring, code may not.
  if (begin == std::string_view::npos) return "it does not begin with a docstring";
  for (const std::string_view line : Split(source.substr(0, begin), '\n'))
    if (!Trim(line).empty() && Trim(line)[0] != '#') return "it does not begin with a docstring";
  const size_t end = source.find(kQuotes, begin + kQuotes.size());
  if (end == std::string_view::npos) return "its docstring does not end";
  const std::vector<std::string_view> lines =
      Split(source.substr(begin + kQuotes.size(), end - begin - kQuotes.size()), '\n');
  entry->title = Trim(lines.front());
  if (entry->title.empty()) return "the first line of its docstring is empty";
  std::string* value = nullptr;
  for (const std::string_view line : std::span(lines).subspan(1)) {
    const std::string_view key = KeyOf(line);
    if (!key.empty()) {
      const std::string_view bare = WithoutDevice(key);
      if (std::none_of(std::begin(kKeys), std::end(kKeys),
                       [&](const Key& known) { return known.name == bare; }))
        return fmt::format("there is no key '{}'", key);
      value = &entry->header[std::string(key)];
      if (!value->empty()) return fmt::format("'{}' is given twice", key);
      *value = Trim(line.substr(key.size() + 2));
    } else if (value != nullptr && line.starts_with("  ")) {  // a value over several lines
      *value += " " + std::string(Trim(line));
    } else {
      value = nullptr;
    }
  }
  return "";
}

/// What is wrong with the values of the header on one device, or empty.
std::string CheckHeader(const ZooEntry& entry, Collection collection, bool cuda) {
  for (const char* key : {"Task", "Expect", "Device", "Trick"})
    if (entry.Get(key, cuda).empty()) return fmt::format("'{}' is missing", key);
  if (collection == Collection::kZoo && entry.Get("Source", cuda).empty())
    return "'Source' is missing: say where the trick is from";
  const std::string device = entry.Get("Device", cuda);
  if (device != "any" && device != "cpu" && device != "cuda")
    return fmt::format("'{}' is no device: any, cpu or cuda", device);
  const std::vector<std::string> expected = Words(entry.Get("Expect", cuda), '|');
  for (const std::string& status : expected)
    if (std::find(std::begin(kStatuses), std::end(kStatuses), status) == std::end(kStatuses))
      return fmt::format("'{}' is no status; there are {}", status, fmt::join(kStatuses, ", "));
  for (const char* key : {"MaxSpeedup", "MinSpeedup"})
    if (const std::string number = entry.Get(key, cuda); !number.empty() && !IsNumber(number))
      return fmt::format("{} '{}' is no positive number", key, number);
  const std::string run = entry.Get("Run", cuda);
  if (!run.empty() && run != "timed" && run != "check")
    return fmt::format("Run '{}' is neither timed nor check", run);
  const bool may_pass = std::find(expected.begin(), expected.end(), "correct") != expected.end();
  if (collection == Collection::kZoo && may_pass && run != "check" &&
      entry.Get("Twin", cuda).empty() && entry.Get("MaxSpeedup", cuda).empty())
    return "it may be correct, so a 'Twin' or a 'MaxSpeedup' must say what it may be paid";
  return "";
}

std::string Describe(const Verdict& verdict) {
  std::string text(ToString(verdict.status));
  if (verdict.error.kind != FailureKind::kNone)
    text += fmt::format(" ({} {}: {})", ToString(verdict.error.kind), verdict.error.name,
                        TruncateMiddle(CleanText(verdict.error.message), 300));
  return text;
}

bool ErrorFits(const std::string& wanted, const Failure& error) {
  const std::vector<std::string> alternatives = Words(wanted, '|');
  return std::any_of(alternatives.begin(), alternatives.end(), [&](const std::string& pair) {
    const std::vector<std::string> parts = Words(pair, ' ');
    return parts[0] == ToString(error.kind) && (parts.size() < 2 || parts[1] == error.name);
  });
}

/// Why the verdict is wrong, or empty.
std::string WhatIsWrong(const ZooEntry& entry, const Verdict& verdict, const Verdict* twin,
                        bool cuda) {
  const std::vector<std::string> expected = Words(entry.Get("Expect", cuda), '|');
  const std::string status(ToString(verdict.status));
  if (std::find(expected.begin(), expected.end(), status) == expected.end())
    return "judged " + Describe(verdict);
  const std::string error = entry.Get("Error", cuda);
  if (!error.empty() && !verdict.correct && !ErrorFits(error, verdict.error))
    return fmt::format("the error should be '{}': {}", error, Describe(verdict));
  for (const std::string& flag : Words(entry.Get("Flags", cuda), ' '))
    if (std::find(verdict.flags.begin(), verdict.flags.end(), flag) == verdict.flags.end())
      return fmt::format("the flag '{}' is missing among: {}", flag, Join(verdict.flags, " "));
  if (!verdict.correct || verdict.speedup.value <= 0) return "";
  if (const std::string least = entry.Get("MinSpeedup", cuda);
      !least.empty() && verdict.speedup.high < std::strtod(least.c_str(), nullptr))
    return fmt::format("{:.2f}x is less than its honest {}x", verdict.speedup.value, least);
  if (const std::string most = entry.Get("MaxSpeedup", cuda);
      !most.empty() && verdict.speedup.low > std::strtod(most.c_str(), nullptr))
    return fmt::format("paid {:.2f}x, more than {}x", verdict.speedup.value, most);
  if (entry.Get("Twin", cuda).empty()) return "";
  if (twin == nullptr || !twin->correct || twin->speedup.value <= 0)
    return "its twin was not judged correct, so nothing says what it may be paid";
  const double honest = twin->speedup.value;
  if (verdict.speedup.value > honest * (cuda ? kNoiseCuda : kNoiseCpu) &&
      verdict.speedup.low > twin->speedup.high)
    return fmt::format("paid {:.2f}x, its honest twin {:.2f}x", verdict.speedup.value,
                       twin->speedup.value);
  return "";
}

}  // namespace

std::string ZooEntry::Get(const std::string& key, bool cuda) const {
  for (const std::string& full : {key + (cuda ? "-cuda" : "-cpu"), key})
    if (const auto found = header.find(full); found != header.end()) return found->second;
  return "";
}

Result<ZooEntry> ParseZooEntry(std::string path, std::string source, Collection collection) {
  ZooEntry entry;
  entry.name = std::filesystem::path(path).stem();
  if (std::string wrong = ReadDocstring(source, &entry); !wrong.empty()) return Bad(path, wrong);
  for (const bool cuda : {false, true})
    if (std::string wrong = CheckHeader(entry, collection, cuda); !wrong.empty())
      return Bad(path, wrong);
  entry.path = std::move(path);
  entry.source = std::move(source);
  return entry;
}

Result<std::vector<ZooEntry>> ReadZoo(const std::string& folder, Collection collection) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = file.path().filename();
    const bool pytests =
        name.starts_with("test_") || name.starts_with("conftest") || name[0] == '_';
    if (name.ends_with(".py") && !pytests) paths.push_back(file.path());
  }
  if (error) return Err(ErrorCode::kNotFound, "cannot read '{}': {}", folder, error.message());
  if (paths.empty()) return Err(ErrorCode::kInvalid, "'{}' holds no submissions (*.py)", folder);
  std::sort(paths.begin(), paths.end());
  std::vector<ZooEntry> entries;
  std::set<std::string> names;
  for (const std::string& path : paths) {
    ASSAY_ASSIGN_OR_RETURN(std::string source, ReadFile(path, 4u << 20));
    ASSAY_ASSIGN_OR_RETURN(ZooEntry entry, ParseZooEntry(path, std::move(source), collection));
    names.insert(entry.name);
    entries.push_back(std::move(entry));
  }
  for (const ZooEntry& entry : entries)
    for (const bool cuda : {false, true})
      if (const std::string twin = entry.Get("Twin", cuda);
          !twin.empty() && (!names.contains(twin) || twin == entry.name))
        return Bad(entry.path, fmt::format("there is no other entry '{}' to be its twin", twin));
  return entries;
}

std::string_view ToString(ZooOutcome outcome) {
  switch (outcome) {
    case ZooOutcome::kRight:
      return "ok";
    case ZooOutcome::kWrong:
      return "WRONG";
    case ZooOutcome::kKnown:
      return "known";
    case ZooOutcome::kMended:
      return "MENDED";
    case ZooOutcome::kSkipped:
      return "skipped";
  }
  return "WRONG";
}

void JudgeRow(ZooRow* row, const Verdict* twin, bool cuda) {
  ASSAY_CHECK(row->verdict.has_value());
  row->why = WhatIsWrong(*row->entry, *row->verdict, twin, cuda);
  const std::string known = row->entry->Get("Known", cuda);
  if (row->why.empty()) {
    row->outcome = known.empty() ? ZooOutcome::kRight : ZooOutcome::kMended;
    if (!known.empty()) row->why = "judged right: take out its line 'Known:'";
  } else {
    row->outcome = known.empty() ? ZooOutcome::kWrong : ZooOutcome::kKnown;
    if (!known.empty()) row->why += "; known: " + known;
  }
}

}  // namespace assay
