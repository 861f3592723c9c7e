#include "openenv/task_parts.h"

namespace assay::openenv {
namespace {

/// Of about 15 kB each. Clients choose part of the key, so it must not grow without end.
constexpr size_t kMost = 1024;

}  // namespace

std::shared_ptr<const TaskPart> TaskParts::Get(const ObservationContext& context) {
  const std::string key =
      context.task->id + '\n' + context.task->sha256 + '\n' + ReadyTaskKey(context);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = parts_.find(key); found != parts_.end()) return found->second;
  }
  auto part = std::make_shared<const TaskPart>(ReadyTaskPart(context));
  const std::lock_guard lock(mutex_);
  if (parts_.size() >= kMost) parts_.clear();
  parts_.emplace(key, part);
  return part;
}

}  // namespace assay::openenv
