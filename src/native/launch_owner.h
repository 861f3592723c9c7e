#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Whose kernel a launch is.
enum class Owner : uint8_t {
  kUnknown,  ///< nothing shows it
  kOwn,      ///< defined by the submission
  kLibrary,  ///< of an installed library: torch, cuBLAS, cuDNN, ...
};

/// Decides by where code stands, never by a kernel's name. A submission can write only below its
/// own folder; whatever an installed, read-only file launches is a library's.
///
///     code below `own`                                     own
///     code below one of `libraries`                        library
///       ... but interpreters that launch what was compiled
///           at run time (ctypes, cuda-python, CuPy)        own, for launches by the driver's API
///     code in no file (compiled at run time), elsewhere    own
struct LaunchRules {
  std::string own;                     ///< the submission's folder
  std::vector<std::string> libraries;  ///< folders of installed files

  /// Of a launch that the code in the file `path` asked for; empty: it stands in no file.
  /// `driver`: through the driver's interface, where a kernel is a handle, not through the
  /// runtime's, where it is a part of the file.
  [[nodiscard]] Owner OfCaller(std::string_view path, bool driver) const;
};

/// Whether a file is one of CUDA's own layers, which never ask for a launch themselves.
bool IsLaunchLayer(std::string_view path);

/// What was seen of one launch.
struct Launch {
  Owner caller = Owner::kUnknown;  ///< by the code that asked for it
  uint64_t function = 0;           ///< the driver's handle; 0 where the runtime launched
};

/// Handles of functions that the Python side knows: of Triton kernels, whose launcher says nothing.
struct KnownFunctions {
  std::span<const uint64_t> own;
  std::span<const uint64_t> library;
};

/// The handle decides where it is known, else the caller.
Owner OwnerOf(const Launch& launch, const KnownFunctions& known);

}  // namespace assay
