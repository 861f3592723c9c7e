#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "gpu/nvml.h"
#include "lint/lint.h"
#include "profile/profile.h"
#include "roofline/report.h"
#include "timing/clocks.h"
#include "timing/memory_growth.h"
#include "timing/timer_report.h"
#include "tools/ncu.h"
#include "tools/sanitizer.h"

namespace assay {

/// Stages in the order a submission passes through them.
enum class Stage { kLint, kLoad, kCheck, kTime, kProfile, kVerdict };

/// How a stage ended badly: what the engine observed, not yet what it means.
enum class FailureKind {
  kNone,
  kLintInvalid,     ///< lint decided
  kSyntaxError,     ///< CPython refused the source
  kCompileError,    ///< Triton, nvcc, g++ or ninja refused it
  kException,       ///< Python exception in the submission
  kCrash,           ///< the candidate's process died by signal or exit
  kDeviceFault,     ///< illegal address, device assert, launch failure
  kDeadline,        ///< a phase's deadline passed
  kHostMemory,      ///< host memory limit
  kDeviceMemory,    ///< CUDA out of memory
  kMismatch,        ///< wrong values, shape, dtype or structure
  kInputMutated,    ///< wrote its inputs
  kIntegrity,       ///< broke the protocol or tampered with the measurement
  kInfrastructure,  ///< judge, zygote, GPU or machine failed; not the candidate
  kCancelled,
};

std::string_view ToString(Stage stage);
std::string_view ToString(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::kNone;
  Stage stage = Stage::kLint;
  std::string name;     ///< exception class or short code ("ZeroDivisionError", "SIGSEGV", "shape")
  std::string message;  ///< what happened; may be hostile text, cleaned and bounded on the way out
  int line = 0;         ///< line of the submission, 0 unknown
  double limit_s = 0;   ///< kDeadline: the limit that passed, 0 unknown
};

/// First wrong element of a failed trial.
struct BadElement {
  int output = 0;              ///< index of the output leaf
  std::vector<int64_t> index;  ///< empty for a scalar
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
  std::string pattern;  ///< "all wrong", "tail elements wrong", "NaN", ... ; empty if passed
  double atol = 0;
  double rtol = 0;
  std::string reference;  ///< precision of the expected values: "float64", "float32", "exact"
  std::string weights;    ///< "copied" (by name and shape), "seed", or "none"
  /// Bits of the outputs' values that agree with float64, of the trial with the fewest, and the
  /// same of the reference itself. Nothing where float64 could not be had.
  std::optional<double> effective_bits;
  std::optional<double> reference_bits;
  /// Whether smaller inputs, which the reference accepts, are computed right too. Nothing where
  /// that was not asked or there are none.
  std::optional<bool> other_shapes;
};

/// What KernelBench's own check says of the same trials, those with the task's own inputs:
/// allclose(reference, submission, atol = rtol = tolerance).
struct KernelBenchCheck {
  int trials = 0;
  int passed = 0;
  double tolerance = 0;
};

/// What a submission was timed against beside the reference in eager mode.
struct BaselineRecord {
  std::string name;                ///< "compile", "compile-max-autotune", "eager-tf32"
  std::vector<RoundClock> rounds;  ///< rounds[i] ran beside candidate[i] on the same inputs
  std::string unavailable;         ///< why it has no rounds; empty when it has
};

struct TimingRecord {
  bool requested = true;   ///< false when the caller asked for correctness only
  bool measured = false;   ///< every round below was completed
  bool meaningful = true;  ///< false for Triton's interpreter: never paid
  std::vector<RoundClock> candidate;
  std::vector<RoundClock> reference;  ///< reference[i] ran beside candidate[i] on the same inputs
  std::vector<int>
      pairs;  ///< rounds of each pair of processes, in the order of the vectors; empty: one pair
  std::vector<DeviceClock> clocks;  ///< after each pair of rounds; empty where nothing tells
  std::string method;        ///< "rounds/device-events", "rounds/host-clock"; "/warm", "/copied"
  int rounds_discarded = 0;  ///< others or heat disturbed them; not among the above
  int rounds_verified = 0;   ///< timed outputs that were verified, all of them right
  std::vector<TimerPoint> instrument;  ///< what `assay timer-check` found here; empty: it never ran
  std::vector<MemorySample> memory;    ///< of a few rounds after the timed ones
  uint64_t output_bytes = 0;           ///< of a call
  std::vector<BaselineRecord> baselines;  ///< those that were asked for
  std::string baseline = "eager";         ///< the one that the speedup is of
};

/// What Nsight Compute said of a run of its own, after everything that counts. A claim of the
/// submission's process, as its profile is.
struct NcuRecord {
  std::optional<NcuSummary> summary;  ///< nothing where there could be none
  std::string reason;                 ///< ... and why; may be hostile text
};

/// The same of compute-sanitizer.
struct SanitizerRecord {
  std::string tool;  ///< "memcheck", ...
  std::optional<SanitizerReport> report;
  std::string reason;  ///< why there is none, or why it breaks off; may be hostile text
};

/// What came of the profile that was asked for.
struct ProfileRecord {
  std::optional<Profile> profile;  ///< nothing where there could be none
  std::string reason;              ///< ... and why; may be hostile text
  ProfileScale scale;
  std::optional<NcuRecord> ncu;  ///< nothing: it was not asked for
};

/// One call in which none of the submission's own kernels ran, in a process of its own.
struct GhostRecord {
  int64_t skipped = 0;  ///< launches of own kernels that were left out
  /// Whether the output was right all the same: then those kernels did not produce it. Nothing
  /// where that was not found out.
  std::optional<bool> still_right;
  std::string reason;  ///< why it was not; may be hostile text
};

/// Everything that was observed about one submission. The verdict is a pure function of this.
struct Records {
  std::string id;
  std::string task_id;
  std::string task_sha256;
  std::string submission_sha256;
  LintReport lint;
  bool compiled = false;  ///< the submission loaded: imported and ModelNew was built
  Failure failure;        ///< kNone when every stage passed
  Correctness correctness;
  std::optional<KernelBenchCheck> kernelbench;
  TimingRecord timing;
  std::optional<ProfileRecord> profile;      ///< nothing: none was asked for, or it came to none
  std::optional<GhostRecord> ghost;          ///< the same
  std::optional<SanitizerRecord> sanitizer;  ///< the same; also of submissions that failed
  std::optional<RooflineReport> roofline;    ///< the task's bound on this card; `fraction` still 0
  std::string precision;    ///< of float32 matrix work: "default", "ieee", "tf32"; empty: not known
  std::string void_reason;  ///< why the task's score means nothing ("zeros pass"), or empty
  std::vector<std::string> flags;  ///< notes found while running: "output_reused", "library", ...
  std::vector<std::pair<std::string, double>> phases_ms;
  std::string stdout_text;   ///< bounded; never parsed
  std::string stderr_text;   ///< bounded; never parsed
  json::object environment;  ///< gpu, driver, torch, triton, python, sandbox
};

}  // namespace assay
