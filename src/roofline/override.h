#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "task/task.h"

namespace assay {

/// What a person knows of a task that its reference does not show. Each figure replaces the traced
/// one where that is larger (a task has several sizes); a task whose source has another hash is not
/// meant.
struct BoundOverride {
  std::string task_sha256;
  std::string reason;  ///< never empty, clean, at most 1000 bytes
  std::optional<double> read_bytes;
  std::optional<double> write_bytes;
  std::optional<double> matrix_scale;  ///< of the matrix work, in [0, 1]
};

/// By task id.
using BoundOverrides = std::map<std::string, BoundOverride, std::less<>>;

/// Reads {"<task id>": {"task_sha256", "reason", "read_bytes"?, "write_bytes"?, "matrix_scale"?}}.
/// kInvalid: a malformed entry, which the message names.
Result<BoundOverrides> ReadOverrides(const json::object& document);

/// The same from a file; none where `path` is empty.
Result<BoundOverrides> LoadOverrides(const std::string& path);

/// The entry of a task, if there is one for this source; else null.
const BoundOverride* FindOverride(const BoundOverrides& overrides, std::string_view task_id,
                                  std::string_view task_sha256);

/// One sentence for each entry that does nothing: no task has that id, or that source.
std::vector<std::string> IdleOverrides(const BoundOverrides& overrides, const TaskRegistry& tasks);

}  // namespace assay
