#include "openenv/connection.h"

#include <utility>

#include "base/hash.h"

namespace assay::openenv {
namespace {

class Adapter : public http::WebSocketSession {
 public:
  explicit Adapter(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  void OnMessage(std::string text) override { connection_->OnMessage(std::move(text)); }
  [[nodiscard]] bool Busy() const override { return connection_->Busy(); }
  void OnClose() override { connection_->OnClose(); }

 private:
  std::shared_ptr<Connection> connection_;
};

// Clients send their close frame right behind the message. Theirs is answered at once, while two
// that cross each other cost both sides a wait.
constexpr Seconds kClientCloses{0.1};

constexpr int kNormal = 1000;
constexpr int kGoingAway = 1001;
constexpr int kPolicy = 1008;
constexpr int kTryAgainLater = 1013;

}  // namespace

Connection::Connection(std::shared_ptr<Service> service, const http::Request& request,
                       SessionKind kind, std::shared_ptr<http::WebSocketPeer> peer)
    : service_(std::move(service)),
      who_(request.who),
      kind_(kind),
      peer_(std::move(peer)),
      active_(Clock::now()) {
  asked_.id = request.id;
}

std::unique_ptr<http::WebSocketSession> Connection::Wrap(std::shared_ptr<Connection> connection) {
  connection->service_->Watch(connection);
  return std::make_unique<Adapter>(std::move(connection));
}

void Connection::AttachTo(std::shared_ptr<NamedSession> session) {
  const std::lock_guard lock(mutex_);
  environment_ = session->environment;
  session_id_ = session->id;
  attached_ = std::move(session);
}

std::string Connection::session_id() {
  const std::lock_guard lock(mutex_);
  if (session_id_.empty()) session_id_ = NewId("ses_");
  return session_id_;
}

void Connection::OnMessage(std::string text) {
  bool overrun = false;
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    active_ = Clock::now();
    overrun = queue_.size() >= service_->settings().max_requests_waiting;
    full = !overrun && !service_->HoldBytes(who_, text.size());
    if (!overrun && !full) queue_.push_back({std::move(text), active_});
  }
  if (overrun) return CloseWith(kPolicy, "too many requests without waiting for replies");
  if (full) return CloseWith(kTryAgainLater, "too many large requests wait for replies");
  Pump();
}

/// The lock is held.
void Connection::DropQueue() {
  for (const Queued& queued : queue_) service_->FreeBytes(who_, queued.text.size());
  queue_.clear();
}

/// One thread at a time takes messages, and only while none is being answered. A message that is
/// answered at once does not come back here by recursion: Finish() then finds `pumping_` set.
void Connection::Pump() {
  std::unique_lock lock(mutex_);
  if (pumping_) return;
  pumping_ = true;
  while (!busy_ && !closed_ && !queue_.empty()) {
    busy_ = true;
    if (environment_ == nullptr) {
      const bool wait = queue_.front().text.size() <= service_->settings().max_bytes_held;
      lock.unlock();
      AwaitSlot(wait);
    } else {
      std::string text = std::move(queue_.front().text);
      asked_.at = queue_.front().at;
      queue_.pop_front();
      service_->FreeBytes(who_, text.size());
      lock.unlock();
      Handle(std::move(text));
    }
    lock.lock();
  }
  pumping_ = false;
}

/// The first message stays in the queue meanwhile, where its bytes count and from where the end of
/// the connection drops it.
void Connection::AwaitSlot(bool wait) {
  const Service::WaitId waiting = service_->Acquire(
      who_, kind_, wait,
      [self = shared_from_this()](Slot slot) { self->TakeSlot(std::move(slot)); });
  {
    const std::lock_guard lock(mutex_);
    waiting_ = waiting;
    if (!closed_) return;
  }
  service_->Withdraw(who_, waiting);
}

void Connection::TakeSlot(Slot slot) {
  if (slot == nullptr) {
    peer_->Send(json::serialize(CapacityNotice()));
    return CloseWith(kTryAgainLater, "no session is free");
  }
  auto environment = std::make_shared<Environment>(service_, who_);
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;  // and the slot goes
    slot_ = std::move(slot);
    environment_ = std::move(environment);
    busy_ = false;
  }
  Pump();
}

void Connection::Finish(std::optional<json::value> reply) {
  if (reply) peer_->Send(json::serialize(*reply));
  GoOn();
}

void Connection::FinishText(std::string reply) {
  peer_->Send(std::move(reply));
  GoOn();
}

void Connection::GoOn() {
  {
    const std::lock_guard lock(mutex_);
    busy_ = false;
    active_ = Clock::now();
  }
  Pump();
}

void Connection::EndByClient() {
  bool own = false;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    DropQueue();
    own = attached_ == nullptr;
  }
  if (own && environment_ != nullptr) environment_->Close();
  std::shared_ptr<void> timer = service_->host()->context.timers->After(
      kClientCloses, [peer = peer_] { peer->Close(kNormal, ""); });
  const std::lock_guard lock(mutex_);
  farewell_ = std::move(timer);
}

void Connection::CloseWith(int code, std::string reason) {
  Service::WaitId waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    DropQueue();
    waiting = std::exchange(waiting_, 0);
  }
  service_->Withdraw(who_, waiting);
  peer_->Close(code, std::move(reason));
}

void Connection::OnClose() {
  Slot slot;
  std::shared_ptr<NamedSession> attached;
  std::shared_ptr<Environment> environment;
  std::shared_ptr<void> farewell;
  Service::WaitId waiting = 0;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    DropQueue();
    waiting = std::exchange(waiting_, 0);
    farewell = std::move(farewell_);
    slot = std::move(slot_);
    attached = std::move(attached_);
    environment = environment_;
  }
  service_->Withdraw(who_, waiting);
  if (attached != nullptr) return service_->DetachSession(attached);
  if (environment != nullptr) environment->Leave();
}

bool Connection::Busy() {
  const std::lock_guard lock(mutex_);
  return !closed_ && (busy_ || !queue_.empty());
}

TimePoint Connection::last_active() {
  const std::lock_guard lock(mutex_);
  return busy_ ? Clock::now() : active_;
}

void Connection::ExpireIdle() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_ || busy_) return;
  }
  peer_->Send(json::serialize(IdleNotice()));
  CloseWith(kGoingAway, "idle for too long");
}

}  // namespace assay::openenv
