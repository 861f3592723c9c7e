#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::kernelgym {

/// One thing that is wrong with a request's body or query, in the form in which KernelGYM's clients
/// know it: a type, the place ("body", "tasks", 3, "kernel_code") and a sentence.
struct Issue {
  std::string type;
  json::array place;
  std::string message;
};

/// Limits of the protocol; lengths are in characters, not bytes.
inline constexpr size_t kMaxTaskId = 100;
inline constexpr size_t kMinCode = 10;
inline constexpr size_t kMaxCode = 100'000;
inline constexpr size_t kMaxBatch = 100;
inline constexpr size_t kMaxCases = 100;
inline constexpr size_t kMaxName =
    1000;  ///< of members that are names; they are kept with the task
inline constexpr size_t kMaxResources = 16u << 10;  ///< bytes, as text; likewise
/// JSON values of one body. Parsed they take about thirty bytes each, whatever they are.
inline constexpr size_t kMaxValues = 1'000'000;

/// The body of POST /evaluate with defaults filled in. What a null means is kept (`nullopt`), since
/// several fields fall back to others.
struct EvaluationRequest {
  std::string task_id;
  std::optional<std::string> reference_code;
  std::string kernel_code;
  std::string toolkit = "kernelbench";
  std::string backend_adapter = "kernelbench";
  std::string backend = "triton";
  int num_correct_trials = 5;
  int num_perf_trials = 100;
  int num_warmup = 3;
  int timeout = 300;  ///< seconds, of the whole judging
  std::string priority = "normal";
  std::string request_id;  ///< of the HTTP request that brought it, for the log
  std::optional<std::string> device_preference;
  bool force_refresh = false;
  std::string entry_point = "Model";
  std::optional<std::string> reference_backend;
  std::optional<std::string> uuid;
  bool use_reference_cache = false;
  bool is_valid = false;
  std::optional<bool> verbose_errors;
  std::optional<bool> enable_profiling;
  std::optional<bool> enable_triton_detection;
  std::optional<bool> measure_performance;
  std::optional<bool> run_correctness;
  std::optional<bool> run_triton_detection;
  std::optional<bool> run_performance;
  std::optional<bool> detect_decoy_kernel;
  std::optional<std::string> cases_code;
  std::optional<json::array> cases;
  std::string workflow = "kernelbench";  ///< trimmed, lower case
  std::optional<json::object> resources;

  [[nodiscard]] bool simple() const { return workflow == "kernel_simple"; }
  [[nodiscard]] bool wants_time() const {
    return run_performance.value_or(measure_performance.value_or(true));
  }
  /// Whether a submission without a kernel of its own is to be called a decoy.
  [[nodiscard]] bool wants_decoy_check() const {
    if (detect_decoy_kernel) return *detect_decoy_kernel;
    if (run_triton_detection) return *run_triton_detection;
    return enable_triton_detection.value_or(backend == "triton");
  }
};

/// Reads one EvaluationRequest. Unknown members are ignored, and values are converted as KernelGYM
/// converts them ("5" and 5.0 are 5, "true" is true, 5.5 is no integer). Adds to `issues` what is
/// wrong; the result is of use only if nothing was added.
EvaluationRequest ReadEvaluation(const json::value& body, const json::array& place,
                                 std::vector<Issue>* issues);

/// The body of POST /evaluate/batch.
struct BatchRequest {
  std::string batch_id;
  std::vector<EvaluationRequest> tasks;
};
BatchRequest ReadBatch(const json::value& body, std::vector<Issue>* issues);

/// The body of POST /workflow/submit. Its payload is held to the same limits as /evaluate.
EvaluationRequest ReadWorkflow(const json::value& body, std::vector<Issue>* issues);

/// How many values a JSON text has at most: they are counted where they begin or are separated.
size_t CountValues(std::string_view text);

/// Characters of UTF-8 text.
size_t CountCharacters(std::string_view text);

bool IsIdentifier(std::string_view name);  ///< of Python, ASCII

}  // namespace assay::kernelgym
