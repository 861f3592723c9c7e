#include "arena/control_page.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace assay {
namespace {

// Long enough to catch an answer that is already on its way, short enough not to take a core from
// a candidate that computes on this machine's CPUs.
constexpr auto kSpin = std::chrono::microseconds(30);

long Futex(const std::atomic<uint32_t>& word, int operation, uint32_t value,
           const timespec* timeout) {
  return ::syscall(SYS_futex, &word, operation, value, timeout, nullptr, 0);
}

}  // namespace

Result<SharedControl> SharedControl::Create() {
  UniqueFd fd(::memfd_create("assay-control", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoError("memfd_create", errno);
  if (::ftruncate(fd.get(), sizeof(ControlPage)) != 0) return ErrnoError("ftruncate", errno);
  // Sealed in size: a candidate that shrinks the page would crash the worker with SIGBUS.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return ErrnoError("F_ADD_SEALS", errno);
  void* memory =
      ::mmap(nullptr, sizeof(ControlPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) return ErrnoError("mmap", errno);
  return SharedControl(std::move(fd), static_cast<ControlPage*>(memory));
}

SharedControl& SharedControl::operator=(SharedControl&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(page_, other.page_);
  return *this;
}

SharedControl::~SharedControl() {
  if (page_ != nullptr) ::munmap(page_, sizeof(ControlPage));
}

uint32_t WaitWhile(const std::atomic<uint32_t>& word, uint32_t value, TimePoint deadline) {
  const TimePoint spin_until = Clock::now() + kSpin;
  for (;;) {
    const uint32_t seen = word.load(std::memory_order_acquire);
    if (seen != value) return seen;
    const TimePoint now = Clock::now();
    if (now >= deadline) return seen;
    if (now < spin_until) {
      __builtin_ia32_pause();
      continue;
    }
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - now).count();
    const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    Futex(word, FUTEX_WAIT, value, &timeout);
  }
}

bool WaitWord(const std::atomic<uint32_t>& word, uint32_t value, TimePoint deadline) {
  uint32_t seen = word.load(std::memory_order_acquire);
  while (seen != value && Clock::now() < deadline) seen = WaitWhile(word, seen, deadline);
  return seen == value;
}

void PostWord(std::atomic<uint32_t>& word, uint32_t value) {
  word.store(value, std::memory_order_release);
  Futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

}  // namespace assay
