#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

/// The names that a Python module binds at its top level, as far as its text shows.
struct PythonNames {
  std::set<std::string, std::less<>> names;
  bool star_import = false;  ///< `from x import *`: there may be any others

  [[nodiscard]] bool Binds(std::string_view name) const {
    return star_import || names.contains(name);
  }
};

/// Reads definitions, imports and assignments at the top level (also under a top-level `if`, `try`,
/// `with` or loop) without running anything. A screen against obvious mistakes, not a parser: it
/// accepts more than Python does. kInvalid, with the line, only for text that cannot be Python: a
/// NUL byte, bytes that are not UTF-8, a triple-quoted string without an end.
Result<PythonNames> ScanPythonNames(std::string_view source);

}  // namespace assay
