#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/task.h"

namespace assay::openenv {

/// Which task a reset asks for. The first that is given decides: `task_id`; then `index` within the
/// selection; then `seed`, which always draws the same one; then chance.
struct TaskChoice {
  std::string task_id{};
  std::string suite{};  ///< "assay", "kb", "kb/l1"; empty: any
  std::string split{};  ///< as Splits() names them; empty: all
  int level = -1;       ///< -1: any
  std::optional<int64_t> index{};
  std::optional<std::string> seed{};  ///< its decimal text: Python sends integers of any size
};

/// The tasks as an environment's: in suites and splits. Built once; the registry must not change
/// afterwards. Thread-safe.
///
/// A suite is an id up to its last part ("kb/l1" of "kb/l1/019"). Splits are `train`, which is all
/// tasks, and the suites.
class Catalog {
 public:
  using TaskPtr = std::shared_ptr<const Task>;

  explicit Catalog(std::shared_ptr<const TaskRegistry> registry);

  /// kNotFound, kInvalid with a message that names what there is.
  [[nodiscard]] Result<TaskPtr> Choose(const TaskChoice& choice) const;
  [[nodiscard]] Result<TaskPtr> Find(std::string_view id) const { return registry_->Find(id); }

  struct Split {
    std::string name;
    std::vector<TaskPtr> tasks;
  };
  [[nodiscard]] const std::vector<Split>& splits() const { return splits_; }
  /// Of the ids and contents of all tasks: the same where the same are served.
  [[nodiscard]] const std::string& sha256() const { return sha256_; }
  /// nullptr: no such split.
  [[nodiscard]] const Split* FindSplit(std::string_view name) const;

 private:
  std::shared_ptr<const TaskRegistry> registry_;
  std::vector<Split> splits_;
  std::string sha256_;
};

std::string SuiteOf(std::string_view task_id);

}  // namespace assay::openenv
