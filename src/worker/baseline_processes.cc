#include "worker/baseline_processes.h"

namespace assay {

Result<BaselineProcesses::Lease> BaselineProcesses::Take(const std::string& name) {
  Lease::Entry* entry = nullptr;
  {
    const std::lock_guard guard(mutex_);
    entry = &entries_[name];
  }
  Lease lease(entry);
  if (entry->process && entry->process->Alive()) return lease;
  ASSAY_ASSIGN_OR_RETURN(entry->process, zygote_->Fork(Role::kReference, kOneConnection, nullptr));
  Result<json::object> ready = WaitReady(entry->process.get(), DeadlineIn(Seconds(limits_.warm_s)));
  if (ready.ok()) return lease;
  entry->process.reset();
  return ready.error();
}

}  // namespace assay
