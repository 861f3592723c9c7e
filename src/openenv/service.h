#pragma once

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "http/message.h"
#include "openenv/run.h"

namespace assay::openenv {

class Environment;

/// Before any session has ended: a trainer's step takes about as long.
inline constexpr double kFirstRetryS = 10;

/// A connection that may be idle for too long.
class IdleWatched {
 public:
  virtual ~IdleWatched() = default;
  [[nodiscard]] virtual TimePoint last_active() = 0;
  virtual void ExpireIdle() = 0;
};

/// What a client holds that counts as a session; released when the last copy goes.
using Slot = std::shared_ptr<void>;

/// A session that has a name instead of a connection: made by MCP's initialize, by
/// openenv/session/create, or for an HTTP client that sends X-OpenEnv-Session.
struct NamedSession {
  std::string id;
  std::string owner;
  std::shared_ptr<Environment> environment;
  Slot slot;
  TimePoint last_used;
  bool attached = false;  ///< to a WebSocket; then its end waits for the detaching
  bool closing = false;
};

/// How a session was begun, for the metrics.
enum class SessionKind { kWebSocket, kHttp, kMcp };
inline constexpr const char* kSessionKinds[] = {"websocket", "http", "mcp"};

/// What is told when no slot is free.
inline constexpr std::string_view kNoSession = "no session is free; try again later";

/// Sessions, episodes that can be resumed, and their ends. One per server, thread-safe.
///
///   capacity   Acquire() gives a slot at once, or holds the request until one is free, or says no;
///              one key cannot take them all
///   idleness   a sweep closes connections, named sessions and lost episodes that nobody uses
///   resuming   an episode's token finds it while it lives (also on a connection that is only
///              half gone), else its document
class Service : public std::enable_shared_from_this<Service> {
 public:
  static std::shared_ptr<Service> Make(OpenEnvContext context);
  ~Service();

  /// The server stops: writes what is to be written, after which the store may go, and lets go of
  /// everybody who waits. What is being judged is not ended; its episodes can be resumed.
  void Shutdown();

  [[nodiscard]] const std::shared_ptr<const Host>& host() const { return host_; }
  [[nodiscard]] const Settings& settings() const { return host_->settings; }

  /// What a request that waits for a slot is known by; 0: none waits.
  using WaitId = uint64_t;
  /// Calls `granted` once: with a slot, or with null after settings().capacity_wait, or at once if
  /// it may not `wait`. Never after Withdraw(). What `granted` holds is kept while it waits.
  WaitId Acquire(const http::Identity& who, SessionKind kind, bool wait,
                 std::function<void(Slot)> granted);
  /// Whoever waited there has gone.
  void Withdraw(const http::Identity& who, WaitId id);
  [[nodiscard]] size_t active_sessions();
  /// For who is told that no session is free: until one ends, by how often they ended lately.
  [[nodiscard]] double retry_after_s();

  /// A new episode that can be resumed by its token.
  std::shared_ptr<EpisodeRun> NewRun(Episode episode, Catalog::TaskPtr task, std::string owner);
  /// An episode of one request, without a token; it lives as long as its judgement.
  std::shared_ptr<EpisodeRun> NewRunAlone(Episode episode, Catalog::TaskPtr task,
                                          std::string owner);
  /// The live one or the stored one; it is the caller's to claim (EpisodeRun::holder).
  Result<std::shared_ptr<EpisodeRun>> Resume(const std::string& token, const std::string& owner);
  /// The connection of a run is gone: keep it for settings().resume_grace, then end it.
  void Leave(std::shared_ptr<EpisodeRun> run);

  std::shared_ptr<NamedSession> NewSession(const http::Identity& who, Slot slot);
  /// nullptr: there is none of that name and owner. Counts as use.
  std::shared_ptr<NamedSession> FindSession(const std::string& id, const std::string& owner);
  enum class Attach { kOk, kUnknown, kTaken };
  Attach AttachSession(const std::string& id, const std::string& owner,
                       std::shared_ptr<NamedSession>* out);
  void DetachSession(const std::shared_ptr<NamedSession>& session);
  enum class CloseResult { kClosed, kClosing, kUnknown };
  CloseResult CloseSession(const std::string& id, const std::string& owner);

  void Watch(const std::shared_ptr<IdleWatched>& connection);

  /// Counts what waits on connections behind the request that is being answered. False, and not
  /// counted: there is as much as there may be, of all or of the key (a quarter of that).
  [[nodiscard]] bool HoldBytes(const http::Identity& who, size_t bytes);
  void FreeBytes(const http::Identity& who, size_t bytes);

  [[nodiscard]] uint64_t NextId();
  /// What the sweep does every few seconds; public for tests.
  void Sweep();

 private:
  explicit Service(OpenEnvContext context);
  struct Waiter {
    SessionKind kind = SessionKind::kWebSocket;
    std::function<void(Slot)> granted;
    std::shared_ptr<void> timer;
  };
  using Waiters = std::map<WaitId, Waiter>;  ///< in the order they came
  /// What one key has, and its requests that wait; where there are no keys, what all have.
  struct Account {
    bool keyed = false;
    size_t active = 0;
    size_t waiting_bytes = 0;
    Waiters waiters;
  };
  struct Left {
    std::shared_ptr<EpisodeRun> run;
    TimePoint until;
  };
  struct Place;
  [[nodiscard]] bool HasRoom(const Account& account) const;
  void Count(Account* account, SessionKind kind);
  [[nodiscard]] Slot MakeSlot(const std::string& owner, SessionKind kind);
  void Release(const std::string& owner, SessionKind kind);
  void HandOn();
  [[nodiscard]] Waiters::node_type TakeWaiter(const std::string& owner, WaitId id);
  void ArmSweep();

  const std::shared_ptr<const Host> host_;
  Counter* refusals_ = nullptr;      ///< of the registry, if there is one
  std::shared_ptr<void> collector_;  ///< of the sessions' numbers
  std::mutex mutex_;                 ///< guards what follows
  size_t active_ = 0;
  size_t by_kind_[std::size(kSessionKinds)] = {};
  TimePoint released_ = Clock::now();         ///< the last session's end
  double between_releases_s_ = kFirstRetryS;  ///< recent mean
  size_t waiting_bytes_ = 0;
  bool handing_on_ = false;                                          ///< a thread is in HandOn()
  std::map<std::string, Account> accounts_;                          ///< by the name of the key
  std::unordered_map<std::string, std::weak_ptr<EpisodeRun>> runs_;  ///< by token, or a number
  std::unordered_map<std::string, Left> left_;
  std::unordered_map<std::string, std::shared_ptr<NamedSession>> sessions_;
  std::unordered_map<IdleWatched*, std::weak_ptr<IdleWatched>> watched_;
  uint64_t next_id_ = 0;
  std::shared_ptr<void> sweep_;
};

}  // namespace assay::openenv
