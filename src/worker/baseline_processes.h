#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "worker/zygote.h"

namespace assay {

/// The trusted processes that run baselines: one for each name, kept from submission to submission
/// because importing a compiler takes seconds, and used for one at a time. Thread-safe.
class BaselineProcesses {
 public:
  explicit BaselineProcesses(Zygote* zygote, const Limits& limits)
      : zygote_(zygote), limits_(limits) {}

  /// One process, for as long as this lives. Who takes several takes them in the order of
  /// Modes::baselines.
  class Lease {
   public:
    Lease() = default;
    [[nodiscard]] RuntimeProcess* get() const { return entry_ ? entry_->process.get() : nullptr; }
    /// It failed: the next one starts anew.
    void Drop() {
      if (entry_ != nullptr) entry_->process.reset();
    }

   private:
    friend class BaselineProcesses;
    struct Entry {
      std::mutex mutex;
      std::unique_ptr<RuntimeProcess> process;
    };
    explicit Lease(Entry* entry) : entry_(entry), lock_(entry->mutex) {}

    Entry* entry_ = nullptr;
    std::unique_lock<std::mutex> lock_;
  };

  /// Waits until it is free; starts it if it does not run.
  Result<Lease> Take(const std::string& name);

 private:
  Zygote* const zygote_;
  const Limits limits_;
  std::mutex mutex_;
  std::map<std::string, Lease::Entry> entries_;
};

}  // namespace assay
