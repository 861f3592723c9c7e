#include "native/region_pool.h"

namespace assay {

void RegionPool::Reset(uint64_t begin, size_t bytes) {
  const std::lock_guard guard(mutex_);
  used_.clear();
  free_.clear();
  if (bytes >= kAlignment) free_[begin] = bytes / kAlignment * kAlignment;
}

uint64_t RegionPool::Take(size_t bytes) {
  const std::lock_guard guard(mutex_);
  if (bytes > SIZE_MAX - kAlignment) return 0;
  bytes = bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [address, size] = *piece;
    if (size < bytes) continue;
    free_.erase(piece);
    if (size > bytes) free_[address + bytes] = size - bytes;
    used_[address] = bytes;
    return address;
  }
  return 0;
}

bool RegionPool::Give(uint64_t address) {
  const std::lock_guard guard(mutex_);
  const auto found = used_.find(address);
  if (found == used_.end()) return false;
  size_t bytes = found->second;
  used_.erase(found);
  auto after = free_.lower_bound(address);
  if (after != free_.end() && after->first == address + bytes) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == address) {
      before->second += bytes;
      return true;
    }
  }
  free_[address] = bytes;
  return true;
}

}  // namespace assay
