#include "cli/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace assay {
namespace {

// What signals leave for the main thread. A handler instead of a blocked mask: the engine's
// processes inherit masks.
std::atomic<int> wake_fd{-1};
std::atomic<int> terminations{0};
std::atomic<bool> hangup{false};

void OnSignal(int number) {
  if (number == SIGHUP) {
    hangup.store(true);
  } else if (terminations.fetch_add(1) >= 2) {
    std::_Exit(128 + number);  // the third time: whatever it hangs on
  }
  Wake();
}

}  // namespace

void CatchSignals() {
  wake_fd.store(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(number, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int Terminations() { return terminations.load(); }

bool TakeHangup() { return hangup.exchange(false); }

void SleepUnlessWoken(Seconds limit) {
  pollfd wait{wake_fd.load(), POLLIN, 0};
  ::poll(&wait, 1, PollTimeout(DeadlineIn(limit)));
  uint64_t count = 0;
  if (::read(wake_fd.load(), &count, sizeof count) < 0) return;
}

void Wake() {
  const uint64_t one = 1;
  if (::write(wake_fd.load(), &one, sizeof one) < 0) return;
}

}  // namespace assay
