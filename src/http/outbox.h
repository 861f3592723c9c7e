#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/websocket.h"

namespace assay::http {

/// A WebSocket's way out: messages in the order of Send(), from any thread, then perhaps a close.
/// Thread-safe. The connection's loop empties it.
class Outbox final : public WebSocketPeer {
 public:
  struct Closing {
    int code = 1000;
    std::string reason;
  };

  /// `wake` has the loop look into the box; called without a lock, from any thread.
  Outbox(size_t max_bytes, std::function<void()> wake)
      : max_bytes_(max_bytes), wake_(std::move(wake)) {}

  void Send(std::string text) override;
  void Close(int code, std::string reason) override;

  /// The next message; nothing when there is none, and from then on a Send() wakes the loop.
  std::optional<std::string> Next();
  /// A close that was asked for, once everything before it was taken.
  std::optional<Closing> NextClose();
  /// Of the messages that Next() has not given out.
  [[nodiscard]] size_t bytes() const;
  /// More was queued than the peer may leave unread.
  [[nodiscard]] bool overflowed() const;
  /// The connection has ended: calls do nothing from now on.
  void Shut();

 private:
  const size_t max_bytes_;
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::deque<std::string> messages_;
  size_t bytes_ = 0;
  std::optional<Closing> closing_;
  bool shut_ = false;
  bool overflowed_ = false;
  bool idle_ = true;  ///< the loop found nothing and waits to be woken
};

}  // namespace assay::http
