#include "cli/allocator.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#ifdef ASSAY_MIMALLOC
#include <mimalloc.h>
#else
#include <malloc.h>
#endif

namespace assay {

#ifdef ASSAY_MIMALLOC
namespace {

/// Asked of memory that was got in the ordinary ways: linked is not yet used.
bool OwnsHeap() {
  constexpr size_t kAny = 100;
  const std::unique_ptr<void, decltype(&std::free)> by_c(std::malloc(kAny), &std::free);
  const auto by_cpp = std::make_unique<std::string>(kAny, 'x');
  return mi_is_in_heap_region(by_c.get()) && mi_is_in_heap_region(by_cpp.get()) &&
         mi_is_in_heap_region(by_cpp->data());
}

}  // namespace

std::string AllocatorName() {
  if (!OwnsHeap()) return "libc (mimalloc is linked, but not in use)";
  const int version = mi_version();  // 209: 2.0.9
  return fmt::format("mimalloc {}.{}.{}", version / 100, version / 10 % 10, version % 10);
}

void TuneHeapsForServing() {}
#else
std::string AllocatorName() { return "libc"; }

void TuneHeapsForServing() {
  static_cast<void>(::mallopt(M_TOP_PAD, 1 << 20));
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, 8 << 20));
  static_cast<void>(::mallopt(M_MMAP_THRESHOLD, 4 << 20));
}
#endif

}  // namespace assay
