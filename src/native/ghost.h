#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace assay {

/// Cuts shared objects that were loaded from below `folder` off CUDA's launching functions: their
/// calls succeed and do nothing. Returns how many places were changed; objects that were seen
/// before are left alone. Single-threaded; x86-64 and the usual linking through tables only (what
/// looks functions up by itself is not seen).
Result<int> CutOffLaunches(const std::string& folder);

/// Calls that did nothing so far.
uint64_t SkippedLaunches();

}  // namespace assay
