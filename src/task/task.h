#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace assay {

/// A judged problem in KernelBench's format: Python source that defines `Model`, `get_inputs()` and
/// `get_init_inputs()`. The source is trusted (the operator chose it) but is only ever run in the
/// judge and reference processes, never in this one.
struct Task {
  std::string id;                    ///< "assay/softmax_rows", "kb/l1/19", "file/relu"
  std::vector<std::string> aliases;  ///< other ids that find it, e.g. "level1/19", "19_ReLU"
  std::string name;                  ///< "19_ReLU"
  std::string entry = "Model";       ///< class of the reference; a submission defines entry + "New"
  int level = 0;                     ///< KernelBench level, 0 where there is none
  std::string family;                ///< "softmax", "matmul", ...; empty when unknown
  std::string source;                ///< the Python text
  std::string sha256;  ///< of `source`; an id does not identify a task across versions
  std::string origin;  ///< where it came from, for people ("builtin", "path:line", ...)
};

/// Larger sources are refused; the largest in KernelBench has 30 kB.
inline constexpr size_t kMaxTaskSource = 1u << 20;

/// Checks a task that its maker has filled in (id, source, entry, ...) and adds sha256; `name`
/// defaults to the id's last part. kInvalid when the id has characters that an id must not have, or
/// the source is too large, is no text, or does not define `entry`, `get_inputs` and
/// `get_init_inputs` at its top level. The check reads the text and runs nothing.
Result<Task> MakeTask(Task task);

/// Something that a source of many tasks held and that is no usable task.
struct TaskProblem {
  std::string origin;  ///< "path" or "path:line"
  std::string message;
};

/// Named tasks, built once at start and then read by many threads.
///
/// Names: an id names one task. Adding a task again under its id changes nothing if the source is
/// the same and is an error if it is not. An alias may fit several tasks; then it finds none and
/// the error lists them. Lookups forgive a trailing ".py" and leading zeros ("kb/l1/019.py").
class TaskRegistry {
 public:
  /// `python`: the interpreter that reads Parquet files (it needs pyarrow); nothing else runs it.
  explicit TaskRegistry(std::string python = "python3") : python_(std::move(python)) {}

  /// Adds everything a `--tasks` argument names:
  ///   builtin           the tasks that ship with Assay
  ///   kernelbench:PATH  a checkout of KernelBench
  ///   PATH              a .py file, a folder of them, or a .jsonl or .parquet file of tasks (as
  ///                     KernelBench or the Dr. Kernel data publish them, or {id, code, ...})
  /// A single file must be right. Of many, the unusable ones are left out and told in problems();
  /// none usable is an error. After an error the registry is as it was.
  Status Add(const std::string& spec);

  /// Adds one task made by MakeTask. kInvalid when its id names another source.
  Status Add(Task task);

  /// By id, alias, or the name of a variant (see MakeVariant); kNotFound names the nearest ids, or
  /// says what brings the missing ones.
  [[nodiscard]] Result<std::shared_ptr<const Task>> Find(std::string_view id) const;

  /// All tasks, in the order they were added.
  [[nodiscard]] const std::vector<std::shared_ptr<const Task>>& tasks() const { return tasks_; }

  /// What was left out, in the order it was met.
  [[nodiscard]] const std::vector<TaskProblem>& problems() const { return problems_; }

 private:
  using TaskPtr = std::shared_ptr<const Task>;

  Status AddAll(std::vector<Task> tasks);
  [[nodiscard]] std::string Hint(std::string_view id) const;

  std::string python_;
  std::vector<TaskPtr> tasks_;
  std::vector<TaskProblem> problems_;
  std::unordered_map<std::string, TaskPtr> by_id_;
  std::unordered_map<std::string, std::vector<TaskPtr>>
      by_name_;  ///< forgiving form of ids, aliases
};

}  // namespace assay
