#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/jobs.h"

namespace assay {

/// Finished jobs that somebody may still ask for, the newest up to a number of bytes. Not
/// thread-safe.
class DoneCache {
 public:
  explicit DoneCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// What had to go for it: to be freed where nobody waits.
  std::vector<std::shared_ptr<const Job>> Put(std::shared_ptr<const Job> job);
  /// Null when it is not (any more) here.
  [[nodiscard]] std::shared_ptr<const Job> Find(const std::string& id) const;
  void Erase(const std::string& id);
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::shared_ptr<const Job> job;
    size_t bytes = 0;
  };

  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::unordered_map<std::string, Entry> jobs_;
  std::deque<std::string> order_;
};

/// Memory of a job, roughly.
size_t ApproximateBytes(const Job& job);

}  // namespace assay
