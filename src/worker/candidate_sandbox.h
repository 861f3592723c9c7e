#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gpu/nvml.h"
#include "sandbox/sandbox.h"

namespace assay {

/// The device files below `dev` that a program needs for the card of /dev/nvidia`own`: that one and
/// the driver's own. All cards' where the number is not known; the only card's, whatever its
/// number.
std::vector<std::string> GpuDeviceFiles(const std::string& dev, std::optional<unsigned> own);

/// What a candidate may read: the system's programs and libraries, the interpreter that
/// `environment` (as the zygote tells it) names, the runtime; and the one card, null on the CPU.
SandboxSpec CandidateSandbox(const json::object& environment, const GpuInfo* gpu);

}  // namespace assay
