#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "openenv/environment.h"

namespace assay::openenv {

/// Where a JSON-RPC request came from.
struct RpcOrigin {
  std::shared_ptr<Service> service;
  http::Identity who;
  std::shared_ptr<Environment> environment;  ///< of the WebSocket or HTTP session; null: none
  std::string session_id;                    ///< its name; of a WebSocket without a name too
  bool websocket = false;
  Asked asked{};
};

struct RpcReply {
  std::optional<json::object> body;  ///< none for a notification
  std::string session_id{};          ///< of the session that `initialize` made over HTTP
};

/// JSON-RPC 2.0 with the Model Context Protocol's initialize, ping, tools/list and tools/call, and
/// OpenEnv's openenv/session/create and openenv/session/close. `message` is the parsed text.
/// Replies once. A request without an id is answered (OpenEnv), a notification of MCP is not.
void HandleRpc(const RpcOrigin& origin, const json::value& message,
               std::function<void(RpcReply)> reply);

/// Codes of JSON-RPC and of OpenEnv.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kServerError = -32000;

json::object RpcError(const json::value& id, int code, std::string_view message,
                      json::value data = nullptr);

/// The answer when there is no room for another session.
json::object RpcCapacity(const json::value& id, Service& service);

}  // namespace assay::openenv
