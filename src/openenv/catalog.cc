#include "openenv/catalog.h"

#include <algorithm>

#include "base/hash.h"
#include "base/strings.h"

namespace assay::openenv {
namespace {

uint64_t First64(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

/// Whether `id` lies in `suite` or below it.
bool InSuite(std::string_view id, std::string_view suite) {
  return id.size() > suite.size() && id.starts_with(suite) && id[suite.size()] == '/';
}

}  // namespace

std::string SuiteOf(std::string_view task_id) {
  const size_t slash = task_id.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(task_id.substr(0, slash));
}

Catalog::Catalog(std::shared_ptr<const TaskRegistry> registry) : registry_(std::move(registry)) {
  splits_.push_back({"train", registry_->tasks()});
  for (const TaskPtr& task : registry_->tasks()) {
    const std::string suite = SuiteOf(task->id);
    if (suite.empty() || suite == "train") continue;
    auto split = std::find_if(splits_.begin(), splits_.end(),
                              [&](const Split& each) { return each.name == suite; });
    if (split == splits_.end()) split = splits_.insert(splits_.end(), {suite, {}});
    split->tasks.push_back(task);
  }
  std::vector<std::string> lines;
  for (const TaskPtr& task : registry_->tasks())
    lines.push_back(task->id + " " + task->sha256 + "\n");
  std::sort(lines.begin(), lines.end());
  sha256_ = Sha256Hex(Join(lines, ""));
}

const Catalog::Split* Catalog::FindSplit(std::string_view name) const {
  const auto found = std::find_if(splits_.begin(), splits_.end(),
                                  [&](const Split& split) { return split.name == name; });
  return found == splits_.end() ? nullptr : &*found;
}

Result<Catalog::TaskPtr> Catalog::Choose(const TaskChoice& choice) const {
  if (!choice.task_id.empty()) return registry_->Find(choice.task_id);
  const Split* split = FindSplit(choice.split.empty() ? "train" : choice.split);
  if (split == nullptr) {
    std::vector<std::string> names;
    for (const Split& each : splits_) names.push_back(each.name);
    return Err(ErrorCode::kNotFound, "no split '{}'; there is: {}", choice.split,
               TruncateMiddle(Join(names, ", "), 400));
  }
  std::vector<TaskPtr> tasks;
  for (const TaskPtr& task : split->tasks) {
    if (!choice.suite.empty() && !InSuite(task->id, choice.suite)) continue;
    if (choice.level >= 0 && task->level != choice.level) continue;
    tasks.push_back(task);
  }
  if (tasks.empty())
    return Err(ErrorCode::kNotFound, "no task in suite '{}', split '{}'{}", choice.suite,
               split->name, choice.level < 0 ? "" : fmt::format(", level {}", choice.level));
  const auto count = static_cast<uint64_t>(tasks.size());
  if (choice.index) {
    if (*choice.index < 0 || static_cast<uint64_t>(*choice.index) >= count)
      return Err(ErrorCode::kInvalid, "index {} is not within the {} tasks of the selection",
                 *choice.index, count);
    return tasks[static_cast<size_t>(*choice.index)];
  }
  if (choice.seed) {
    const Digest digest = Sha256("kernel_env.seed/1\n" + *choice.seed);
    uint64_t value = 0;
    for (size_t i = 0; i < 8; ++i) value = value << 8 | digest[i];
    return tasks[value % count];
  }
  return tasks[First64(RandomBytes(8)) % count];
}

}  // namespace assay::openenv
