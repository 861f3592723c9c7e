#pragma once

#include <cstdint>
#include <string_view>

namespace assay::lint {

/// A dotted path that a submission has no honest use for.
struct Forbidden {
  std::string_view path;  ///< matches itself and everything below it
  const char* rule;
  const char* reason;
};

/// The entry for the longest part of `path` that is forbidden; null if none is.
const Forbidden* FindForbidden(std::string_view path);

/// The entry for a built-in name (`exec`); null if it is harmless.
const Forbidden* FindForbiddenBuiltin(std::string_view name);

/// Whether a double-underscore attribute is ordinary.
bool IsOrdinaryDunder(std::string_view name);

/// Attributes that lead from a frame, traceback or generator to others' variables.
bool IsFrameAttribute(std::string_view name);

/// Top-level modules that submissions may import without a remark.
bool IsAllowedImport(std::string_view root);

/// A library operation that computes, as a function of torch ("torch.matmul") or a tensor's method
/// ("matmul"); the in-place form with `_` counts too.
bool IsComputePath(std::string_view path);
bool IsComputeMethod(std::string_view name);
/// A class of torch.nn whose instances compute when they are called.
bool IsComputeModule(std::string_view path);

/// Paths that make CUDA streams or graphs.
bool IsStreamPath(std::string_view path);
/// Paths that hand Python to a compiler of torch's.
bool IsCompilerPath(std::string_view path);
/// Calls that change a setting of the whole process.
bool IsGlobalSetting(std::string_view path);

}  // namespace assay::lint
