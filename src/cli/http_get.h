#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// Whom to believe that it is the server, with https.
struct TlsTrust {
  std::string ca_file;    ///< PEM; empty: the system's authorities
  bool insecure = false;  ///< anybody
};

/// GETs "http://host:port/path", or https, and gives the body of a 200; blocks, `timeout` at most,
/// but for the resolver. `key`: sent as bearer token unless empty. The process must ignore SIGPIPE.
/// kUnavailable: nobody answers there, or not who should. kInvalid: not such a URL, or the server
/// refused (with its words).
Result<std::string> HttpGet(const std::string& url, const std::string& path, const std::string& key,
                            Seconds timeout, const TlsTrust& trust = {});

}  // namespace assay
