#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "lint/lint.h"
#include "timing/statistics.h"

namespace assay {

/// Version of the measurement protocol; part of every score, so that methods never mix.
inline constexpr const char* kProtocolVersion = "assay.protocol/1";
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

/// Whose doing the outcome is. An infrastructure fault is never a reward and never a candidate's fault.
enum class Fault { kNone, kCandidate, kIntegrity, kInfrastructure };

/// Stages in the order a submission passes through them.
enum class Stage { kLint, kLoad, kCheck, kTime, kProfile, kVerdict };

std::string_view ToString(VerdictStatus status);
std::string_view ToString(Fault fault);
std::string_view ToString(Stage stage);

/// How a stage ended badly: what the engine observed, not yet what it means.
enum class FailureKind {
  kNone,
  kLintInvalid,        ///< lint decided
  kSyntaxError,        ///< CPython refused the source
  kCompileError,       ///< Triton, nvcc, g++ or ninja refused it
  kException,          ///< Python exception in the submission
  kCrash,              ///< the candidate's process died by signal or exit
  kDeviceFault,        ///< illegal address, device assert, launch failure
  kDeadline,           ///< a phase's deadline passed
  kHostMemory,         ///< host memory limit
  kDeviceMemory,       ///< CUDA out of memory
  kMismatch,           ///< wrong values, shape, dtype or structure
  kInputMutated,       ///< wrote its inputs
  kIntegrity,          ///< broke the protocol or tampered with the measurement
  kInfrastructure,     ///< judge, zygote, GPU or machine failed; not the candidate
  kCancelled,
};

struct Failure {
  FailureKind kind = FailureKind::kNone;
  Stage stage = Stage::kLint;
  std::string name;     ///< exception class or short code ("ZeroDivisionError", "SIGSEGV", "shape")
  std::string message;  ///< cleaned, bounded text; for people and models
  int line = 0;         ///< line of the submission, 0 unknown
};

/// First wrong element of a failed trial.
struct BadElement {
  int output = 0;           ///< index of the output leaf
  std::vector<int64_t> index;
  double got = 0;
  double expected = 0;
};

/// Correctness over all trials, as the judge measured it.
struct Correctness {
  int trials = 0;
  int passed = 0;
  double max_abs_err = 0;
  double max_rel_err = 0;
  double mismatch_fraction = 0;  ///< of the worst trial
  std::optional<BadElement> first_bad;
  std::string pattern;     ///< "all wrong", "tail elements wrong", "NaN", ... ; empty if passed
  double atol = 0;
  double rtol = 0;
  std::string reference;   ///< precision of the expected values: "float64", "float32", "exact"
  std::string weights;     ///< "copied" (by name and shape), "seed", or "none"
};

struct TimingRecord {
  bool measured = false;
  bool meaningful = true;           ///< false for Triton's interpreter: never paid
  std::vector<RoundClock> candidate;
  std::vector<RoundClock> reference;
  std::string method;               ///< "rounds/device-events", "rounds/host-clock"
  int rounds_verified = 0;          ///< timed outputs that were verified, all of them right
};

/// Everything that was observed about one submission. The verdict is a pure function of this.
struct Records {
  std::string id;
  std::string task_id;
  std::string task_sha256;
  std::string submission_sha256;
  LintReport lint;
  bool compiled = false;            ///< the submission loaded: imported and ModelNew was built
  Failure failure;                  ///< kNone when every stage passed
  Correctness correctness;
  TimingRecord timing;
  std::vector<std::string> flags;   ///< notes found while running: "output_reused", "library", ...
  std::vector<std::pair<std::string, double>> phases_ms;
  std::string stdout_text;          ///< bounded and cleaned; never parsed
  std::string stderr_text;
  json::object environment;         ///< gpu, driver, torch, triton, python, sandbox
};

struct Verdict {
  Records records;
  VerdictStatus status = VerdictStatus::kInfraError;
  Fault fault = Fault::kInfrastructure;
  Stage stage = Stage::kLint;       ///< deepest stage reached
  bool correct = false;
  std::vector<std::string> flags;   ///< lint rules and run-time notes, sorted, unique
  Summary candidate_us;
  Summary reference_us;
  Ratio speedup;                    ///< 0 when not measured or not meaningful
  Reconciled candidate_clock;
  std::string feedback;             ///< bounded text a model can act on
};

/// Decides. Pure: the same records give the same verdict on any machine.
Verdict Decide(Records records);

/// The `assay.verdict/1` document. `full` adds raw rounds, stdout and stderr.
json::object ToJson(const Verdict& verdict, bool full);

/// The same for a person at a terminal; `color` uses ANSI.
std::string ToText(const Verdict& verdict, bool color);

/// Exit code of `assay eval`: 0 correct, 1 not correct, 3 infrastructure, 4 integrity.
int ExitCode(const Verdict& verdict);

}  // namespace assay
