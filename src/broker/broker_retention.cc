#include <cmath>

#include "base/log.h"
#include "broker/broker.h"

namespace assay {
namespace {

/// Of one transaction: it must not make submissions wait.
constexpr size_t kMostAtOnce = 200;
constexpr Duration kBetween = std::chrono::minutes(1);
/// The wall clock may be set, but not by as much as matters to what is deleted.
constexpr double kMostClockDrift = 600;

}  // namespace

void Broker::SweepOld() {
  if (options_.retain.count() <= 0) return;
  double before = 0;
  {
    const std::lock_guard guard(mutex_);
    const TimePoint now = options_.now();
    if (deleting_ || now < next_deletion_) return;
    next_deletion_ = now + kBetween;
    const double unix_now = options_.unix_now();
    const double drift = unix_now - Seconds(now.time_since_epoch()).count() - clock_offset_;
    if (std::abs(drift) > kMostClockDrift) {
      // A clock that jumped ahead would make everything old, and it could not be brought back.
      if (!std::exchange(clock_warned_, true))
        LogWarn("the wall clock moved by {:.0f} s: nothing is deleted until the next start", drift);
      return;
    }
    deleting_ = true;
    before = unix_now - options_.retain.count();
  }
  writer_->Post([this, before](Store* store) { return DeleteOld(store, before); },
                [this](const Status& status) {
                  if (!status.ok())
                    LogWarn("cannot delete what is old: {}", status.error().message);
                  const std::lock_guard guard(mutex_);
                  deleting_ = false;
                });
}

/// On the writer's thread.
Status Broker::DeleteOld(Store* store, double before) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> jobs,
                         store->DeleteFinished(before, kMostAtOnce));
  bool more = jobs.size() == kMostAtOnce;
  for (const std::string& kind : options_.retained) {
    ASSAY_ASSIGN_OR_RETURN(const size_t documents,
                           store->DeleteOldDocuments(kind, before, kMostAtOnce));
    more |= documents == kMostAtOnce;
  }
  const std::lock_guard guard(mutex_);
  for (const std::string& id : jobs) done_.Erase(id);
  if (more) next_deletion_ = options_.now();
  return {};
}

}  // namespace assay
