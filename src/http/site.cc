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

bool Shared::EnterKey(const std::string& key, size_t limit) {
  const std::lock_guard lock(mutex_);
  size_t& count = per_key_[key];
  if (limit > 0 && count >= limit) return false;
  ++count;
  return true;
}

void Shared::LeaveKey(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto entry = per_key_.find(key);
  ASSAY_CHECK(entry != per_key_.end() && entry->second > 0);
  if (--entry->second == 0) per_key_.erase(entry);
}

Place::~Place() {
  if (shared_ == nullptr) return;
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

bool InflightBytes::Hold(size_t bytes) {
  if (bytes <= held_) return true;
  const size_t more = bytes - held_;
  if (shared_->inflight_bytes.fetch_add(more) + more > shared_->limits.inflight_bytes) {
    shared_->inflight_bytes.fetch_sub(more);
    return false;
  }
  held_ = bytes;
  return true;
}

void InflightBytes::Release() {
  shared_->inflight_bytes.fetch_sub(held_);
  held_ = 0;
}

}  // namespace assay::http
