#include "task/task.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "base/hash.h"
#include "base/resource.h"
#include "base/strings.h"
#include "task/loaders.h"
#include "task/python_names.h"
#include "task/repair.h"

namespace assay {
namespace {

/// Ids stand in URLs, file names and terminals.
constexpr size_t kMaxIdLength = 200;
constexpr size_t kSuggestions = 3;

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool IsIdChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("._-+@:~/").find(c) != std::string_view::npos;
}

Status CheckId(std::string_view id) {
  if (id.empty() || id.size() > kMaxIdLength)
    return Err(ErrorCode::kInvalid, "a task id has 1 to {} characters, this one {}", kMaxIdLength,
               id.size());
  if (!std::all_of(id.begin(), id.end(), IsIdChar))
    return Err(ErrorCode::kInvalid,
               "task id '{}' has characters other than letters, digits and . _ - + @ : ~ /",
               CleanText(id));
  return {};
}

/// The form under which lookups meet: no trailing ".py", no leading zeros in a part's number.
std::string Forgiving(std::string_view id) {
  if (id.ends_with(".py")) id.remove_suffix(3);
  std::string form;
  form.reserve(id.size());
  bool part_begins = true;
  for (size_t i = 0; i < id.size(); ++i) {
    const bool leading_zero =
        part_begins && id[i] == '0' && i + 1 < id.size() && IsDigit(id[i + 1]);
    if (leading_zero) continue;
    form += id[i];
    part_begins = id[i] == '/';
  }
  return form;
}

Result<LoadedTasks> Load(const std::string& spec, const std::string& python) {
  constexpr std::string_view kKernelBench = "kernelbench:";
  if (spec == "builtin") {
    ASSAY_ASSIGN_OR_RETURN(const std::string folder, FindResource("tasks"));
    return LoadBuiltinTasks(folder);
  }
  if (spec.starts_with(kKernelBench)) return LoadKernelBench(spec.substr(kKernelBench.size()));
  const std::filesystem::path path(spec);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    return Err(ErrorCode::kNotFound,
               "'{}' names no tasks: give builtin, kernelbench:PATH, or the path of a .py file, a "
               "folder of them, a .jsonl or a .parquet file",
               spec);
  if (std::filesystem::is_directory(status)) return LoadTaskFolder(spec);
  if (!std::filesystem::is_regular_file(status))
    return Err(ErrorCode::kInvalid, "'{}' is neither a file nor a folder", spec);
  if (path.extension() == ".jsonl") return LoadJsonl(spec);
  if (path.extension() == ".parquet") return LoadParquet(spec, python);
  if (path.extension() == ".py") {
    ASSAY_ASSIGN_OR_RETURN(Task task, LoadTaskFile(spec));
    LoadedTasks loaded;
    loaded.tasks.push_back(std::move(task));
    return loaded;
  }
  return Err(ErrorCode::kInvalid, "'{}' is not a .py, .jsonl or .parquet file", spec);
}

}  // namespace

Result<Task> MakeTask(Task task) {
  ASSAY_RETURN_IF_ERROR(CheckId(task.id));
  if (task.source.size() > kMaxTaskSource)
    return Err(ErrorCode::kInvalid, "the source has {} bytes; the limit is {}", task.source.size(),
               kMaxTaskSource);
  ASSAY_ASSIGN_OR_RETURN(const PythonNames names, ScanPythonNames(task.source));
  std::vector<std::string> missing;
  if (!names.Binds(task.entry)) missing.push_back("class " + task.entry);
  for (const char* function : {"get_inputs", "get_init_inputs"})
    if (!names.Binds(function)) missing.push_back(std::string(function) + "()");
  if (!missing.empty())
    return Err(ErrorCode::kInvalid,
               "not a task: no {} at the top level (a task defines class {}, get_inputs() and "
               "get_init_inputs())",
               Join(missing, ", no "), CleanText(task.entry));
  if (task.name.empty()) task.name = task.id.substr(task.id.rfind('/') + 1);
  task.sha256 = Sha256Hex(task.source);
  return task;
}

Status TaskRegistry::Add(const std::string& spec) {
  ASSAY_ASSIGN_OR_RETURN(LoadedTasks loaded, Load(spec, python_));
  if (loaded.tasks.empty()) {
    if (loaded.problems.empty()) return Err(ErrorCode::kInvalid, "'{}' holds no tasks", spec);
    const TaskProblem& first = loaded.problems.front();
    return Err(ErrorCode::kInvalid, "'{}' holds no usable task; the first of {} problems: {}: {}",
               spec, loaded.problems.size(), first.origin, first.message);
  }
  ASSAY_RETURN_IF_ERROR(AddAll(std::move(loaded.tasks)));
  problems_.insert(problems_.end(), loaded.problems.begin(), loaded.problems.end());
  return {};
}

Status TaskRegistry::Add(Task task) {
  ASSAY_CHECK(!task.sha256.empty());
  std::vector<Task> tasks;
  tasks.push_back(std::move(task));
  return AddAll(std::move(tasks));
}

Status TaskRegistry::AddAll(std::vector<Task> tasks) {
  std::unordered_map<std::string, TaskPtr> fresh;
  std::vector<TaskPtr> order;
  for (Task& task : tasks) {
    const auto known = by_id_.find(task.id);
    const auto added = fresh.find(task.id);
    const TaskPtr other = known != by_id_.end()  ? known->second
                          : added != fresh.end() ? added->second
                                                 : nullptr;
    if (other == nullptr) {
      order.push_back(std::make_shared<const Task>(std::move(task)));
      fresh.emplace(order.back()->id, order.back());
    } else if (other->sha256 != task.sha256) {
      return Err(ErrorCode::kInvalid,
                 "two different tasks have the id '{}': one from {}, one from {}; rename one or "
                 "leave it out",
                 task.id, other->origin, task.origin);
    }
  }
  for (const TaskPtr& task : order) {
    by_id_.emplace(task->id, task);
    tasks_.push_back(task);
    std::vector<std::string> names = task->aliases;
    names.push_back(task->id);
    for (std::string& name : names) name = Forgiving(name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string& name : names) by_name_[name].push_back(task);
  }
  return {};
}

Result<std::shared_ptr<const Task>> TaskRegistry::Find(std::string_view id) const {
  if (const auto exact = by_id_.find(std::string(id)); exact != by_id_.end()) return exact->second;
  const auto named = by_name_.find(Forgiving(id));
  if (named == by_name_.end()) {
    if (const VariantId variant = SplitVariant(id); !variant.repair.empty()) {
      ASSAY_ASSIGN_OR_RETURN(const TaskPtr original, Find(variant.original));
      ASSAY_ASSIGN_OR_RETURN(Task made, MakeVariant(*original, variant.repair));
      return std::shared_ptr<const Task>(std::make_shared<const Task>(std::move(made)));
    }
    return Err(ErrorCode::kNotFound, "no task '{}'; {}", CleanText(id.substr(0, kMaxIdLength)),
               Hint(id));
  }
  if (named->second.size() == 1) return named->second.front();
  std::vector<std::string> ids;
  for (const TaskPtr& task : named->second) ids.push_back(task->id);
  return Err(ErrorCode::kInvalid, "'{}' fits several tasks: {}; say which", id, Join(ids, ", "));
}

std::string TaskRegistry::Hint(std::string_view id) const {
  if (tasks_.empty()) return "no tasks are loaded (add them with --tasks builtin)";
  const auto of_kernelbench = [](std::string_view name) { return name.starts_with("kb/"); };
  if (of_kernelbench(id) && std::none_of(tasks_.begin(), tasks_.end(), [&](const TaskPtr& task) {
        return of_kernelbench(task->id);
      }))
    return "KernelBench's tasks need --tasks kernelbench:PATH";  // no other is near
  const std::string wanted = ToLower(Forgiving(id.substr(0, kMaxIdLength)));
  std::vector<std::pair<size_t, size_t>> ranked;  // distance, index
  for (size_t i = 0; i < tasks_.size(); ++i) {
    size_t best = EditDistance(wanted, ToLower(tasks_[i]->id));
    for (const std::string& alias : tasks_[i]->aliases)
      best = std::min(best, EditDistance(wanted, ToLower(alias)));
    ranked.emplace_back(best, i);
  }
  const size_t count = std::min(kSuggestions, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count),
                    ranked.end());
  std::vector<std::string> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(tasks_[ranked[i].second]->id);
  return fmt::format("the nearest are {}", Join(ids, ", "));
}

}  // namespace assay
