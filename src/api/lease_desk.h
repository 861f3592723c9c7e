#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/broker.h"
#include "http/message.h"
#include "http/timer.h"

namespace assay {

/// Whether a text can name a worker: 1 to 200 printable characters, no blanks.
bool IsWorkerName(std::string_view text);

/// What waits at the server for workers in processes of their own: who asks for work, who holds
/// which lease, who was heard when. In memory: after a restart every lease is over, and the broker
/// has queued their jobs again. No thread waits in it. Thread-safe.
///
/// A lease has a name that nobody can guess and that never comes again. The pair of job and
/// delivery would be no fencing token between processes: a server that is killed before a delivery
/// is written down gives out its number once more.
class LeaseDesk : public std::enable_shared_from_this<LeaseDesk> {
 public:
  /// Both outlive this, which is made by make_shared. `now`: for tests.
  LeaseDesk(
      Broker* broker, http::Timers* timers,
      std::function<TimePoint()> now = [] { return Clock::now(); });
  LeaseDesk(const LeaseDesk&) = delete;
  LeaseDesk& operator=(const LeaseDesk&) = delete;

  /// A worker as it says of itself.
  struct Worker {
    std::string key;       ///< name of the key that it came with
    std::string instance;  ///< of its process, so that two of one name are two
    std::string name;      ///< "gpu-7/cuda:0"
    int jobs = 0;          ///< that it can work on at once
    json::object details;
    Seconds ttl{0};  ///< of its leases; it is forgotten when it was not heard for so long
  };
  struct Lease {
    std::string name;
    Delivery delivery;
  };
  /// Called once, under no lock: nothing when none came in time; kUnavailable while the service
  /// drains.
  using Leased = std::function<void(const Result<std::optional<Lease>>&)>;

  /// Leases the next job for `worker`, now or within `wait`. Who has gone gets none. `ask` names
  /// the question: the same worker's same question gives the same lease, for as long as that is
  /// held, since the answer may have been lost. Empty: every question is another.
  void Ask(Worker worker, const std::string& ask, Seconds wait, http::ClientGone gone,
           Leased leased);

  // kClosed from these: the lease is over, or never was the key's.

  /// Renews it and notes the stage unless that is empty. Gives whether the job is to be ended: a
  /// minute after that was said first, the lease is over.
  Result<bool> Renew(const std::string& key, const std::string& lease, std::string_view stage);
  /// What was leased.
  Result<std::shared_ptr<const Job>> Find(const std::string& key, const std::string& lease);

  using Done = std::function<void(const Status&)>;
  /// Ok when the verdict is on the disk, also for one that was stored before under this lease.
  /// kUnavailable: it is being stored, ask again; other errors: it is not, send it again.
  void Complete(const std::string& key, const std::string& lease, json::object verdict, Done done);
  void Return(const std::string& key, const std::string& lease, bool lost, std::string_view why,
              Done done);

  /// Whether any lease is held.
  [[nodiscard]] bool Holds();
  /// Whether a worker was heard within its ttl.
  [[nodiscard]] bool HasWorkers();
  /// Gives back all that is leased, not as lost, and answers who waits: the server stops. It is
  /// written when the broker has gone.
  void Close();

  struct WorkerState {
    Worker worker;
    std::vector<std::string> working_on;  ///< ids
    uint64_t judged = 0;
    uint64_t failed = 0;     ///< jobs that it could not do and gave back
    std::string last_error;  ///< of the last of those
    double silent_s = 0;     ///< since it was heard
  };
  [[nodiscard]] std::vector<WorkerState> Workers();

 private:
  using WorkerKey = std::pair<std::string, std::string>;  ///< instance and name
  struct Known {
    WorkerState state;
    TimePoint heard;
  };
  struct Held {
    Delivery delivery;
    WorkerKey worker;
    std::string key;
    Seconds ttl;
    TimePoint end;
    bool completing = false;
    std::optional<TimePoint> told;  ///< first that the job is to be ended
    std::shared_ptr<void> unheard;  ///< a timer, until the worker has spoken of it
  };
  struct Poll {
    WorkerKey worker;
    std::string key;
    std::string ask;
    Seconds ttl;
    http::ClientGone gone;
    Leased leased;
    std::shared_ptr<void> timer;
  };

  using Answers = std::vector<std::pair<Leased, Result<std::optional<Lease>>>>;

  void Look();
  void Expire(const std::shared_ptr<Poll>& poll);
  void Completed(const std::string& lease, const Status& stored);
  void EndUnheard(const std::string& lease);

  // With mutex_ held.
  Held* FindHeld(const std::string& key, const std::string& lease);
  Result<std::optional<Lease>> Take(const Poll& poll);
  std::optional<Lease> LeasedFor(const Poll& poll);
  bool Extend(Held* held);
  Delivery Drop(const std::string& lease, bool lost, std::string_view why);
  void Forget();

  Broker* const broker_;
  http::Timers* const timers_;
  const std::function<TimePoint()> now_;

  std::mutex mutex_;
  std::list<std::shared_ptr<Poll>> polls_;  ///< oldest first
  std::map<std::string, Held> held_;
  std::map<WorkerKey, Known> workers_;
  std::set<std::string> stored_;  ///< leases whose verdicts are on the disk, the newest of them
  std::deque<std::string> stored_order_;
  std::shared_ptr<void> listening_;  ///< while anybody waits
};

}  // namespace assay
