#pragma once

#include <sys/types.h>

#include <vector>

#include "base/process.h"

namespace assay {

/// All living descendants of `pid`. Complete when `pid` and they are stopped.
std::vector<pid_t> Descendants(pid_t pid);

/// Tells a child of ours to stop, and waits for nothing.
void SendStop(int pidfd);

/// Stops a child of ours (known by number and pidfd) and, if `with_children`, everything below it:
/// when this returns, none of them can run until it is continued. Returns how many descendants were
/// stopped. kTimeout if a thread cannot be stopped (it hangs in the kernel), kClosed if the process
/// ended.
/// `stopped`, if not null: when the last of them was seen stopped; what looking for descendants
/// takes is not in it where there are none.
Result<int> StopTree(pid_t pid, int pidfd, bool with_children, TimePoint deadline,
                     TimePoint* stopped = nullptr);

/// Lets the process itself run again, and its descendants if `with_children`.
void ContinueTree(pid_t pid, int pidfd, bool with_children);

/// Nanoseconds that all descendants of `pid` have run so far. While they are stopped it stands
/// still.
uint64_t RunTimeNs(pid_t pid);

/// Whether the kernel is ending `pid`, or has ended it.
bool IsEnding(pid_t pid);

/// Takes the news of a child that it has stopped or gone on; false when there is none. After it was
/// taken from a stopped child, new news means that the child has run.
bool ConsumeStop(int pidfd);

/// Resident bytes of a process and its descendants (pages shared by fork are counted in each).
uint64_t ResidentBytes(pid_t pid);

/// The same of their private memory alone: without files and without what is shared with others.
uint64_t PrivateBytes(pid_t pid);

}  // namespace assay
