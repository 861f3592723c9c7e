#pragma once

#include <string>

namespace assay {

/// This machine's name; "localhost" where it has none.
std::string HostName();

/// Seconds since 1970, by the wall clock: for what is stored and shown, never for waiting.
double UnixNow();

}  // namespace assay
