#pragma once

#include <spdlog/spdlog.h>

namespace assay {

/// Sends logs to standard error at `level` (trace, debug, info, warn, error, off); standard output
/// belongs to results. Call once, first thing in main. Unknown levels are refused with false.
bool SetUpLogging(std::string_view level);

}  // namespace assay
