#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "task/modes.h"
#include "task/task.h"
#include "verdict/records.h"
#include "worker/baseline.h"
#include "worker/candidate.h"
#include "worker/memory_budget.h"
#include "worker/seeds.h"
#include "worker/timing_session.h"

namespace assay {

/// Whether a submission failed by itself, rather than something around it.
bool FailedByItself(FailureKind kind);

Failure CancelledFailure(Stage stage);

/// Name of the infrastructure failure of a task that cannot be run: trying again is useless.
inline constexpr const char* kBrokenReference = "broken_reference";

/// What is to be judged, and how.
struct Submission {
  std::string id;  ///< empty: one is made
  std::shared_ptr<const Task> task;
  std::string source;
  bool time = true;      ///< false: correctness only
  bool ghost = false;    ///< whether the output is right without its own kernels
  bool profile = false;  ///< what its calls make the device do, once it is judged
  bool ncu = false;      ///< what Nsight Compute says of its kernels; takes the profile too
  std::string sanitize;  ///< a tool of compute-sanitizer to run it under; empty: none
  bool frugal = false;   ///< the judge keeps no device memory beside what it must; slower
  int attempt = 0;       ///< at judging it: each has hidden seeds of its own
  Modes modes;

  // In place of the device's limits, for this submission.
  std::optional<int> trials;
  std::optional<double> load_s;
  std::optional<double> compile_s;
  std::optional<double> call_s;
  double timeout_s = 0;  ///< from the lease of its candidate, without the times at which others
                         ///< are timed; 0: only the phases' own deadlines

  /// Set by anyone at any time to end the judging: the verdict is then `cancelled`. Seen between
  /// steps, and within 50 ms while the candidate is waited for. May be null.
  std::shared_ptr<const std::atomic<bool>> cancelled;
};

/// Called with a stage's name when it begins; for progress displays. Any thread.
using Progress = std::function<void(std::string_view stage)>;

/// One submission's way through the device: lint, load, check, time, profile. One object, one use,
/// one thread; blocking.
class Evaluation {
 public:
  Evaluation(Device* device, MemoryBudget* budget, const Submission& submission,
             std::string_view secret, SandboxLevel require_sandbox, Progress progress);
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  Records Run();

 private:
  Outcome LintSource(const LintOptions& options);
  Outcome Prepare();
  Outcome Lease();
  Outcome Load();
  Outcome Check();
  Outcome Trial(int number);
  Outcome VerifyCall(bool native);
  Outcome AnotherCall();
  Outcome Repeat(const std::vector<uint64_t>& seeds, std::string_view family);
  Outcome Draws(bool first, const std::string& family, bool native);
  template <typename Note>
  Outcome Judged(const Result<Comparison>& result, Note note);
  Outcome NewWeights();
  Outcome Fill(const std::vector<uint64_t>& seeds, std::string_view family);
  Outcome Calls(bool first, uint32_t count, const json::object& shapes = {});
  Outcome CallWhileExpecting(bool first, const json::object& shapes = {});
  Outcome OtherShapes();
  Outcome ReportShapes();
  Outcome PrepareBaselines();
  Outcome Time();
  Outcome TimeMore();
  Outcome TimePair();
  Outcome LoadAgain();
  void EndBaselines();
  void ProbeMemory();
  Outcome LoadReference(CandidateSession* reference);
  [[nodiscard]] TimingSession::Plan PlanTiming() const;
  Outcome TakeProfile();
  Outcome TakeGhost();
  Outcome GhostCall(GhostRecord* record);
  Status LeaseAnother();
  void DestroyCandidate();
  void RetireCandidate();
  void TakeNcu();
  void TakeSanitizer();
  struct ToolRun;
  struct ToolPlan;
  Status RunTool(const ToolPlan& plan, ToolRun* run);
  Status Rehearse(RuntimeProcess* process, bool must_pass);
  void Become(const ToolPlan& plan, const std::string& program, RuntimeProcess* process,
              ToolRun* run);
  [[nodiscard]] bool WorthSanitizing() const;
  void NoteSwitches();
  void ProfileCandidate(ProfileRecord* record, Outcome* outcome);
  [[nodiscard]] ProfileScale Scale() const;
  void StopCandidate(bool sound);
  Outcome DiagnoseMutation(Outcome crash);
  [[nodiscard]] std::string FamilyOf(int trial) const;
  void Compare(const Comparison& result, bool native);
  void PlanRounds();
  template <typename Step>
  bool Do(const char* name, Stage stage, Step step);
  /// A step that decides nothing, whatever comes of it.
  template <typename Step>
  void Inform(const char* name, Step step);
  [[nodiscard]] bool Cancelled() const { return submission_.cancelled && *submission_.cancelled; }
  [[nodiscard]] Outcome Interrupted(Stage stage) const;
  std::unique_ptr<CandidateSession> NewSession();
  [[nodiscard]] Seconds LoadLimit() const;

  Device* const device_;
  MemoryBudget* const budget_;
  const Submission& submission_;
  const SandboxLevel require_sandbox_;
  const Progress progress_;
  const Limits limits_;  ///< the device's with the submission's own in their place
  const int lane_;
  SeedSource seeds_;
  Records records_;
  TaskShape shape_;
  LaneArena arena_;
  uint32_t slots_ = 1;
  uint32_t calls_ = 1;
  uint64_t weights_seed_ = 0;
  uint32_t slot_ = 0;  ///< of the last trial
  bool opened_ = false;
  bool replaced_ = false;         ///< the submission's first process is gone
  bool probe_failed_ = false;     ///< the process is of no more use for reports
  bool candidates_ended_ = true;  ///< all that were destroyed, with everything below them
  std::unique_ptr<MemoryBudget::Share> share_;
  TimePoint leased_at_;
  Seconds paused_at_lease_{0};
  std::optional<BackgroundSet::Member> background_;  ///< until its own timing begins
  WarmCandidate candidate_;
  std::unique_ptr<CandidateSession> session_;
  std::vector<std::unique_ptr<Baseline>> baselines_;
};

}  // namespace assay
