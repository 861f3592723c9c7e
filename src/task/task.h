#pragma once

#include <memory>
#include <string>
#include <string_view>
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
  int level = 0;                     ///< KernelBench level, 0 where there is none
  std::string family;                ///< "softmax", "matmul", ...; empty when unknown
  std::string source;                ///< the Python text
  std::string sha256;                ///< of `source`; an id does not identify a task across versions
  std::string origin;                ///< where it came from, for people ("builtin", a path, ...)
};

/// Named tasks, built once at start and then read by many threads.
class TaskRegistry {
 public:
  /// Adds everything a `--tasks` argument names: "builtin", "kernelbench:PATH", or the path of a
  /// .py file, a folder of them, a .jsonl or a .parquet file. Errors say what to do.
  Status Add(const std::string& spec);

  /// By id or alias, exactly; kNotFound names the nearest ids.
  [[nodiscard]] Result<std::shared_ptr<const Task>> Find(std::string_view id) const;

  /// All tasks, in the order they were added.
  [[nodiscard]] const std::vector<std::shared_ptr<const Task>>& tasks() const { return tasks_; }

 private:
  std::vector<std::shared_ptr<const Task>> tasks_;
};

}  // namespace assay
