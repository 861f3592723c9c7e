#include "task/describe.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace assay {
namespace {

/// Enough digits of a digest to tell the versions of one task apart.
constexpr size_t kDigestDigits = 12;

constexpr size_t kColumns = 6;
using Row = std::array<std::string, kColumns>;

Row RowOf(const Task& task) {
  return {task.id,
          task.family.empty() ? "-" : task.family,
          task.level == 0 ? "-" : std::to_string(task.level),
          CleanText(task.name),
          task.sha256.substr(0, kDigestDigits),
          CleanText(task.origin)};
}

}  // namespace

json::array DescribeTasks(const TaskRegistry& registry) {
  json::array described;
  for (const auto& task : registry.tasks()) {
    json::object& object = described.emplace_back(json::object()).get_object();
    object["id"] = task->id;
    object["name"] = CleanText(task->name);
    object["family"] = task->family;
    object["level"] = task->level;
    object["entry"] = task->entry;
    object["origin"] = CleanText(task->origin);
    object["sha256"] = task->sha256.substr(0, kDigestDigits);
  }
  return described;
}

json::object DescribeTask(const Task& task) {
  json::object object;
  object["id"] = task.id;
  object["name"] = CleanText(task.name);
  object["family"] = task.family;
  object["level"] = task.level;
  object["entry"] = task.entry;
  object["origin"] = CleanText(task.origin);
  object["sha256"] = task.sha256;
  json::array& aliases = object["aliases"].emplace_array();
  for (const std::string& alias : task.aliases) aliases.emplace_back(CleanText(alias));
  object["source"] = task.source;
  return object;
}

json::array DescribeProblems(const TaskRegistry& registry) {
  json::array described;
  for (const TaskProblem& problem : registry.problems())
    described.emplace_back(json::object{{"origin", CleanText(problem.origin)},
                                        {"message", CleanText(problem.message)}});
  return described;
}

std::string FormatTaskTable(const TaskRegistry& registry) {
  std::vector<Row> rows = {{"ID", "FAMILY", "LEVEL", "NAME", "SHA256", "ORIGIN"}};
  for (const auto& task : registry.tasks()) rows.push_back(RowOf(*task));
  std::array<size_t, kColumns> width{};
  for (const Row& row : rows)
    for (size_t i = 0; i < kColumns; ++i) width[i] = std::max(width[i], row[i].size());
  std::string table;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < kColumns; ++i) table += fmt::format("{:<{}}  ", row[i], width[i]);
    table += row.back() + "\n";
  }
  const size_t count = registry.tasks().size();
  return table + fmt::format("{} task{}\n", count, count == 1 ? "" : "s");
}

std::string FormatTask(const Task& task) {
  std::string text = fmt::format("id       {}\nname     {}\n", task.id, CleanText(task.name));
  if (!task.family.empty()) text += fmt::format("family   {}\n", task.family);
  if (task.level != 0) text += fmt::format("level    {}\n", task.level);
  text += fmt::format("entry    {}\norigin   {}\nsha256   {}\naliases  {}\n\n{}", task.entry,
                      CleanText(task.origin), task.sha256, CleanText(Join(task.aliases, ", ")),
                      CleanText(task.source));
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string FormatProblems(const TaskRegistry& registry) {
  std::string text;
  for (const TaskProblem& problem : registry.problems())
    text += CleanText(problem.origin) + ": " + CleanText(problem.message) + "\n";
  return text;
}

}  // namespace assay
