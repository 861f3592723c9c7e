#include "native/launch_owner.h"

#include <algorithm>
#include <iterator>

namespace assay {
namespace {

constexpr std::string_view kLayers[] = {"libcupti.so", "libcuda.so", "libcudart.so",
                                        "libassay_native.so", "libnvidia-ptxjitcompiler.so"};

/// Files that launch, through the driver's interface, what their user compiled at run time.
constexpr std::string_view kInterpreters[] = {"/_ctypes.", "/libffi", "/libpython",
                                              "/cuda/bindings/", "/cupy/"};

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool IsBelow(std::string_view path, std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return !folder.empty() && path.size() > folder.size() && path.starts_with(folder) &&
         path[folder.size()] == '/';
}

bool Contains(std::span<const uint64_t> handles, uint64_t handle) {
  return std::find(handles.begin(), handles.end(), handle) != handles.end();
}

}  // namespace

Owner LaunchRules::OfCaller(std::string_view path, bool driver) const {
  // A path without a folder is that of the program itself, or of what was opened by such a name.
  if (path.empty() || path.front() != '/' || IsBelow(path, own)) return Owner::kOwn;
  const bool installed = std::any_of(libraries.begin(), libraries.end(),
                                     [&](const auto& folder) { return IsBelow(path, folder); });
  if (!installed) return Owner::kOwn;
  const bool interpreter =
      std::any_of(std::begin(kInterpreters), std::end(kInterpreters),
                  [&](std::string_view part) { return path.find(part) != std::string_view::npos; });
  return driver && (interpreter || BaseName(path).starts_with("python")) ? Owner::kOwn
                                                                         : Owner::kLibrary;
}

bool IsLaunchLayer(std::string_view path) {
  const std::string_view name = BaseName(path);
  return std::any_of(std::begin(kLayers), std::end(kLayers),
                     [&](std::string_view layer) { return name.starts_with(layer); });
}

Owner OwnerOf(const Launch& launch, const KnownFunctions& known) {
  if (launch.function != 0) {
    if (Contains(known.own, launch.function)) return Owner::kOwn;
    if (Contains(known.library, launch.function)) return Owner::kLibrary;
  }
  return launch.caller;
}

}  // namespace assay
