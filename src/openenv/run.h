#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "broker/jobs.h"
#include "openenv/action.h"
#include "openenv/catalog.h"
#include "openenv/episode.h"
#include "openenv/episode_writer.h"
#include "openenv/observation.h"
#include "openenv/openenv.h"
#include "openenv/task_parts.h"

namespace assay::openenv {

/// What every part of the environment server shares. Thread-safe.
struct Host {
  explicit Host(OpenEnvContext given)
      : context(std::move(given)),
        catalog(context.tasks),
        settings(context.settings),
        writer(std::make_unique<EpisodeWriter>(context.documents)),
        task_parts(std::make_unique<TaskParts>()) {}

  [[nodiscard]] json::object Hardware() const {
    return context.hardware ? context.hardware() : json::object{};
  }

  const OpenEnvContext context;
  const Catalog catalog;
  const Settings& settings;
  const std::unique_ptr<EpisodeWriter> writer;
  const std::unique_ptr<TaskParts> task_parts;
};

/// A live episode: the bookkeeping (Episode), its jobs, the requests that wait for them, and its
/// document. It belongs to a connection, not to its thread, and outlives both: see Service for
/// resuming.
///
/// The document is in the store no later than the first job, and may lag behind after that by what
/// a crash takes with it. Jobs do not: they are durable before
/// anything is said about them, and an episode's jobs have ids that follow from its token, so
/// Load() finds those that the document does not know.
///
/// Thread-safe. Replies come on any thread, at the latest at the deadline, never under a lock.
class EpisodeRun : public std::enable_shared_from_this<EpisodeRun> {
 public:
  /// Nothing: the episode was resumed, reset or closed elsewhere while the reply was owed.
  using Reply = std::function<void(std::optional<Envelope>)>;

  EpisodeRun(std::shared_ptr<const Host> host, Episode episode, Catalog::TaskPtr task,
             std::string token, std::string owner);

  /// Reads an episode's document and looks for jobs beyond it. kNotFound: there is none, or it is
  /// another owner's; kInvalid: its task is not what it was.
  static Result<std::shared_ptr<EpisodeRun>> Load(std::shared_ptr<const Host> host,
                                                  const std::string& token,
                                                  const std::string& owner);

  /// The reply to the reset that made it. `ignored`: members of the reset that meant nothing.
  Envelope Ready(const std::vector<std::string>& ignored);

  /// The reply to a reset that resumes: where the episode stands, with the last verdict and all
  /// about the task, and the ticket to poll if something is being judged. It pays what was not
  /// paid. `taken_over`, from another holder: the last reply that paid counts as lost unless that
  /// holder was heard after it, and is paid again.
  Envelope Resumed(bool taken_over);

  /// The same for a holder that only looks: it pays nothing.
  Envelope Standing();

  /// Its holder sent something: it has the replies before.
  void Heard();

  /// Judges code, or answers with a ticket when `deadline` passes first (or at once, if deferred).
  /// `request_id`: of the request that sends it, for the log.
  void Submit(Action action, TimePoint deadline, const std::string& request_id, Reply reply);

  /// Waits for a ticket (empty: the oldest open one) until `deadline`. The first to see a verdict
  /// is paid; later polls get it with a reward of 0. False, and no reply: there is no such ticket.
  bool Poll(const std::string& ticket, TimePoint deadline, Reply reply);

  /// As Poll, after asking for the judgement's end.
  bool Cancel(const std::string& ticket, TimePoint deadline, Reply reply);

  /// Ends what is being judged: nobody will ask for it. Who waits is answered with nothing.
  void Abandon();

  /// Answers who waits with nothing: their connection is gone, or another asks now. What is being
  /// judged goes on.
  void DropWaits();

  /// The server stops: as DropWaits(), but without a word.
  void ForgetWaits();

  json::object State();
  [[nodiscard]] bool Done();
  [[nodiscard]] bool Judging();
  /// Somebody waits for a reply.
  [[nodiscard]] bool Awaited();
  /// The submission that earned most, for get_best: its observation, or an empty object.
  json::object Best();

  [[nodiscard]] const std::string& token() const { return token_; }
  [[nodiscard]] const std::string& owner() const { return owner_; }
  [[nodiscard]] const std::string& task_id() const { return task_->id; }

  /// The connection that may step; another one takes it over by resuming. 0: none.
  std::atomic<uint64_t> holder{0};

 private:
  struct Wait {
    std::string ticket;
    Reply reply;
    std::shared_ptr<void> job;    ///< handle of WhenDone
    std::shared_ptr<void> timer;  ///< the deadline
  };
  struct Sending;

  using Waits = std::vector<std::shared_ptr<Wait>>;

  [[nodiscard]] ObservationContext Context();
  [[nodiscard]] std::string JobId(size_t number) const;
  void FindJobs();
  void CatchUp();
  [[nodiscard]] json::object Stand();
  [[nodiscard]] std::optional<double> Pay(const std::string& ticket);
  [[nodiscard]] Waits TakeWaits();
  void Send(const std::shared_ptr<Sending>& sending);
  void Sent(const std::shared_ptr<Sending>& sending, const Result<SharedJob>& job);
  void Await(const std::string& ticket, TimePoint deadline, Reply reply);
  void OnJob(const std::weak_ptr<Wait>& weak, const Job& job);
  void Answer(const std::string& ticket, const Job& job, const Reply& reply);
  void AnswerLater(const Wait& wait, const std::string& why);
  void OnDeadline(const std::weak_ptr<Wait>& weak);
  [[nodiscard]] bool Take(const std::shared_ptr<Wait>& wait);
  Envelope Judge(const std::string& ticket, const json::object& verdict, const Job* job,
                 bool report = true);
  Envelope Refuse(const std::string& ticket, std::string_view name, std::string_view message);
  Envelope Infra(const std::string& ticket, Outcome::Kind kind, std::string_view name,
                 std::string_view message);
  void CancelOpen();
  void Remember(const Envelope& envelope);
  [[nodiscard]] std::string Document() const;
  void Persist(bool fresh = false);

  const std::shared_ptr<const Host> host_;
  const Catalog::TaskPtr task_;
  const std::string token_;
  const std::string owner_;
  const json::object hardware_;
  std::mutex mutex_;  ///< guards what follows
  Episode episode_;
  Observation last_;  ///< observation of the last verdict
  Observation best_;
  std::string
      unconfirmed_;  ///< ticket that was paid last; empty once its holder was heard after it
  Waits waits_;
  std::set<std::string> sending_;  ///< tickets on their way into the queue
  uint64_t listeners_ = 0;         ///< changes when waits are dropped
  bool abandoned_ = false;
};

}  // namespace assay::openenv
