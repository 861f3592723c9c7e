#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/websocket.h"
#include "openenv/environment.h"
#include "openenv/service.h"

namespace assay::openenv {

/// What the WebSocket protocols share: requests are answered one by one in the order they came,
/// however they overlap; the first one takes a place among the sessions, and waits for one if it
/// must; idle connections end.
///
///   open ──first message──▶ waiting for a slot ──▶ serving ──close, loss, idleness──▶ closed
///                                │ none in time: refusal, close 1013
///
/// Thread-safe: messages come from the connection's thread, answers from any.
class Connection : public IdleWatched, public std::enable_shared_from_this<Connection> {
 public:
  /// `request`: the one that became this WebSocket.
  Connection(std::shared_ptr<Service> service, const http::Request& request, SessionKind kind,
             std::shared_ptr<http::WebSocketPeer> peer);

  /// Serves `session` (made over HTTP) instead of a session of its own. At most once, before any
  /// message.
  void AttachTo(std::shared_ptr<NamedSession> session);

  void OnMessage(std::string text);
  void OnClose();
  /// An answer is owed.
  [[nodiscard]] bool Busy();

  TimePoint last_active() override;
  void ExpireIdle() override;

  /// The WebSocketSession of a connection; it owns it.
  static std::unique_ptr<http::WebSocketSession> Wrap(std::shared_ptr<Connection> connection);

 protected:
  /// Answers one message: ends with exactly one Finish(), on any thread.
  virtual void Handle(std::string text) = 0;
  /// The refusal when there is no room, and the notice when the connection was idle too long.
  virtual json::value CapacityNotice() = 0;
  virtual json::value IdleNotice() = 0;

  /// Sends the reply, if there is one, and goes on with the next message.
  void Finish(std::optional<json::value> reply);
  /// The same with the reply's JSON.
  void FinishText(std::string reply);
  /// The client asked for the end: closes the session and the WebSocket.
  void EndByClient();
  void CloseWith(int code, std::string reason);

  [[nodiscard]] const std::shared_ptr<Service>& service() const { return service_; }
  [[nodiscard]] const http::Identity& who() const { return who_; }
  /// From the first Handle() on.
  [[nodiscard]] const std::shared_ptr<Environment>& environment() const { return environment_; }
  [[nodiscard]] std::string session_id();
  /// Of the message that is being handled.
  [[nodiscard]] const Asked& asked() const { return asked_; }

 private:
  struct Queued {
    std::string text;
    TimePoint at;
  };

  void GoOn();
  void Pump();
  void AwaitSlot(bool wait);
  void TakeSlot(Slot slot);
  void DropQueue();

  const std::shared_ptr<Service> service_;
  const http::Identity who_;
  const SessionKind kind_;
  const std::shared_ptr<http::WebSocketPeer> peer_;
  Asked asked_;                               ///< belongs to the message that is being handled
  std::shared_ptr<Environment> environment_;  ///< set before the first Handle(), then constant
  std::mutex mutex_;                          ///< guards what follows
  std::deque<Queued> queue_;                  ///< its bytes are held, see Service::HoldBytes
  Service::WaitId waiting_ = 0;               ///< for a slot, to handle the first of them
  bool busy_ = false;                         ///< a message is being answered, or waits for a slot
  bool pumping_ = false;                      ///< a thread is in Pump()
  bool closed_ = false;
  TimePoint active_;
  Slot slot_;
  std::shared_ptr<NamedSession> attached_;
  std::string session_id_;
  std::shared_ptr<void> farewell_;  ///< closes if the client that said goodbye does not
};

}  // namespace assay::openenv
