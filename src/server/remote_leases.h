#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "broker/job_leases.h"
#include "http/client.h"

namespace assay {

/// The leases of a server in another process or on another machine: the native API's /v1/leases.
///
/// Who has judged sends the verdict, again and again for as long as the server does not answer:
/// until it has stored it, or the lease is over. So nobody takes a job whose last one is not
/// brought, and nothing piles up. One thread renews all leases in one request; a lease that it
/// could not renew in time is over here too, since another worker has the job by then: it is
/// cancelled. Thread-safe.
class RemoteLeases final : public JobLeases {
 public:
  struct Options {
    http::ServerAddress server;
    std::string key;   ///< with the scope worker; empty: none is sent
    std::string name;  ///< of this process; before the runners' names
    /// {"jobs", "details"} of a runner, for /v1/workers. Any thread.
    std::function<json::object(const std::string& runner)> describe;
    /// Called once, on any thread: why the server will never take this worker.
    std::function<void(const std::string& why)> refused;
    Seconds backoff{1};  ///< after a server that does not answer
  };
  explicit RemoteLeases(Options options);
  ~RemoteLeases() override;
  RemoteLeases(const RemoteLeases&) = delete;
  RemoteLeases& operator=(const RemoteLeases&) = delete;

  /// Whether the server takes this worker. kUnavailable, kTimeout: it does not answer now. Others:
  /// it never will (the name, the key, the path, the protocol, its certificate), and why.
  Status Check();

  /// Nothing, after a moment, when the server does not answer: it is asked again.
  Result<std::optional<Delivery>> Lease(const std::string& worker, Seconds wait,
                                        Seconds ttl) override;
  Status Renew(const Delivery& delivery, Seconds ttl) override;
  Status SetStage(const Delivery& delivery, std::string_view stage) override;
  Status Complete(const Delivery& delivery, json::object verdict) override;
  Status CompleteBehind(const Delivery& delivery, json::object verdict) override;
  Status Return(const Delivery& delivery, bool lost, std::string_view why) override;

  /// Ends what runs; what had no verdict of its own yet is given back. Nothing is sent any more
  /// when `last_words` are over.
  void Interrupt(Seconds last_words);

 private:
  /// A delivery, until the server has heard how it ended.
  struct Held {
    std::shared_ptr<const Job> job;
    std::string name;  ///< of its lease
    std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
    Duration ttl{};
    TimePoint end;  ///< of the lease, as it was renewed last
    std::string stage;
    bool stage_is_new = false;
    bool asked = false;   ///< the server wants it ended
    bool over = false;    ///< the server has given it up
    bool ending = false;  ///< how it ended is being sent
  };
  using HeldPtr = std::shared_ptr<Held>;

  void KeepLeases();
  void RenewAll(std::unique_lock<std::mutex>* guard);
  Result<http::Client::Answer> Post(const std::string& path, const std::string& body,
                                    Seconds timeout);
  void Note(const std::string& trouble);
  void Refuse(const http::Client::Answer& answer);
  std::string NextAsk(const std::string& worker);
  Result<Delivery> Take(const std::string& answer, Seconds ttl);
  Status End(const Delivery& delivery, std::string_view outcome, const json::object& body);
  Status Send(Held* held, std::string_view outcome, const json::object& body);

  // With mutex_ held.
  HeldPtr Find(const Delivery& delivery);
  static void GiveUp(Held* held);
  /// Whether it is over; one whose time has run out is, from now on.
  static bool HasEnded(Held* held, TimePoint now);

  const Options options_;
  const std::string instance_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const Job*, HeldPtr> held_;
  TimePoint renew_at_ = TimePoint::max();
  TimePoint last_word_ = TimePoint::max();
  std::multimap<std::string, std::string> unanswered_;  ///< questions, by who asked
  std::vector<std::unique_ptr<http::Client>> idle_clients_;
  bool troubled_ = false;
  bool refused_ = false;
  bool interrupted_ = false;
  bool closing_ = false;
  std::thread keeper_;
};

}  // namespace assay
