#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

namespace assay::http {

/// The server's end of one WebSocket. Thread-safe; calls after the end do nothing.
class WebSocketPeer {
 public:
  virtual ~WebSocketPeer() = default;
  /// Queues a text message. A peer that lets too much queue up is dropped.
  virtual void Send(std::string text) = 0;
  /// Sends what is queued, then a close frame.
  virtual void Close(int code, std::string reason) = 0;
};

/// What a protocol does on one WebSocket. Calls come one after another, never two at once, and must
/// not block. It is destroyed after OnClose().
class WebSocketSession {
 public:
  virtual ~WebSocketSession() = default;
  virtual void OnOpen() {}
  /// A whole message, valid UTF-8, within the limit. A binary message comes as text too, with bytes
  /// that are no UTF-8 replaced: a parser refuses it or takes it, and the connection stays.
  virtual void OnMessage(std::string text) = 0;
  /// True while an answer is owed. A draining server waits for it, within its grace, before it
  /// closes the connection. Called about four times a second.
  [[nodiscard]] virtual bool Busy() const { return false; }
  /// The connection has ended, for whatever reason (closed, lost, half open, too slow).
  virtual void OnClose() = 0;
};

/// Makes the session of an upgraded connection. `request` is the upgrade request.
using WebSocketFactory = std::function<std::unique_ptr<WebSocketSession>(
    Request request, std::shared_ptr<WebSocketPeer> peer)>;

}  // namespace assay::http
