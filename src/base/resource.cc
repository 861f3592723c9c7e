#include "base/resource.h"

#include <cstdlib>
#include <filesystem>

namespace assay {
namespace {

namespace fs = std::filesystem;

/// From build/<preset>/bin the source tree is three folders up. No further: what lies in folders
/// that the installation does not own must never be taken for ours.
constexpr int kHighestClimb = 3;

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool IsSourceTree(const fs::path& folder) {
  return Exists(folder / "tasks") && Exists(folder / "python" / "assay");
}

}  // namespace

Result<std::string> FindResourceNear(const std::string& executable, const std::string& name) {
  fs::path folder = fs::path(executable).parent_path();
  const fs::path start = folder;
  for (int climbed = 0; climbed <= kHighestClimb; ++climbed, folder = folder.parent_path()) {
    const fs::path installed = folder / "share" / "assay" / name;
    if (Exists(installed)) return installed.string();
    if (IsSourceTree(folder) && Exists(folder / name)) return (folder / name).string();
  }
  return Err(
      ErrorCode::kNotFound,
      "Assay's own folder '{}' was not found: no share/assay/{} and no source tree in '{}' or "
      "the {} folders above it; set ASSAY_HOME to the folder that holds '{}'",
      name, name, start.string(), kHighestClimb, name);
}

Result<std::string> FindResource(const std::string& name) {
  const char* home = std::getenv("ASSAY_HOME");  // NOLINT(concurrency-mt-unsafe)
  if (home != nullptr && *home != '\0') {
    const fs::path path = fs::path(home) / name;
    if (Exists(path)) return path.string();
    return Err(ErrorCode::kNotFound, "ASSAY_HOME is '{}', which holds no '{}'", home, name);
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) return Err(ErrorCode::kIo, "cannot read /proc/self/exe: {}", error.message());
  return FindResourceNear(executable.string(), name);
}

std::string CacheFolder(const std::string& part) {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/assay/" + part;
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr && *home != '\0' ? home : "/tmp") + "/.cache/assay/" + part;
}

}  // namespace assay
