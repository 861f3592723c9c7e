#pragma once

#include <span>
#include <string_view>

namespace assay {

/// What a note on a verdict means.
struct FlagInfo {
  std::string_view name;
  std::string_view meaning;  ///< one sentence
  bool submission = false;   ///< about the submission, so that a model can act on it
};

/// The notes that Assay itself makes, sorted by name. Lint rules explain themselves.
std::span<const FlagInfo> KnownFlags();

/// nullptr for a name that is not known.
const FlagInfo* FindFlag(std::string_view name);

}  // namespace assay
