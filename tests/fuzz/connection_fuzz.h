#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::http {

/// Serves one connection of the real server, over a socket pair and without threads, to a client
/// that sends `head` at once, `input` in pieces of `piece` bytes, and then closes its end. Aborts
/// if the connection does not end: one that hangs on some input is a finding like a crash.
void ServeInput(std::string_view head, std::string_view input, size_t piece);

/// The head of a valid upgrade to the echoing WebSocket.
std::string UpgradeHead();

}  // namespace assay::http
