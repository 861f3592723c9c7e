#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "openenv/observation.h"

namespace assay::openenv {

/// What resets say about their tasks, made and serialised once for equal tasks, modes and machines.
/// Thread-safe.
class TaskParts {
 public:
  /// ReadyTaskPart(context).
  std::shared_ptr<const TaskPart> Get(const ObservationContext& context);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const TaskPart>> parts_;
};

}  // namespace assay::openenv
