#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "task/modes.h"

namespace assay {

/// How a job is to be judged: what may stand in JobRequest::options. What is absent is as the
/// server was started. Bounds keep a client from holding a device for hours.
struct EvaluationOptions {
  bool time = true;                 ///< "time": false judges correctness only
  bool profile = false;             ///< "profile": what its calls make the GPU do
  bool ghost = false;               ///< "ghost": whether it is right without its own kernels
  bool ncu = false;                 ///< "ncu": Nsight Compute's summary of its own kernels
  std::string sanitize;             ///< "sanitize": a tool of compute-sanitizer; empty: none
  std::optional<int> trials;        ///< "trials": hidden-seed trials, 1 to 100
  std::optional<double> load_s;     ///< "load_timeout_s": import and construction, up to 600
  std::optional<double> compile_s;  ///< "compile_timeout_s": the same with C++ or CUDA, up to 1800
  std::optional<double> call_s;     ///< "call_timeout_s": one call, up to 600
  Modes modes;                      ///< precision, cache, baselines, ...; see ReadModes
};

/// kInvalid names the option, what it may be, and for an unknown one those there are.
Result<EvaluationOptions> ParseEvaluationOptions(const json::object& options);

/// JSON Schema (2020-12) of the options, for API documents.
json::object EvaluationOptionsSchema();

}  // namespace assay
