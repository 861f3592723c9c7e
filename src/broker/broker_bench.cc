// Throughput of the job service on this machine: `assay_broker_bench [FOLDER]`. Not a test.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "broker/broker_testing.h"
#include "broker/echo_runner.h"
#include "broker/runner_pool.h"

namespace assay {
namespace {

constexpr int kJobs = 10'000;

std::string Source() { return std::string(8000, 'x'); }

double RatePerSecond(int count, TimePoint start) {
  return count / Seconds(Clock::now() - start).count();
}

/// Durable submits from `threads` threads, each waiting for its own.
void Submits(const std::string& path, int threads) {
  BrokerOptions options;
  options.path = path;
  options.limits.max_queued = options.limits.max_queued_per_owner = size_t{2} * kJobs;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  std::atomic<int> next{0};
  const TimePoint start = Clock::now();
  std::vector<std::thread> clients;
  clients.reserve(static_cast<size_t>(threads));
  for (int t = 0; t < threads; ++t)
    clients.emplace_back([&] {
      for (int i = next++; i < kJobs; i = next++)
        if (!broker->Submit(test::Request(Source() + std::to_string(i))).ok()) std::abort();
    });
  for (std::thread& client : clients) client.join();
  fmt::print("submit, {:>3} threads waiting:  {:>9.0f}/s\n", threads, RatePerSecond(kJobs, start));
}

void SubmitsThen(const std::string& path) {
  BrokerOptions options;
  options.path = path;
  options.limits.max_queued = options.limits.max_queued_per_owner = size_t{2} * kJobs;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  std::atomic<int> kept{0};
  const TimePoint start = Clock::now();
  for (int i = 0; i < kJobs; ++i)
    broker->SubmitThen(test::Request(Source() + std::to_string(i)),
                       [&](const Result<SharedJob>& job) { kept += job.ok() ? 1 : 0; });
  while (kept < kJobs) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fmt::print("submit, one thread, no waiting: {:>7.0f}/s\n", RatePerSecond(kJobs, start));
}

/// Whole lives: submit, deliver, verdict, each durable.
void Lives(const std::string& path) {
  BrokerOptions options;
  options.path = path;
  options.limits.max_queued = options.limits.max_queued_per_owner = size_t{2} * kJobs;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  RunnerPool pool(broker.get(), {std::make_shared<EchoRunner>("echo", 32, Seconds(0))});
  std::atomic<int> kept{0};
  const TimePoint start = Clock::now();
  for (int i = 0; i < kJobs; ++i)
    broker->SubmitThen(test::Request(Source() + std::to_string(i)),
                       [&](const Result<SharedJob>&) { ++kept; });
  while (kept < kJobs || broker->Depth().queued > 0 || broker->Depth().running > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fmt::print("submit to verdict, 32 workers: {:>8.0f}/s\n", RatePerSecond(kJobs, start));
}

void Polls() {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  constexpr int kIds = 1000;
  std::vector<std::string> ids;
  ids.reserve(kIds);
  for (int i = 0; i < kIds; ++i)
    ids.push_back((*broker->Submit(test::Request(Source()))).request->id);
  constexpr int kPolls = 2'000'000;
  for (const bool copy : {false, true}) {
    const TimePoint start = Clock::now();
    for (int i = 0; i < kPolls; ++i) {
      const std::string& id = ids[static_cast<size_t>(i) % ids.size()];
      if (copy ? !broker->Get(id).ok() : !broker->Peek(id).ok()) std::abort();
    }
    fmt::print("{} of one thread:      {:>12.0f}/s\n", copy ? "Get " : "Peek",
               RatePerSecond(kPolls, start));
  }
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const fs::path folder = (argc > 1 ? fs::path(argv[1]) : fs::temp_directory_path()) /
                          ("assay_broker_bench_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  for (const int threads : {1, 16, 64}) {
    assay::Submits(folder / fmt::format("submit{}.db", threads), threads);
  }
  assay::SubmitsThen(folder / "then.db");
  assay::Lives(folder / "lives.db");
  assay::Polls();
  fs::remove_all(folder);
  return 0;
}
