#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "http/message.h"
#include "openenv/reset_request.h"
#include "openenv/service.h"

namespace assay::openenv {

/// A client's mistake, as OpenEnv's protocol tells it. What a model's code does is never one.
struct ProtocolError {
  std::string code;     ///< "VALIDATION_ERROR", "EXECUTION_ERROR", ...
  std::string message;  ///< all that most clients show
  json::array errors;   ///< of VALIDATION_ERROR
  json::object extra;   ///< further members of `data`
  int http_status = 400;

  [[nodiscard]] json::object Data() const;  ///< the `data` of an error message
  static ProtocolError Invalid(std::string_view what, json::array errors);
};

/// The request that an answer is for.
struct Asked {
  TimePoint at = Clock::now();  ///< when it arrived: deadlines count from there
  http::ClientGone gone{};      ///< of an HTTP request
  std::string id{};             ///< for the log; of a WebSocket that of its first request
};

/// One session: the episode that is going on in it. Belongs to a connection or to a NamedSession.
/// Thread-safe; what it is asked meanwhile is not put in order here, that is the connection's.
class Environment : public std::enable_shared_from_this<Environment> {
 public:
  using Answer = std::variant<Envelope, ProtocolError>;
  using Reply = std::function<void(Answer)>;

  /// What an episode's reply is for its client (EpisodeRun::Reply).
  static Answer ToAnswer(std::optional<Envelope> reply);

  Environment(std::shared_ptr<Service> service, http::Identity who);

  /// A new episode, or the one that `resume` names. The one before is ended.
  [[nodiscard]] Answer Reset(ResetRequest request);
  [[nodiscard]] Answer Reset(const json::object& data) {
    return Reset(ParseReset(data, service_->settings()));
  }

  /// Replies once, at the latest `limit` (settings().reply_deadline if that is shorter) after the
  /// request arrived.
  void Step(Action action, Seconds limit, const Asked& asked, Reply reply);

  /// Without an episode: judges `action` for its own task_id, one turn. `reply` as in Step(). A
  /// client that leaves before its answer knows no ticket: nothing is judged for it any more.
  void StepAlone(Action action, Seconds limit, const Asked& asked, Reply reply);

  /// KernelState; of a fresh one before the first reset.
  [[nodiscard]] json::object State();

  /// The episode that this session holds, for a message of its client; null when there is none or
  /// another one took it over.
  [[nodiscard]] std::shared_ptr<EpisodeRun> run();
  /// A step is in work.
  [[nodiscard]] bool Busy();
  /// As Busy(), or a submission is being judged.
  [[nodiscard]] bool Judging();

  /// The connection is gone: the episode can be resumed for a while.
  void Leave();
  /// The client said that it is done: ends the episode.
  void Close();

  [[nodiscard]] const std::shared_ptr<Service>& service() const { return service_; }
  [[nodiscard]] const http::Identity& who() const { return who_; }

 private:
  [[nodiscard]] std::shared_ptr<EpisodeRun> Held();
  [[nodiscard]] TimePoint Deadline(Seconds limit, const Asked& asked) const;
  void StepJob(const Action& action, TimePoint deadline, const Reply& reply);

  const std::shared_ptr<Service> service_;
  const http::Identity who_;
  const uint64_t id_;
  std::mutex mutex_;  ///< guards run_
  std::shared_ptr<EpisodeRun> run_;
};

}  // namespace assay::openenv
