#pragma once

#include <string>

#include "base/json.h"
#include "task/task.h"

namespace assay {

/// One object a task: id, name, family, level, entry, origin, sha256 (its first 12 digits).
json::array DescribeTasks(const TaskRegistry& registry);

/// All that is known of one task: also aliases, the full sha256 and the source.
json::object DescribeTask(const Task& task);

/// What was left out: one object {origin, message} each.
json::array DescribeProblems(const TaskRegistry& registry);

/// The same for people: aligned columns under a heading, the number of tasks in the last line.
std::string FormatTaskTable(const TaskRegistry& registry);
std::string FormatTask(const Task& task);
/// Empty when there are none.
std::string FormatProblems(const TaskRegistry& registry);

}  // namespace assay
