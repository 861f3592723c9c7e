#pragma once

#include <string>

namespace assay {

/// The allocator that malloc() and operator new of this process really use: "mimalloc 2.0.9", or
/// "libc".
std::string AllocatorName();

}  // namespace assay
