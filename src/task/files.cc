#include <algorithm>
#include <filesystem>
#include <functional>

#include "base/fd.h"
#include "task/loaders.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// A folder with more files than this is not a folder of tasks.
constexpr size_t kMaxFiles = 100'000;

/// Level of a built-in task: what KernelBench would call it.
int LevelOfFamily(std::string_view family) {
  if (family == "nets") return 3;
  if (family == "fused") return 2;
  return 1;
}

/// The .py files below `root`, sorted, as paths relative to it.
Result<std::vector<fs::path>> PythonFilesBelow(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator at(root, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (name.starts_with('.') || name == "__pycache__") at.disable_recursion_pending();
    } else if (name.ends_with(".py") && !name.starts_with('_') && !name.starts_with('.') &&
               at->is_regular_file(ignored)) {
      files.push_back(at->path().lexically_relative(root));
      if (files.size() > kMaxFiles)
        return Err(ErrorCode::kInvalid, "'{}' holds more than {} .py files", root.string(),
                   kMaxFiles);
    }
  }
  if (error)
    return Err(ErrorCode::kIo, "cannot read the folder '{}': {}", root.string(), error.message());
  std::sort(files.begin(), files.end());
  return files;
}

/// Loads every file below `root`; `describe` fills in all but source and origin.
Result<LoadedTasks> LoadBelow(const fs::path& root,
                              const std::function<Task(const fs::path&)>& describe) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<fs::path> files, PythonFilesBelow(root));
  LoadedTasks loaded;
  for (const fs::path& file : files) {
    const std::string path = (root / file).string();
    Task task = describe(file);
    if (task.origin.empty()) task.origin = path;
    Keep(ReadAndMake(std::move(task), path), path, &loaded);
  }
  return loaded;
}

}  // namespace

Result<Task> ReadAndMake(Task task, const std::string& path) {
  const fs::path file(path);
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) && fs::exists(file, ignored))
    return Err(ErrorCode::kInvalid, "'{}' is not a regular file", path);  // a FIFO would block
  ASSAY_ASSIGN_OR_RETURN(task.source, ReadFile(path, kMaxTaskSource));
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // compile() of a str refuses it
  if (task.source.starts_with(kByteOrderMark)) task.source.erase(0, kByteOrderMark.size());
  return MakeTask(std::move(task));
}

void Keep(Result<Task> made, const std::string& origin, LoadedTasks* loaded) {
  if (made.ok()) {
    loaded->tasks.push_back(*std::move(made));
  } else {
    loaded->problems.push_back({origin, made.error().message});
  }
}

Result<Task> LoadTaskFile(const std::string& path) {
  Task task;
  const std::string stem = fs::path(path).stem().string();
  task.id = "file/" + stem;
  task.aliases = {stem, path};
  task.origin = path;
  Result<Task> made = ReadAndMake(std::move(task), path);
  if (!made.ok()) return Err(made.error().code, "{}: {}", path, made.error().message);
  return made;
}

Result<LoadedTasks> LoadTaskFolder(const std::string& path) {
  const fs::path root(path);
  std::error_code ignored;
  if (fs::is_directory(root / "KernelBench" / "level1", ignored) ||
      fs::is_directory(root / "level1", ignored))
    return Err(ErrorCode::kInvalid, "'{}' is a checkout of KernelBench: say kernelbench:{}", path,
               path);
  return LoadBelow(root, [](const fs::path& file) {
    Task task;
    const std::string name = fs::path(file).replace_extension().generic_string();
    task.id = "file/" + name;
    task.aliases = {name, file.stem().string()};
    return task;
  });
}

Result<LoadedTasks> LoadBuiltinTasks(const std::string& path) {
  return LoadBelow(path, [](const fs::path& file) {
    Task task;
    task.name = file.stem().string();
    task.id = "assay/" + task.name;
    task.family = file.parent_path().generic_string();
    task.aliases = {task.family + "/" + task.name, task.name};
    task.level = LevelOfFamily(task.family);
    task.origin = "builtin";
    return task;
  });
}

}  // namespace assay
