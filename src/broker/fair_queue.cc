#include "broker/fair_queue.h"

#include <algorithm>

namespace assay {
namespace {

/// Owners without jobs are remembered for the sake of what they were served lately; more of them
/// than this are forgotten once the others have caught up.
constexpr size_t kRemembered = 1000;

}  // namespace

double FairQueue::Floor() const {
  double least = floor_;
  bool any = false;
  for (const auto& [name, owner] : owners_) {
    if (owner.jobs.empty()) continue;
    least = any ? std::min(least, owner.served_s) : owner.served_s;
    any = true;
  }
  return least;
}

void FairQueue::Forget() {
  if (owners_.size() <= kRemembered) return;
  std::erase_if(owners_, [&](const auto& item) {
    return item.second.jobs.empty() && item.second.served_s <= floor_;
  });
}

void FairQueue::Push(const Entry& entry) {
  Owner& owner = owners_[entry.owner];
  if (owner.jobs.empty()) owner.served_s = std::max(owner.served_s, Floor());
  if (!owner.jobs.insert({entry.priority, entry.sequence, entry.bytes}).second) return;
  ++size_;
  bytes_ += entry.bytes;
  owner.bytes += entry.bytes;
}

void FairQueue::Take(Owner* owner, std::set<Waiting>::const_iterator job) {
  --size_;
  bytes_ -= job->bytes;
  owner->bytes -= job->bytes;
  owner->jobs.erase(job);
}

bool FairQueue::Remove(const Entry& entry) {
  const auto found = owners_.find(entry.owner);
  if (found == owners_.end()) return false;
  const auto job = found->second.jobs.find({entry.priority, entry.sequence});
  if (job == found->second.jobs.end()) return false;
  Take(&found->second, job);
  return true;
}

std::optional<FairQueue::Entry> FairQueue::Pop() {
  auto next = owners_.end();
  for (auto owner = owners_.begin(); owner != owners_.end(); ++owner) {
    if (owner->second.jobs.empty()) continue;
    // Of equals the one whose job is older.
    if (next == owners_.end() || owner->second.served_s < next->second.served_s ||
        (owner->second.served_s == next->second.served_s &&
         owner->second.jobs.begin()->sequence < next->second.jobs.begin()->sequence))
      next = owner;
  }
  if (next == owners_.end()) return std::nullopt;
  floor_ = std::max(floor_, next->second.served_s);
  const Waiting first = *next->second.jobs.begin();
  Take(&next->second, next->second.jobs.begin());
  Entry entry{next->first, first.priority, first.sequence, first.bytes};
  Forget();
  return entry;
}

void FairQueue::Charge(const std::string& owner, double seconds) {
  const auto found = owners_.find(owner);
  if (found != owners_.end()) found->second.served_s += seconds;
}

size_t FairQueue::size(const std::string& owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? 0 : found->second.jobs.size();
}

size_t FairQueue::owners() const {
  return static_cast<size_t>(std::count_if(owners_.begin(), owners_.end(), [](const auto& entry) {
    return !entry.second.jobs.empty();
  }));
}

size_t FairQueue::bytes(const std::string& owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? 0 : found->second.bytes;
}

}  // namespace assay
