#include "roofline/override.h"

#include <fmt/format.h>

#include <memory>
#include <tuple>
#include <utility>

#include "base/fd.h"
#include "base/strings.h"

namespace assay {
namespace {

constexpr double kMostBytes = 1e24;
constexpr size_t kMostText = 16u << 20;
constexpr size_t kMostReason = 1000;

Result<BoundOverride> ReadOne(std::string_view task_id, const json::value& entry) {
  const auto wrong = [&](std::string_view what) {
    return Err(ErrorCode::kInvalid, "the override of {} {}",
               CleanText(TruncateMiddle(task_id, 100)), what);
  };
  const json::object* object = entry.if_object();
  if (object == nullptr) return wrong("must be an object");
  BoundOverride found;
  found.task_sha256 = GetString(*object, "task_sha256");
  found.reason = CleanText(TruncateMiddle(GetString(*object, "reason"), kMostReason));
  if (found.reason.empty()) return wrong("gives no reason");
  if (found.task_sha256.empty()) return wrong("names no task_sha256");
  const std::tuple<std::string_view, std::optional<double>*, double> figures[] = {
      {"read_bytes", &found.read_bytes, kMostBytes},
      {"write_bytes", &found.write_bytes, kMostBytes},
      {"matrix_scale", &found.matrix_scale, 1}};
  for (const auto& [key, value] : *object) {
    if (key == "task_sha256" || key == "reason") continue;
    bool known = false;
    for (const auto& [name, figure, most] : figures) {
      if (key != name) continue;
      known = true;
      const double number = value.is_number() ? value.to_number<double>() : -1;
      if (!(number >= 0 && number <= most))
        return wrong(fmt::format("needs {} in [0, {}]", name, most));
      *figure = number;
    }
    if (!known)
      return wrong(fmt::format("has an unknown member '{}'", CleanText(TruncateMiddle(key, 100))));
  }
  return found;
}

}  // namespace

Result<BoundOverrides> ReadOverrides(const json::object& document) {
  BoundOverrides overrides;
  for (const auto& [task_id, entry] : document) {
    ASSAY_ASSIGN_OR_RETURN(BoundOverride one, ReadOne(task_id, entry));
    overrides.emplace(task_id, std::move(one));
  }
  return overrides;
}

Result<BoundOverrides> LoadOverrides(const std::string& path) {
  if (path.empty()) return BoundOverrides{};
  const auto named = [&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", path, error.message)};
  };
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostText));
  const Result<json::object> document = ParseJsonObject(text);
  if (!document.ok()) return named(document.error());
  Result<BoundOverrides> overrides = ReadOverrides(*document);
  if (!overrides.ok()) return named(overrides.error());
  return overrides;
}

const BoundOverride* FindOverride(const BoundOverrides& overrides, std::string_view task_id,
                                  std::string_view task_sha256) {
  const auto found = overrides.find(task_id);
  return found != overrides.end() && found->second.task_sha256 == task_sha256 ? &found->second
                                                                              : nullptr;
}

std::vector<std::string> IdleOverrides(const BoundOverrides& overrides, const TaskRegistry& tasks) {
  std::vector<std::string> idle;
  for (const auto& [task_id, entry] : overrides) {
    const Result<std::shared_ptr<const Task>> task = tasks.Find(task_id);
    if (!task.ok() || (*task)->id != task_id) {  // an alias finds a task, but names no override
      idle.push_back(fmt::format("the override of {} names no task{}",
                                 CleanText(TruncateMiddle(task_id, 100)),
                                 task.ok() ? "; its id is " + (*task)->id : " here"));
    } else if ((*task)->sha256 != entry.task_sha256) {
      idle.push_back(fmt::format(
          "the override of {} is for another version of the task: its source has the sha256 {}",
          task_id, (*task)->sha256));
    }
  }
  return idle;
}

}  // namespace assay
