#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "http/router.h"

namespace assay {

/// What /readyz says.
struct Readiness {
  std::vector<std::string> missing;  ///< why it cannot judge now; empty: it can
};

/// GET /healthz: 200 while the process serves. GET /readyz: 200, or 503 with the reasons, for load
/// balancers. GET /metrics: Prometheus' text; needs a key with the scope read where there are keys.
/// `registry` outlives the router; `readiness` is called on serving threads.
void AddStatus(http::Router* router, const MetricRegistry* registry,
               std::function<Readiness()> readiness);

}  // namespace assay
