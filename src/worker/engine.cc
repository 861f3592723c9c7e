#include "worker/engine.h"

#include <thread>

#include "base/log.h"

namespace assay {
namespace {

// One judge that dies takes the lanes of all submissions with it: the second try may meet the
// repair of another one.
constexpr int kAttempts = 3;
constexpr std::chrono::milliseconds kBackoff{200};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Start(EngineOptions options) {
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, Device::Open(options.device));
  std::string secret = options.secret.empty() ? RandomBytes(32) : std::move(options.secret);
  const uint64_t memory = device->memory_bytes();
  return std::unique_ptr<Engine>(
      new Engine(std::move(device), std::move(secret), options.device.require_sandbox, memory));
}

Verdict Engine::Evaluate(Submission submission, const Progress& progress) {
  if (submission.id.empty()) submission.id = NewId("sub-");
  for (int attempt = 1;; ++attempt) {
    Verdict verdict = [&] {
      Evaluation evaluation(device_.get(), &budget_, submission, secret_, require_sandbox_,
                            progress);
      return Decide(evaluation.Run());
    }();
    if (verdict.fault != Fault::kInfrastructure || attempt == kAttempts ||
        verdict.error.name == kBrokenReference)
      return verdict;
    LogWarn("{}: infrastructure fault, trying again: {}", submission.id, verdict.error.message);
    std::this_thread::sleep_for(kBackoff * attempt);
  }
}

}  // namespace assay
