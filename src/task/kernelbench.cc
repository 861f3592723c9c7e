#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "task/loaders.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The number that `text` begins with, where it is one from 1 to 99999.
std::optional<int> LeadingNumber(std::string_view text, std::string_view* rest) {
  int number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || number < 1 || number > 99'999) return std::nullopt;
  *rest = text.substr(static_cast<size_t>(parsed.ptr - text.data()));
  return number;
}

/// Entries of `folder` that begin with `prefix` and a number and go on with what `accept` accepts.
Result<std::map<std::pair<int, std::string>, fs::path>> Numbered(
    const fs::path& folder, std::string_view prefix, bool (*accept)(std::string_view rest)) {
  std::map<std::pair<int, std::string>, fs::path> found;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::string_view rest;
    if (!name.starts_with(prefix)) continue;
    const std::optional<int> number =
        LeadingNumber(std::string_view(name).substr(prefix.size()), &rest);
    if (number && accept(rest)) found.emplace(std::pair(*number, name), at->path());
  }
  if (error)
    return Err(ErrorCode::kNotFound, "cannot read the folder '{}': {}", folder.string(),
               error.message());
  return found;
}

bool Nothing(std::string_view rest) { return rest.empty(); }
bool TitleAndPy(std::string_view rest) { return rest.starts_with('_') && rest.ends_with(".py"); }

}  // namespace

Task KernelBenchTask(int level, int problem, const std::string& name) {
  Task task;
  task.id = fmt::format("kb/l{}/{}", level, problem);
  task.name = name;
  task.level = level;
  task.aliases = {fmt::format("level{}/{}", level, problem), fmt::format("level{}/{}", level, name),
                  fmt::format("kb/l{}/{}", level, name),
                  fmt::format("KernelBench/level{}/{}", level, name), name};
  return task;
}

Result<LoadedTasks> LoadKernelBench(const std::string& path) {
  std::error_code ignored;
  const fs::path inner = fs::path(path) / "KernelBench";
  const fs::path root = fs::is_directory(inner, ignored) ? inner : fs::path(path);
  ASSAY_ASSIGN_OR_RETURN(const auto levels, Numbered(root, "level", Nothing));
  if (levels.empty())
    return Err(ErrorCode::kNotFound,
               "'{}' is no checkout of KernelBench: it has no KernelBench/level1", path);
  LoadedTasks loaded;
  for (const auto& [level, folder] : levels) {
    ASSAY_ASSIGN_OR_RETURN(const auto files, Numbered(folder, "", TitleAndPy));
    for (const auto& [problem, file] : files) {
      Task task = KernelBenchTask(level.first, problem.first, file.stem().string());
      task.origin = file.string();
      Keep(ReadAndMake(std::move(task), file.string()), file.string(), &loaded);
    }
  }
  return loaded;
}

}  // namespace assay
