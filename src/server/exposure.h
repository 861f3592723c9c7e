#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/auth.h"
#include "http/server.h"
#include "server/options.h"

namespace assay {

/// Whether a host to bind to is reachable from this machine only.
[[nodiscard]] bool IsLoopback(const std::string& host);

/// A listener's options but for port and router, safe by default: another address than loopback
/// needs keys or `insecure`; an open loopback port, and whoever names `hosts`, serves no Host that
/// a web page could choose. kInvalid says what to do next.
Result<http::ListenOptions> MakeListenOptions(const ExposureOptions& exposure);

}  // namespace assay
