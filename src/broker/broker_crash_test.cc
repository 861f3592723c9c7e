// The service is killed at random moments. Whatever it told its clients must be true afterwards.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <random>
#include <thread>

#include "base/hash.h"
#include "base/strings.h"
#include "broker/broker_testing.h"
#include "broker/runner_pool.h"

namespace assay {
namespace {

/// A verdict with a number of its own, so that a second judging of a job would show.
std::shared_ptr<JobRunner> NumberingRunner() {
  return std::make_shared<test::ScriptedRunner>(
      [](const JobRequest& request, const JobRunner::Stage& stage,
         const CancelFlag&) -> Result<json::object> {
        stage("check");
        if (std::hash<std::string>()(request.id) % 3 == 0)
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return test::VerdictDocument(request, "incorrect", NewId("v"));
      },
      3);
}

std::unique_ptr<Broker> OpenAt(const std::string& path) {
  BrokerOptions options;
  options.path = path;
  return test::OpenBroker(std::move(options));
}

std::string NumberOf(const Job& job) {
  return GetString(GetObject(job.verdict, "error"), "message");
}

/// One life of the service: takes jobs until it is killed, and says what clients were told.
[[noreturn]] void Serve(const std::string& path, int life, int out) {
  std::unique_ptr<Broker> broker = OpenAt(path);
  const auto say = [out](const std::string& line) {
    // Short enough to be atomic on a pipe.
    if (::write(out, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(1);
  };
  RunnerPool pool(broker.get(), {NumberingRunner()});
  std::vector<std::thread> clients;
  clients.reserve(3);
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> handles;
  for (int client = 0; client < 3; ++client)
    clients.emplace_back([&, client] {
      for (int i = 0;; ++i) {
        JobRequest request = test::Request("source " + std::to_string(i % 5));
        request.id = fmt::format("j{}-{}-{}", life, client, i);
        request.idempotency = request.id;
        Result<Job> job = broker->Submit(request);
        if (!job.ok()) ::_exit(2);
        say("A " + request.id + "\n");
        auto handle = broker->WhenDone(request.id, [&](const Job& done) {
          say("V " + done.request->id + " " + NumberOf(done) + "\n");
        });
        if (i % 11 == 3 && !broker->Cancel(request.id).ok()) ::_exit(3);
        const std::lock_guard guard(mutex);
        handles.push_back(*std::move(handle));
      }
    });
  for (;;) ::pause();
}

TEST(BrokerCrash, EveryAcceptedJobHasExactlyOneVerdict) {
  const test::TempFolder folder;
  const std::string path = folder.File("s.db");
  std::mt19937 random(20240229);
  std::map<std::string, std::string> told;  // id to the verdict that a client saw, or ""
  for (int life = 0; life < 12; ++life) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      Serve(path, life, ends[1]);
    }
    ::close(ends[1]);
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(20'000 + random() % 230'000));
      ::kill(child, SIGKILL);
    });
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(n));
    killer.join();
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
    for (const std::string_view line : Split(text, '\n')) {
      const std::vector<std::string_view> words = Split(line, ' ');
      if (words.size() < 2) continue;
      std::string& verdict = told[std::string(words[1])];
      if (words[0] != "V") continue;
      const std::string number(line.substr(3 + words[1].size()));
      ASSERT_TRUE(verdict.empty() || verdict == number) << words[1] << " ended twice";
      verdict = number;
    }
  }
  ASSERT_GT(told.size(), 50U);

  const std::unique_ptr<Broker> broker = OpenAt(path);
  RunnerPool pool(broker.get(), {NumberingRunner()});
  ASSERT_TRUE(test::Eventually([&] {
    const QueueDepth depth = broker->Depth();
    return depth.queued == 0 && depth.running == 0;
  }));
  size_t seen = 0;
  for (const auto& [id, verdict] : told) {
    const Result<Job> job = broker->Get(id);
    ASSERT_TRUE(job.ok()) << id << " was accepted and is lost";
    ASSERT_EQ((*job).state, JobState::kDone) << id;
    ASSERT_FALSE(test::StatusOf(*job).empty());
    if (verdict.empty()) continue;
    ++seen;
    EXPECT_EQ(NumberOf(*job), verdict) << id << " was judged twice";
  }
  EXPECT_GT(seen, 20U);
}

}  // namespace
}  // namespace assay
