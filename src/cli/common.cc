#include <sys/stat.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/log.h"
#include "base/resource.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "server/json_log.h"
#include "task/repair.h"

namespace assay {

std::string ChoosePython(const std::string& named) {
  if (!named.empty()) return named;
  if (const char* variable = std::getenv("ASSAY_PYTHON"); variable != nullptr && *variable != '\0')
    return variable;
  if (const char* venv = std::getenv("VIRTUAL_ENV"); venv != nullptr && *venv != '\0')
    return std::string(venv) + "/bin/python";
  if (Result<std::string> venv = FindResource(".venv"); venv.ok()) return *venv + "/bin/python";
  return "python3";
}

Result<TaskRegistry> OpenTasks(const std::vector<std::string>& specs, const std::string& python) {
  TaskRegistry registry(python);
  if (specs.empty()) {
    ASSAY_RETURN_IF_ERROR(registry.Add("builtin"));
    return registry;
  }
  for (const std::string& spec : specs) ASSAY_RETURN_IF_ERROR(registry.Add(spec));
  for (const TaskProblem& problem : registry.problems())
    fmt::print(stderr, "assay: left out {}: {}\n", problem.origin, problem.message);
  return registry;
}

Result<json::object> ParseSettings(const std::vector<std::string>& settings) {
  json::object parameters;
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      return Err(ErrorCode::kInvalid, "--set wants NAME=VALUE, not '{}'", setting);
    const std::string text = setting.substr(equals + 1);
    const Result<json::value> value = ParseJson(text);
    parameters[setting.substr(0, equals)] = value.ok() ? *value : json::value(text);
  }
  return parameters;
}

Result<std::shared_ptr<const Task>> FindTask(TaskRegistry* registry, const std::string& task) {
  struct stat status {};
  if (const VariantId variant = SplitVariant(task);
      !variant.repair.empty() && variant.original.ends_with(".py")) {
    ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const Task> original,
                           FindTask(registry, std::string(variant.original)));
    ASSAY_ASSIGN_OR_RETURN(Task made, MakeVariant(*original, variant.repair));
    return std::shared_ptr<const Task>(std::make_shared<const Task>(std::move(made)));
  }
  if (task.ends_with(".py") && ::stat(task.c_str(), &status) == 0) {
    const size_t before = registry->tasks().size();
    ASSAY_RETURN_IF_ERROR(registry->Add(task));
    if (registry->tasks().size() > before) return registry->tasks().back();
  }
  Result<std::shared_ptr<const Task>> found = registry->Find(task);
  if (!found.ok() && found.error().code == ErrorCode::kNotFound && task.ends_with(".py"))
    return Err(ErrorCode::kNotFound, "cannot read the task '{}': there is no such file",
               CleanText(TruncateMiddle(task, 300)));
  return found;
}

void WarnOfIdleOverrides(const BoundOverrides& overrides, const TaskRegistry& tasks) {
  for (const std::string& idle : IdleOverrides(overrides, tasks))
    fmt::print(stderr, "assay: {}\n", idle);
}

void SetUpServiceLogging(const CLI::App* app, bool as_json) {
  const CLI::Option* level = app->get_option("--log-level");
  const std::string chosen = level->count() > 0 ? level->as<std::string>() : "info";
  if (as_json) {
    SetUpJsonLogging(chosen);
  } else {
    SetUpLogging(chosen);
  }
}

int Report(const Error& error) {
  fmt::print(stderr, "assay: {}\n", error.message);
  const bool usage = error.code == ErrorCode::kInvalid || error.code == ErrorCode::kNotFound;
  return usage ? kExitUsage : kExitInfrastructure;
}

Result<std::string> ReadKey(const std::string& file) {
  std::string key;
  if (!file.empty()) {
    const Result<std::string> text = ReadFile(file, 4096);
    if (!text.ok()) return Err(ErrorCode::kInvalid, "{}", text.error().message);
    key = Trim(*text);
    if (key.empty())
      return Err(ErrorCode::kInvalid,
                 "'{}' is empty: a file with one key is expected, as `assay keys new` prints it",
                 file);
  } else if (const char* variable = std::getenv("ASSAY_API_KEY"); variable != nullptr) {
    key = variable;
  }
  for (const char c : key)
    if (c <= ' ' || c > '~')
      return Err(ErrorCode::kInvalid,
                 "the key is none: a file with one key alone is expected, as `assay keys new` "
                 "prints it");
  return key;
}

}  // namespace assay
