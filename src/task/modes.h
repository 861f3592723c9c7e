#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What comes of a submission that is right on the task's sizes and wrong on smaller ones.
enum class ShapeJitter {
  kOff,     ///< it is not tried
  kReport,  ///< the flag `shape_specialized`; found after the timing, so that nothing depends on it
  kRequire,  ///< it is incorrect: one more trial
};

inline constexpr const char* kEager = "eager";

/// How a submission is judged where there is a choice. The defaults are the contract of
/// KernelBench: fixed shapes, torch's own precisions, cold caches, PyTorch's eager mode.
struct Modes {
  ShapeJitter shape_jitter = ShapeJitter::kReport;
  /// Of float32 matrix work, for reference and submission alike: "default" (torch's own: TF32 for
  /// convolutions alone), "ieee", "tf32"; empty: as the task says, else "default".
  std::string precision;
  bool warm_cache = false;  ///< rounds find their inputs in the cache, as far as these fit
  /// What else the submission is timed against, beside the reference in eager mode.
  std::vector<std::string> baselines;
  std::string baseline = kEager;  ///< the one that the speedup is of; eager or one of `baselines`
  /// Pairs of fresh processes, submission and reference, that are timed one after the other. One
  /// pair cannot tell what differs from process to process, which for chains of short kernels is
  /// percents.
  int processes = 1;
};

inline constexpr int kMostProcesses = 16;

/// The options that a request's JSON may name, with the same words as the command line; whatever
/// else stands in `options` is left alone. kInvalid names the option and what it may be.
///     shape_jitter  "off" | "report" | "require"
///     precision     "default" | "ieee" | "tf32"
///     cache         "cold" | "warm"
///     baselines     array of names, or "all"
///     baseline      name of the one that the speedup is of
///     processes     1 to kMostProcesses
Result<Modes> ReadModes(const json::object& options);
/// Whether ReadModes() reads this option.
bool IsMode(std::string_view option);
/// JSON Schema of each of them, by name.
json::object ModesSchema();

/// "off", "report", "require".
Result<ShapeJitter> ParseShapeJitter(std::string_view word);
/// "default", "ieee", "tf32"; returned as it is.
Result<std::string> ParsePrecision(std::string_view word);
/// "cold", "warm": whether it is warm.
Result<bool> ParseCache(std::string_view word);

/// Sets `baselines` and `baseline` from names: eager, compile, compile-max-autotune, eager-tf32; of
/// `measured` also "all". The chosen one is measured too.
Status ChooseBaselines(std::span<const std::string> measured, std::string_view chosen,
                       Modes* modes);

/// How the reference's process makes a baseline: torch.compile's mode (empty: no compiler) and the
/// precision (empty: the submission's).
struct BaselineRecipe {
  std::string compile;
  std::string precision;
};
BaselineRecipe RecipeOf(std::string_view baseline);

}  // namespace assay
