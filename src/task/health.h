#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// A trivial program that passes a task in one of the task's input families.
struct HealthFinding {
  std::string family;   ///< "native", "rare", "signed", "scaled"
  std::string program;  ///< "zeros", "constant", "input[0]", "previous", "other_weights", ...
  /// "assay", the numeric rule of the trials; "kernelbench" and "half", allclose at 1e-4 and 1e-2.
  std::vector<std::string> rules;
};

/// What the screen found of one task: an `assay.task_health/1` object, made by
/// python/assay/runtime/health.py. It holds for one text of the task on one size of inputs.
struct TaskHealth {
  std::string id;
  std::string sha256;
  std::string size;   ///< "gpu" or "cpu"
  std::string error;  ///< why it could not be screened; then nothing else is known
  std::vector<std::string> families;
  std::vector<HealthFinding> findings;
  /// The trivial program that passes in all families, so that a score means nothing; empty: none.
  std::string void_by;
  std::string void_by_kernelbench;  ///< the same for KernelBench's check of the task's own inputs
  std::vector<int> unused_inputs;
};

/// kInvalid: no such object.
Result<TaskHealth> ReadTaskHealth(const json::object& document);

/// One line for a person: "void: zeros pass", "signed: constant passes; input 1 is not used", "ok".
std::string Describe(const TaskHealth& health);

/// Why a verdict on this task says that it is void; empty where it is not. "zeros pass".
std::string VoidReason(const TaskHealth& health);

/// What ships with Assay (tasks/health.jsonl) about a task's text at a size, nullptr where nothing
/// does. Read once; any thread.
const TaskHealth* KnownHealth(std::string_view sha256, std::string_view size);

/// Parses such a file: one object a line. kInvalid names the line.
Result<std::vector<TaskHealth>> ReadTaskHealthFile(std::string_view text);

}  // namespace assay
