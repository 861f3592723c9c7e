#include "rl/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

namespace assay::rl {
namespace {

/// Small enough to balance, large enough that taking a range costs nothing beside doing it.
constexpr int64_t kTokensPerRange = int64_t{1} << 17U;

std::atomic<int> g_threads{0};

}  // namespace

int Threads() {
  if (const int threads = g_threads.load(std::memory_order_relaxed); threads > 0) return threads;
  if (const char* text = std::getenv("ASSAY_RL_THREADS"); text != nullptr) {
    if (const int threads = std::atoi(text); threads > 0) return threads;  // NOLINT(cert-err34-c)
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void SetThreads(int threads) { g_threads.store(std::max(0, threads), std::memory_order_relaxed); }

void ForRows(std::span<const int64_t> offsets, const std::function<void(size_t, size_t)>& work) {
  const size_t rows = offsets.size() - 1;
  const int64_t tokens = offsets.back();
  // Rows without tokens still cost something; 16 stands for the bookkeeping of one.
  const auto ranges =
      static_cast<size_t>((tokens + 16 * static_cast<int64_t>(rows)) / kTokensPerRange + 1);
  const auto cut = [&](size_t i) -> size_t {
    if (i == 0) return 0;
    if (i == ranges) return rows;
    if (tokens == 0) return rows * i / ranges;
    const auto position = static_cast<int64_t>(
        static_cast<double>(tokens) * static_cast<double>(i) / static_cast<double>(ranges));
    return static_cast<size_t>(std::ranges::lower_bound(offsets.first(rows), position) -
                               offsets.begin());
  };
  std::atomic<size_t> next{0};
  const auto drain = [&] {
    for (size_t i = next.fetch_add(1); i < ranges; i = next.fetch_add(1)) {
      const size_t begin = cut(i);
      const size_t end = cut(i + 1);
      if (begin < end) work(begin, end);
    }
  };
  const size_t helpers = std::min<size_t>(static_cast<size_t>(Threads()), ranges) - 1;
  std::vector<std::thread> threads;
  threads.reserve(helpers);
  for (size_t i = 0; i < helpers; ++i) {
    try {
      threads.emplace_back(drain);
    } catch (const std::system_error&) {
      break;  // the system has no thread to give; the ones there are do the work
    }
  }
  drain();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace assay::rl
