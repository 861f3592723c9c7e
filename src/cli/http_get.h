#pragma once

#include <string>

#include "http/client.h"

namespace assay {

/// The body of a 200, whatever `client` is asked. kInvalid: the server refused (with its words);
/// other errors are the client's.
Result<std::string> HttpGet(http::Client* client, const std::string& path, Seconds timeout);

}  // namespace assay
