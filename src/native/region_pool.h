#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace assay {

/// Hands out pieces of one region of memory, first fit, and joins what comes back. It keeps books
/// only and never touches the memory, which may be a GPU's. Thread-safe.
class RegionPool {
 public:
  static constexpr size_t kAlignment = 512;  ///< of addresses relative to the region's begin

  /// Begins anew with a region; 0 bytes: none. Pieces of the former region are forgotten.
  void Reset(uint64_t begin, size_t bytes);

  /// Address of a free piece of at least `bytes`; 0 when there is none.
  uint64_t Take(size_t bytes);

  /// Takes a piece back. False when `address` is not the begin of a piece that was handed out.
  bool Give(uint64_t address);

 private:
  std::mutex mutex_;
  std::map<uint64_t, size_t> free_;  ///< by address; neighbours are always joined
  std::map<uint64_t, size_t> used_;
};

}  // namespace assay
