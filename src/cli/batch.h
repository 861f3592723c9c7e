#pragma once

#include "task/task.h"
#include "worker/engine.h"

namespace assay {

struct BatchOptions {
  std::string input;         ///< JSONL: {"task", "source" or "path", optional "id"}, no more
  std::string output;        ///< JSONL to append verdicts to; empty: standard output
  std::string default_task;  ///< for lines without "task"; empty: these are wrong
  int jobs = 1;
  bool full = false;
  Modes modes;
  bool time = true;
  bool profile = false;
  bool ghost = false;
  bool ncu = false;
  std::string sanitize;  ///< see Submission
  bool show_progress = false;
};

/// Judges every line, `jobs` at once, one verdict a line in the order in which they are ready.
/// A line without an id gets the hash of what it asks for, so that a second run with the same
/// --output skips what is done. Returns the exit code: 0 all judged, 3 with infrastructure faults.
int RunBatch(const BatchOptions& options, TaskRegistry* registry, EngineOptions engine_options);

}  // namespace assay
