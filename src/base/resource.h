#pragma once

#include <string>

#include "base/result.h"

namespace assay {

/// Path of one of the folders that ship beside the program: "tasks", "python", "web", ...
///
/// Looked for in $ASSAY_HOME (alone, if set), then upwards from the running executable:
/// `<prefix>/share/assay/<name>` of an installation, or `<name>` in a source tree that the
/// executable was built in. kNotFound says where it looked.
Result<std::string> FindResource(const std::string& name);

/// As FindResource, without the environment and for a given executable (for tests).
Result<std::string> FindResourceNear(const std::string& executable, const std::string& name);

/// Folder of what Assay measured on this machine and keeps: $XDG_CACHE_HOME/assay/`part`, else
/// below
/// ~/.cache. It need not exist.
std::string CacheFolder(const std::string& part);

}  // namespace assay
