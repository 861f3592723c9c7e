#pragma once

#include <memory>

#include "http/message.h"
#include "http/websocket.h"
#include "openenv/service.h"

namespace assay::openenv {

/// The session of a WebSocket at /ws: reset, step, state, close, mcp, validation_open and
/// validation_read, each a JSON object {"type", "data"}. With ?session_id= it serves a session that
/// was made over HTTP.
std::unique_ptr<http::WebSocketSession> NewWebSocketSession(
    const std::shared_ptr<Service>& service, const http::Request& request,
    const std::shared_ptr<http::WebSocketPeer>& peer);

/// The session of a WebSocket at /mcp: JSON-RPC 2.0 messages.
std::unique_ptr<http::WebSocketSession> NewMcpWebSocketSession(
    const std::shared_ptr<Service>& service, const http::Request& request,
    const std::shared_ptr<http::WebSocketPeer>& peer);

}  // namespace assay::openenv
