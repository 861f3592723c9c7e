#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "http/asio.h"

namespace assay::http {

/// One connection, on one Loop; every call comes on the loop's thread.
class Connection {
 public:
  virtual ~Connection() = default;
  /// Looks at deadlines; called every Limits::tick.
  virtual void Tick(TimePoint now) = 0;
  /// The server is going down: finish what is being answered, then close.
  virtual void Drain() = 0;
  /// Closes the socket; everything that waits on it fails and the connection removes itself.
  virtual void Abort() = 0;

 private:
  friend class Loop;
  std::optional<std::list<std::shared_ptr<Connection>>::iterator> place_;
};

/// A serving thread: an event loop and the connections that live on it. A connection never changes
/// its loop, so nothing in it needs a lock. One clock for all deadlines costs 10,000 idle
/// connections a list's walk, not 10,000 timers.
class Loop : public std::enable_shared_from_this<Loop> {
 public:
  explicit Loop(Seconds tick);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs the loop on a thread of its own. Without it, whoever polls context() is that thread.
  void Start();
  /// Aborts all connections, lets them end (for a second at most), ends the thread. Called once,
  /// from another thread.
  void Stop();

  [[nodiscard]] asio::io_context& context() { return context_; }
  [[nodiscard]] Executor executor() { return context_.get_executor(); }

  void Add(std::shared_ptr<Connection> connection);  ///< on the loop's thread
  void Remove(Connection* connection);               ///< on the loop's thread
  void DrainAll();                                   ///< from any thread
  void AbortAll();                                   ///< from any thread

  /// Runs `action` on the loop's thread after `delay`, unless the handle goes before; what is left
  /// when the loop ends never runs. From any thread. A request's deadline is nearly always taken
  /// back before it comes: setting and taking back costs a place in a map, and the loop is woken
  /// only for one that is earlier than all it waits for.
  [[nodiscard]] std::shared_ptr<void> After(Seconds delay, std::function<void()> action);

  /// The Date header, renewed by the tick.
  [[nodiscard]] const std::string& date() const { return date_; }
  /// A fresh request id: unique in this process and, by its random start, among processes.
  [[nodiscard]] std::string NextId();

 private:
  void ArmTick();
  void Tick();
  void AwaitEnd(TimePoint deadline);
  void ForEach(void (Connection::*call)());

  using ActionKey = std::pair<TimePoint, uint64_t>;
  void TakeBack(const ActionKey& key);
  void ArmActions();
  void RunActions();

  const Seconds tick_;
  asio::io_context context_{1};
  Timer timer_{context_};
  std::list<std::shared_ptr<Connection>> connections_;
  std::string date_;
  std::string id_prefix_;
  uint64_t next_id_ = 0;
  Timer actions_timer_{context_};
  std::mutex mutex_;  ///< guards what follows
  std::map<ActionKey, std::function<void()>> actions_;
  uint64_t next_action_ = 0;
  TimePoint next_look_ = TimePoint::max();  ///< when the loop looks for actions, at the latest
  std::thread thread_;
};

}  // namespace assay::http
