#pragma once

#include <condition_variable>
#include <deque>
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
/// No call but Lease() and Complete() waits for the network. Leases are renewed, and verdicts sent,
/// behind the calls, and again for as long as the server does not answer: until it has stored the
/// verdict, or says that the lease is over. A job whose lease is over is cancelled here, since
/// another worker has it by then. Thread-safe.
class RemoteLeases final : public JobLeases {
 public:
  struct Options {
    http::ServerAddress server;
    std::string key;   ///< with the scope worker; empty: none is sent
    std::string name;  ///< of this process; before the runners' names
    /// {"jobs", "details"} of a runner, for /v1/workers. Any thread.
    std::function<json::object(const std::string& runner)> describe;
    Seconds backoff{1};  ///< after a server that does not answer
  };
  explicit RemoteLeases(Options options);
  ~RemoteLeases() override;
  RemoteLeases(const RemoteLeases&) = delete;
  RemoteLeases& operator=(const RemoteLeases&) = delete;

  /// Whether the server takes this worker. kInvalid: it never will (the key, the path), and why;
  /// kUnavailable: it does not answer now.
  Status Check();

  /// Nothing, after a moment, when the server does not answer: it is asked again.
  Result<std::optional<Delivery>> Lease(const std::string& worker, Seconds wait,
                                        Seconds ttl) override;
  Status Renew(const Delivery& delivery, Seconds ttl) override;
  Status SetStage(const Delivery& delivery, std::string_view stage) override;
  Status Complete(const Delivery& delivery, json::object verdict) override;
  Status CompleteBehind(const Delivery& delivery, json::object verdict) override;
  Status Return(const Delivery& delivery, bool lost, std::string_view why) override;

  /// Ends what runs; what had no verdict of its own yet is given back.
  void Interrupt();
  /// Waits until the server has heard of all that was leased; false at the deadline.
  bool Finish(TimePoint deadline);

 private:
  /// A delivery, until the server has heard how it ended.
  struct Held {
    std::shared_ptr<const Job> job;
    std::string path;  ///< of its lease
    std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
    Duration every{};  ///< between renewals
    TimePoint renew_at;
    std::string stage;
    bool stage_is_new = false;
    bool asked = false;   ///< the server wants it ended
    bool over = false;    ///< the server has given it up
    std::string outcome;  ///< "/complete" or "/return"; empty: it is being judged
    std::string body;
    Status ended;
  };
  using HeldPtr = std::shared_ptr<Held>;

  void KeepLeases();
  void SendOutcomes();
  void RenewOne(const HeldPtr& held);
  bool SendOne(const HeldPtr& held);
  Result<http::Client::Answer> Post(const std::string& path, const std::string& body,
                                    Seconds timeout);
  void Note(const std::string& trouble);
  Result<Delivery> Take(const std::string& answer, Seconds ttl);
  Status End(const Delivery& delivery, const std::string& outcome, const json::object& body);

  // With mutex_ held.
  HeldPtr Find(const Delivery& delivery);
  void Drop(const HeldPtr& held, Status ended);

  const Options options_;
  const std::string instance_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<const Job*, HeldPtr> held_;
  std::deque<HeldPtr> outbox_;
  std::vector<std::unique_ptr<http::Client>> idle_clients_;
  bool troubled_ = false;
  bool interrupted_ = false;
  bool closing_ = false;
  std::thread keeper_;
  std::thread sender_;
};

}  // namespace assay
