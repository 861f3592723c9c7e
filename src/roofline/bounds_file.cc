#include "roofline/bounds_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/fd.h"
#include "base/strings.h"
#include "roofline/card.h"

namespace assay {
namespace {

constexpr size_t kMostText = 256u << 20;

/// One name for a card, whoever gives it: the table ("H200") or a driver ("NVIDIA H200").
std::string CardName(const std::string& name) {
  const Result<Card> card = FindCard(name);
  return card.ok() ? card->name : name;
}

}  // namespace

Result<BoundsFile> BoundsFile::Load(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostText));
  BoundsFile file;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (Trim(line).empty()) continue;
    const auto wrong = [&](std::string_view what) {
      return Err(ErrorCode::kInvalid, "{}, line {}: {}; `assay roofline --json` writes such a file",
                 path, number, what);
    };
    const Result<json::object> row = ParseJsonObject(line);
    if (!row.ok()) return wrong(row.error().message);
    const Result<RooflineReport> bound = ReadRoofline(*row);
    if (!bound.ok()) return wrong(bound.error().message);
    const std::string card = GetString(*row, "card");
    Key key{GetString(*row, "task_id"), GetString(*row, "task_sha256"),
            GetString(*row, "device") == "cpu" ? "" : CardName(card)};
    if (std::get<0>(key).empty() || std::get<1>(key).empty() || card.empty())
      return wrong("it names no task_id, task_sha256 or card");
    if (!file.bounds_.emplace(std::move(key), *bound).second)
      return wrong("it is the second bound of this task on this card");
  }
  return file;
}

const RooflineReport* BoundsFile::Find(const json::object& verdict) const {
  const json::object environment = GetObject(verdict, "environment");
  const auto found =
      bounds_.find(Key{GetString(verdict, "task_id"), GetString(verdict, "task_sha256"),
                       CardName(GetString(environment, "gpu"))});
  return found == bounds_.end() ? nullptr : &found->second;
}

}  // namespace assay
