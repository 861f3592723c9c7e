#include "http/site.h"

#include <algorithm>

#include "base/log.h"

namespace assay::http {

Shared::Shared(const Limits& server_limits, MetricRegistry* registry)
    : limits(server_limits), metrics_(registry) {
  if (metrics_ != nullptr)
    seconds_ = &metrics_->AddHistogram("assay_http_request_seconds",
                                       "From the end of a request's head to the end of its answer.",
                                       DurationBuckets());
}

void Shared::CountRequest(std::string_view method, int status, Seconds took) {
  if (metrics_ == nullptr) return;
  static constexpr std::array<std::string_view, kMethods> kNames = {
      "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "other"};
  size_t known = 0;
  while (known + 1 < kMethods && kNames[known] != method) ++known;
  const auto code = static_cast<size_t>(std::clamp(status, 100, 599) - 100);
  std::atomic<Counter*>& slot = requests_[known * kStatuses + code];
  Counter* counter = slot.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = &metrics_->AddCounter(
        "assay_http_requests_total", "Requests answered.",
        {{"method", std::string(kNames[known])}, {"status", fmt::format("{}", code + 100)}});
    slot.store(counter, std::memory_order_release);
  }
  counter->Add();
  seconds_->Observe(took.count());
}

void Shared::CountDrop(const char* reason) {
  if (metrics_ == nullptr) return;
  metrics_
      ->AddCounter("assay_http_dropped_total", "Connections that the server ended, by reason.",
                   {{"reason", reason}})
      .Add();
}

void Shared::CountThrottled(const char* reason) {
  if (metrics_ == nullptr) return;
  metrics_
      ->AddCounter("assay_http_throttled_total",
                   "Requests that were told to come again later, by reason.", {{"reason", reason}})
      .Add();
}

namespace {

/// One more under `name`, unless there are `limit` (0: no limit).
bool Enter(std::map<std::string, size_t>* counts, const std::string& name, size_t limit) {
  size_t& count = (*counts)[name];
  if (limit > 0 && count >= limit) return false;
  ++count;
  return true;
}

void Leave(std::map<std::string, size_t>* counts, const std::string& name, size_t many = 1) {
  const auto entry = counts->find(name);
  ASSAY_CHECK(entry != counts->end() && entry->second >= many);
  entry->second -= many;
  if (entry->second == 0) counts->erase(entry);
}

}  // namespace

bool Shared::EnterKey(const std::string& key, size_t limit) {
  const std::lock_guard lock(mutex_);
  return Enter(&per_key_, key, limit);
}

void Shared::LeaveKey(const std::string& key) {
  const std::lock_guard lock(mutex_);
  Leave(&per_key_, key);
}

bool Shared::EnterStranger(const std::string& address) {
  const std::lock_guard lock(mutex_);
  return Enter(&strangers_, address, std::max<size_t>(1, limits.connections / 2));
}

void Shared::LeaveStranger(const std::string& address) {
  const std::lock_guard lock(mutex_);
  Leave(&strangers_, address);
}

bool Shared::EnterBytes(const std::string& holder, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const size_t most = holder.empty() ? limits.inflight_bytes : limits.inflight_bytes / 4;
  const auto held = bytes_of_.find(holder);
  if ((held == bytes_of_.end() ? 0 : held->second) + bytes > most) return false;
  if (inflight_bytes_ + bytes > limits.inflight_bytes) return false;
  bytes_of_[holder] += bytes;
  inflight_bytes_ += bytes;
  return true;
}

void Shared::LeaveBytes(const std::string& holder, size_t bytes) {
  const std::lock_guard lock(mutex_);
  Leave(&bytes_of_, holder, bytes);
  inflight_bytes_ -= bytes;
}

size_t Shared::inflight_bytes() const {
  const std::lock_guard lock(mutex_);
  return inflight_bytes_;
}

std::optional<Place> Place::Take(std::shared_ptr<Shared> shared, const std::string& address) {
  const bool room = shared->connections.fetch_add(1) < shared->limits.connections;
  if (room && shared->EnterStranger(address)) return Place(std::move(shared), address);
  shared->connections.fetch_sub(1);
  return std::nullopt;
}

Place::~Place() {
  if (shared_ == nullptr) return;
  Known();
  if (!key_.empty()) shared_->LeaveKey(key_);
  shared_->connections.fetch_sub(1);
}

bool Place::Claim(const std::string& key, size_t limit) {
  if (key == key_) return true;
  if (!shared_->EnterKey(key, limit)) return false;
  if (!key_.empty()) shared_->LeaveKey(key_);
  key_ = key;
  return true;
}

void Place::Known() {
  if (address_.empty()) return;
  shared_->LeaveStranger(address_);
  address_.clear();
}

bool InflightBytes::Hold(size_t bytes, const std::string& holder) {
  constexpr size_t kSmall = 64u << 10;
  if (bytes <= std::max(held_, kSmall)) return true;
  if (!shared_->EnterBytes(holder, bytes - held_)) return false;
  held_ = bytes;
  holder_ = holder;
  return true;
}

void InflightBytes::Release() {
  if (held_ > 0) shared_->LeaveBytes(holder_, held_);
  held_ = 0;
}

}  // namespace assay::http
