#pragma once

#include <string>
#include <vector>

#include "task/task.h"

namespace assay {

/// What one source of tasks held. Each loader's tasks have passed MakeTask.
struct LoadedTasks {
  std::vector<Task> tasks;
  std::vector<TaskProblem> problems;
};

/// Reads `path` (a regular file) into `task.source`, then MakeTask.
Result<Task> ReadAndMake(Task task, const std::string& path);

/// Puts what a loader made of `origin` where it belongs.
void Keep(Result<Task> made, const std::string& origin, LoadedTasks* loaded);

/// One .py file as `file/<stem>`. Any fault is an error.
Result<Task> LoadTaskFile(const std::string& path);

/// All .py files below a folder as `file/<path without .py>`; hidden folders, `__pycache__` and
/// files that begin with "_" are passed over.
Result<LoadedTasks> LoadTaskFolder(const std::string& path);

/// The project's own tasks, `<family>/<name>.py` below `path`, as `assay/<name>`.
Result<LoadedTasks> LoadBuiltinTasks(const std::string& path);

/// KernelBench/level<L>/<N>_<Title>.py of a checkout (or of its KernelBench folder) as
/// `kb/l<L>/<N>`.
Result<LoadedTasks> LoadKernelBench(const std::string& path);

/// The task with KernelBench's number `problem` of `level`, with all its aliases; not yet checked.
Task KernelBenchTask(int level, int problem, const std::string& name);

/// One task a line, in any of the published forms (see dataset.cc).
Result<LoadedTasks> LoadJsonl(const std::string& path);

/// As LoadJsonl for a Parquet file, which `python` turns into JSONL.
Result<LoadedTasks> LoadParquet(const std::string& path, const std::string& python);

}  // namespace assay
