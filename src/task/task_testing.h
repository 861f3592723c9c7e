#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/temp_folder.h"
#include "task/task.h"

namespace assay {

/// The smallest text that passes for a task; `mark` makes sources differ.
inline std::string TaskSource(const std::string& mark = "", const std::string& entry = "Model") {
  return "# " + mark + "\nclass " + entry +
         ":\n    pass\n\ndef get_inputs():\n    return []\n\ndef get_init_inputs():\n    return "
         "[]\n";
}

/// A test with a folder of its own.
class FolderTest : public ::testing::Test {
 protected:
  /// Writes a file below the folder and returns its path.
  std::string Write(const std::string& relative, const std::string& content) {
    const std::filesystem::path path = root_ / relative;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  [[nodiscard]] std::string Path(const std::string& relative = "") const {
    return relative.empty() ? root_.string() : (root_ / relative).string();
  }

  const test::TempFolder folder_;
  const std::filesystem::path root_ = folder_.path();
};

inline std::vector<std::string> Ids(const TaskRegistry& registry) {
  std::vector<std::string> ids;
  for (const auto& task : registry.tasks()) ids.push_back(task->id);
  return ids;
}

inline std::string MessageOf(const Status& status) {
  return status.ok() ? "no error" : status.error().message;
}

template <typename T>
std::string MessageOf(const Result<T>& result) {
  return result.ok() ? "no error" : result.error().message;
}

/// Id of the task that `name` finds, or the error's text.
inline std::string Found(const TaskRegistry& registry, std::string_view name) {
  const auto task = registry.Find(name);
  return task.ok() ? (*task)->id : task.error().message;
}

}  // namespace assay
