#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// GETs "http://host:port/path" and gives the body of a 200; blocks, `timeout` at most. `key`: sent
/// as bearer token unless empty. kUnavailable: nobody answers there. kInvalid: not such a URL, or
/// the server refused (with its words).
Result<std::string> HttpGet(const std::string& url, const std::string& path, const std::string& key,
                            Seconds timeout);

}  // namespace assay
