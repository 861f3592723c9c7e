#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

/// A program of the CUDA toolkit that looks into a run from outside.
struct ToolInfo {
  const char* program;
  const char* fix;  ///< the command that installs it
};

inline constexpr ToolInfo kNcu{"ncu", "apt-get install cuda-nsight-compute-13-0"};
inline constexpr ToolInfo kComputeSanitizer{"compute-sanitizer",
                                            "apt-get install cuda-sanitizer-13-0"};

/// Full path of the tool: on PATH, in `cuda_home` (may be empty) or CUDA_HOME, in /usr/local/cuda,
/// or the newest one where Nsight Compute installs itself. kNotFound says where it was looked for.
Result<std::string> FindTool(const ToolInfo& tool, const std::string& cuda_home);

/// Folders that a process must be able to read to run the program at `path`: its own, through all
/// links, and what the toolkit puts beside it.
std::vector<std::string> FoldersOf(const std::string& path);

}  // namespace assay
