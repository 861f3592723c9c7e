#pragma once

#include "base/json.h"
#include "openenv/settings.h"

namespace assay::openenv {

/// {"action", "observation", "state"}: JSON Schemas (2020-12) of KernelAction, KernelObservation
/// and KernelState. What goes over the wire agrees with them: tests check every observation.
const json::object& Schemas();

/// The OpenAPI 3.1 document. In production mode it has no /reset, /step, /state.
json::object OpenApi(const Settings& settings);

}  // namespace assay::openenv
