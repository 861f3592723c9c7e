#include "kernelgym/statistics.h"

#include <algorithm>

#include "kernelgym/shapes.h"

namespace assay::kernelgym {
namespace {

constexpr double kHour = 3600;
constexpr double kDay = 24 * kHour;
/// More hashes than this are not kept: a stream of different crashing sources must not fill memory.
constexpr size_t kMostHashes = 10'000;
/// Requests about one job come within moments of each other.
constexpr size_t kMostRemembered = 4096;

bool IsProcessFault(const std::string& kind) {
  return kind == "crash" || kind == "device_fault" || kind == "host_memory" ||
         kind == "device_memory";
}

}  // namespace

void Statistics::Count(const Job& job, const Outcome& outcome, double now) {
  const std::lock_guard lock(mutex_);
  if (!counted_.insert(job.request->id).second) return;
  counted_order_.push_back(job.request->id);
  if (counted_order_.size() > kMostRemembered) {
    counted_.erase(counted_order_.front());
    counted_order_.pop_front();
  }
  ++totals_.finished;
  ++(outcome.status == "completed" ? totals_.completed : totals_.failed);
  if (outcome.error_code == kCompilationError) ++totals_.compilation_errors;
  if (outcome.error_code == kRuntimeError || outcome.error_code == kResourceError)
    ++totals_.runtime_errors;
  if (outcome.error_code == kTimeoutError) ++totals_.timeout_errors;
  if (outcome.infrastructure()) ++totals_.infrastructure_errors;
  if (job.started_at > 0) totals_.judging_s += std::max(0.0, job.finished_at - job.started_at);
  finish_times_.push_back(now);
  const std::string hash = GetString(job.verdict, "submission_sha256");
  if (!hash.empty() && IsProcessFault(GetString(GetObject(job.verdict, "error"), "kind")) &&
      (faults_.contains(hash) || faults_.size() < kMostHashes))
    faults_[hash].push_back(now);
  DropOld(now);
}

Statistics::Totals Statistics::Get(double now) {
  const std::lock_guard lock(mutex_);
  DropOld(now);
  Totals totals = totals_;
  totals.last_hour = finish_times_.size();
  return totals;
}

std::vector<std::pair<std::string, int>> Statistics::Problematic(int least, double now) {
  const std::lock_guard lock(mutex_);
  DropOld(now);
  std::vector<std::pair<std::string, int>> found;
  for (const auto& [hash, times] : faults_)
    if (const int count = static_cast<int>(times.size()); count >= least)
      found.emplace_back(hash, count);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return found;
}

void Statistics::ForgetProblems(const std::string& code_hash) {
  const std::lock_guard lock(mutex_);
  faults_.erase(code_hash);
}

void Statistics::DropOld(double now) {
  while (!finish_times_.empty() && finish_times_.front() < now - kHour) finish_times_.pop_front();
  for (auto it = faults_.begin(); it != faults_.end();) {
    std::deque<double>& times = it->second;
    while (!times.empty() && times.front() < now - kDay) times.pop_front();
    it = times.empty() ? faults_.erase(it) : std::next(it);
  }
}

}  // namespace assay::kernelgym
