#include "worker/host_results.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/json.h"

namespace assay {
namespace {

constexpr size_t kPiece = 1u << 20;  // what is copied at once: it stays in a core's cache

/// Copies `size` bytes at `address` of a process into a file.
Status CopyOut(pid_t pid, uint64_t address, size_t size, int fd, uint64_t offset,
               std::vector<char>* piece) {
  while (size > 0) {
    iovec here = {piece->data(), std::min(size, piece->size())};
    const iovec there = {reinterpret_cast<void*>(address), here.iov_len};
    const ssize_t read = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (read < 0 && errno == ESRCH)
      return Err(ErrorCode::kClosed, "the process has no memory any more");
    if (read < 0 && errno != EFAULT && errno != EPERM) return ErrnoError("process_vm_readv", errno);
    if (read <= 0)
      return Err(ErrorCode::kInvalid,
                 "an output is said to stand at {:#x}, where the process has no memory that can be "
                 "read",
                 address);
    const ssize_t written =
        ::pwrite(fd, piece->data(), static_cast<size_t>(read), static_cast<off_t>(offset));
    if (written <= 0) return ErrnoError("cannot write outputs", errno);
    address += static_cast<uint64_t>(written);
    offset += static_cast<uint64_t>(written);
    size -= static_cast<size_t>(written);
  }
  return {};
}

}  // namespace

bool CanReadMemory(pid_t pid) {
  char byte = 0;
  const iovec here = {&byte, 1};
  const iovec nowhere = {nullptr, 1};
  // The right is looked at before the address.
  return ::process_vm_readv(pid, &here, 1, &nowhere, 1, 0) < 0 && errno == EFAULT;
}

Status TakeHostResults(const LaneArena& arena, pid_t pid, uint32_t slot, ResultPlaces* results) {
  const json::object& plan = GetObject(arena.load, "plan");
  const json::array& places = GetArray(plan, "output_places");
  const json::array& sizes = GetArray(plan, "output_sizes");
  ASSAY_CHECK(places.size() == sizes.size() && places.size() == results->places.size());
  const auto begin = static_cast<uint64_t>(GetInt(plan, "output_bytes")) * slot;
  std::vector<char> piece;
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t& place = results->places[i];
    if (place < 0) continue;  // copied by the process itself
    piece.resize(kPiece);
    const uint64_t target = begin + static_cast<uint64_t>(GetInt(places[i].get_object(), "offset"));
    ASSAY_RETURN_IF_ERROR(CopyOut(pid, static_cast<uint64_t>(place), sizes[i].to_number<size_t>(),
                                  arena.outputs.get(), target, &piece));
    place = static_cast<int64_t>(target);
  }
  return {};
}

}  // namespace assay
