#include "broker/done_cache.h"

#include <utility>

namespace assay {
namespace {

size_t ApproximateBytes(const json::value& value) {
  size_t bytes = sizeof(json::value);
  if (value.is_string()) {
    bytes += value.get_string().capacity();
  } else if (value.is_array()) {
    for (const json::value& item : value.get_array()) bytes += ApproximateBytes(item);
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.get_object())
      bytes += key.size() + sizeof(json::key_value_pair) + ApproximateBytes(item);
  }
  return bytes;
}

}  // namespace

size_t ApproximateBytes(const Job& job) {
  size_t bytes = sizeof(Job) + job.request->source.size() + job.request->task_source.size();
  for (const json::object* object : {&job.request->options, &job.verdict})
    for (const auto& [key, item] : *object)
      bytes += key.size() + sizeof(json::key_value_pair) + ApproximateBytes(item);
  return bytes;
}

std::vector<std::shared_ptr<const Job>> DoneCache::Put(std::shared_ptr<const Job> job) {
  std::vector<std::shared_ptr<const Job>> gone;
  const std::string id = job->request->id;
  const size_t bytes = ApproximateBytes(*job);
  if (bytes > max_bytes_) return gone;
  if (!jobs_.emplace(id, Entry{std::move(job), bytes}).second)
    return gone;  // a finished job never changes
  order_.push_back(id);
  bytes_ += bytes;
  while (bytes_ > max_bytes_) {
    gone.push_back(Find(order_.front()));
    Erase(order_.front());
    order_.pop_front();
  }
  return gone;
}

void DoneCache::Erase(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;  // `order_` may name one that has gone
  bytes_ -= found->second.bytes;
  jobs_.erase(found);
}

std::shared_ptr<const Job> DoneCache::Find(const std::string& id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second.job;
}

}  // namespace assay
