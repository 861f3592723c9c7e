#include "tools/find.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/process.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNsightFolder = "/opt/nvidia/nsight-compute";

bool IsProgram(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// The newest installation that has it; folders there are versions.
std::string NewestNsight(const std::string& program) {
  std::vector<fs::path> versions;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(kNsightFolder, ignored))
    if (IsProgram(entry.path() / program)) versions.push_back(entry.path());
  if (versions.empty()) return "";
  return *std::max_element(versions.begin(), versions.end()) / program;
}

}  // namespace

Result<std::string> FindTool(const ToolInfo& tool, const std::string& cuda_home) {
  if (Result<std::string> path = FindProgram(tool.program); path.ok()) return path;
  const char* home = std::getenv("CUDA_HOME");  // NOLINT(concurrency-mt-unsafe)
  for (const fs::path& folder :
       {fs::path(cuda_home), fs::path(home != nullptr ? home : ""), fs::path("/usr/local/cuda")}) {
    if (folder.empty()) continue;
    if (const fs::path path = folder / "bin" / tool.program; IsProgram(path)) return path.string();
  }
  if (std::string path = NewestNsight(tool.program); !path.empty()) return path;
  return Err(ErrorCode::kNotFound,
             "{} is neither on PATH nor in the CUDA toolkit; install it with `{}`", tool.program,
             tool.fix);
}

std::vector<std::string> FoldersOf(const std::string& path) {
  std::vector<std::string> folders;
  std::error_code ignored;
  // As named, and where it really stands: what is on PATH may be a link or a script that starts
  // another program of the toolkit.
  for (const fs::path& at : {fs::absolute(path, ignored), fs::canonical(path, ignored)}) {
    if (at.empty() || !at.has_parent_path()) continue;
    const fs::path folder = at.parent_path();
    if (folder == folder.root_path()) continue;
    folders.push_back(folder);
    for (const auto& entry : fs::directory_iterator(folder.parent_path(), ignored)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("compute-sanitizer") || name.starts_with("nsight-compute"))
        folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  return folders;
}

}  // namespace assay
