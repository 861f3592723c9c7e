#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "timing/clocks.h"
#include "timing/statistics.h"
#include "verdict/records.h"

namespace assay {

/// Version of the measurement protocol; part of every score, so that methods never mix.
inline constexpr const char* kProtocolVersion = "assay.protocol/5";
inline constexpr const char* kVerdictSchema = "assay.verdict/1";

enum class VerdictStatus {
  kCorrect,
  kIncorrect,
  kInvalidSubmission,
  kCompileError,
  kRuntimeError,
  kTimeout,
  kOutOfMemory,
  kRejectedCheat,
  kInfraError,
  kCancelled,
};

inline constexpr VerdictStatus kVerdictStatuses[] = {
    VerdictStatus::kCorrect,      VerdictStatus::kIncorrect,     VerdictStatus::kInvalidSubmission,
    VerdictStatus::kCompileError, VerdictStatus::kRuntimeError,  VerdictStatus::kTimeout,
    VerdictStatus::kOutOfMemory,  VerdictStatus::kRejectedCheat, VerdictStatus::kInfraError,
    VerdictStatus::kCancelled};

/// Whose doing the outcome is. An infrastructure fault is never a reward and never a candidate's
/// fault.
enum class Fault { kNone, kCandidate, kIntegrity, kInfrastructure };

std::string_view ToString(VerdictStatus status);
std::string_view ToString(Fault fault);

/// What a baseline came to.
struct BaselineTiming {
  std::string name;
  Summary us;               ///< of nothing where it is unavailable
  Ratio speedup;            ///< of the submission over it; 0 where there is none
  std::string unavailable;  ///< why; empty where it is not
};

/// Whether a submission can be to blame for this failure at this stage: lint and verdict run no
/// candidate code, so all that can be wrong there is the submission's text.
bool CandidateCanCause(FailureKind kind, Stage stage);

struct Verdict {
  Records records;
  VerdictStatus status = VerdictStatus::kInfraError;
  Fault fault = Fault::kInfrastructure;
  Stage stage = Stage::kLint;  ///< deepest stage reached
  bool compiled = false;
  bool correct = false;
  Failure error;                   ///< why it is not correct; kNone exactly when it is
  std::vector<std::string> flags;  ///< lint rules and run-time notes, sorted, unique
  bool timed = false;              ///< correct and measured: the next four hold figures
  Summary candidate_us;
  Summary reference_us;  ///< of the baseline that the speedup is of
  Ratio speedup;         ///< 0 when not measured or not meaningful
  Reconciled candidate_clock;
  std::vector<Ratio> pairs;  ///< the speedup in each pair of processes, where there were several
  std::vector<BaselineTiming> baselines;  ///< eager first, where others were asked for
  /// The records' one; with its fraction where there is a speedup.
  std::optional<RooflineReport> roofline;
  Plausibility plausibility = Plausibility::kNormal;  ///< of the paid time against the bound
  std::string timing_note;  ///< why there is no speedup; empty when there is one
  std::string feedback;     ///< bounded text a model can act on
};

/// Decides. Pure: the same records give the same verdict on any machine.
///
///     lint_invalid, syntax_error               invalid_submission  candidate
///     compile_error                            compile_error       candidate
///     exception, crash, device_fault           runtime_error       candidate
///     deadline                                 timeout             candidate
///     host_memory, device_memory               out_of_memory       candidate
///     mismatch, input_mutated                  incorrect           candidate
///     integrity                                rejected_cheat      integrity
///     infrastructure                           infra_error         infrastructure
///     cancelled                                cancelled           none
///
/// A failure of the candidate's kind in a stage that runs no candidate code, and records without a
/// failure that do not prove correctness (trials missing, rounds not measured or not verified), are
/// the engine's own bugs: infra_error, with the contradiction as the error. Only `correct` pays.
/// A time below the task's bound is flagged `superluminal`, or `collapse` where only the
/// reference's arithmetic would take longer: rewards pay nothing for it until it is known why.
Verdict Decide(Records records);

/// The `assay.verdict/1` document (schema/assay.verdict.1.json). `full` adds raw rounds, stdout and
/// stderr. Hostile text is cleaned and bounded, numbers are finite or null; outside `raw` they have
/// at most six significant digits.
json::object ToJson(const Verdict& verdict, bool full);

/// The same for a person at a terminal, 80 columns wide; `color` uses ANSI.
std::string ToText(const Verdict& verdict, bool color);

/// Exit code of `assay eval`: 0 correct, 1 not correct, 3 no verdict (infrastructure, cancelled),
/// 4 integrity.
int ExitCode(const Verdict& verdict);

}  // namespace assay
