#pragma once

#include <memory>

#include "verdict/verdict.h"
#include "worker/evaluation.h"

namespace assay {

struct EngineOptions {
  DeviceOptions device;
  std::string secret;  ///< key of the hidden seeds; empty: random for this process
};

/// The whole engine on one device. Thread-safe: Evaluate() may run on many threads at once; while
/// one submission is timed the others wait or compile.
class Engine {
 public:
  static Result<std::unique_ptr<Engine>> Start(EngineOptions options);

  /// Judges one submission; blocks. An infrastructure fault is tried twice more on repaired parts,
  /// and what finds no device memory once more where the judge keeps none.
  /// A time below the task's bound is audited: the bound with the precisions that the task really
  /// admits, the time in a fresh process on other hidden inputs; the slower of the two times
  /// stands.
  Verdict Evaluate(Submission submission, const Progress& progress = {});

  [[nodiscard]] Device& device() { return *device_; }

 private:
  Verdict EvaluateOnce(Submission submission, const Progress& progress);
  Verdict Audit(const Submission& submission, Verdict first, const Progress& progress);

  Engine(std::unique_ptr<Device> device, std::string secret, SandboxLevel require_sandbox,
         uint64_t memory)
      : device_(std::move(device)),
        secret_(std::move(secret)),
        require_sandbox_(require_sandbox),
        budget_(memory) {}

  std::unique_ptr<Device> device_;
  const std::string secret_;
  const SandboxLevel require_sandbox_;
  MemoryBudget budget_;
};

}  // namespace assay
