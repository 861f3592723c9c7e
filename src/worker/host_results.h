#pragma once

#include <sys/types.h>

#include <cstdint>

#include "worker/judge.h"

namespace assay {

/// Whether the kernel lets this process read the memory of another one (not under Yama's stricter
/// scopes, nor where a container's filter refuses process_vm_readv).
bool CanReadMemory(pid_t pid);

/// On the CPU results of timed rounds stay where a process has them. Copies those of one call out
/// of the stopped process `pid` into the outputs' memory, to the call's slot, and makes `results`
/// say so: what it says before are addresses. kInvalid: they do not stand where the process says;
/// kClosed: it has ended, or its first thread has; else it is the machine that failed.
Status TakeHostResults(const LaneArena& arena, pid_t pid, uint32_t slot, ResultPlaces* results);

}  // namespace assay
