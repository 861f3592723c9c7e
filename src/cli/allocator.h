#pragma once

#include <string>

namespace assay {

/// The allocator that malloc() and operator new of this process really use: "mimalloc 2.0.9", or
/// "libc".
std::string AllocatorName();

/// Suits the heaps to a busy server, whose threads' grow and shrink by much at once: a call into
/// the kernel for every few pages is a twentieth of its time. Only the C library's have such knobs;
/// where mimalloc is linked this does nothing. Call it before there are threads.
void TuneHeapsForServing();

}  // namespace assay
