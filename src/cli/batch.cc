#include "cli/batch.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/strings.h"
#include "cli/commands.h"

namespace assay {
namespace {

/// Ids that a former run has judged. A half-written last line (the run was killed) is cut off.
Result<std::set<std::string>> FinishedIds(const std::string& path) {
  std::set<std::string> ids;
  Result<std::string> text = ReadFile(path, 4ull << 30);
  if (!text.ok()) {
    if (text.error().code == ErrorCode::kNotFound) return ids;
    return text.error();
  }
  const size_t whole = text->rfind('\n') == std::string::npos ? 0 : text->rfind('\n') + 1;
  if (whole < text->size() && ::truncate(path.c_str(), static_cast<off_t>(whole)) != 0)
    return ErrnoError("cannot cut the half-written last line of '" + path + "'", errno);
  for (const std::string_view line : Split(std::string_view(*text).substr(0, whole), '\n')) {
    if (Trim(line).empty()) continue;
    Result<json::object> object = ParseJsonObject(line);
    // An infrastructure fault is no verdict: it is tried again.
    if (object.ok() && GetString(*object, "status") != "infra_error")
      ids.insert(GetString(*object, "id"));
  }
  return ids;
}

/// A row with what it has to have and nothing else: a misspelt member would otherwise be judged as
/// if it were not there.
Result<json::object> ReadRow(std::string_view line, const BatchOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(json::object row, ParseJsonObject(line));
  constexpr std::string_view kMembers[] = {"task", "source", "path", "id"};
  for (const auto& [key, value] : row) {
    if (std::find(std::begin(kMembers), std::end(kMembers), key) == std::end(kMembers))
      return Err(ErrorCode::kInvalid, "there is no member '{}' in a row; there are {}",
                 CleanText(TruncateMiddle(key, 100)), fmt::join(kMembers, ", "));
    if (!value.is_string())
      return Err(ErrorCode::kInvalid, "'{}' must be a string", CleanText(key));
  }
  if (!row.contains("task")) {
    if (options.default_task.empty())
      return Err(ErrorCode::kInvalid,
                 "'task' is missing: name it here, or for all rows with --task");
    row["task"] = options.default_task;
  }
  if (row.contains("source") == row.contains("path"))
    return Err(ErrorCode::kInvalid, "give 'source' or 'path'{}",
               row.contains("path") ? ", not both" : "");
  return row;
}

Result<Submission> ReadLine(std::string_view line, const BatchOptions& options,
                            TaskRegistry* registry) {
  ASSAY_ASSIGN_OR_RETURN(const json::object row, ReadRow(line, options));
  Submission submission;
  submission.time = options.time;
  submission.profile = options.profile;
  submission.ghost = options.ghost;
  submission.ncu = options.ncu;
  submission.sanitize = options.sanitize;
  submission.modes = options.modes;
  ASSAY_ASSIGN_OR_RETURN(submission.task, FindTask(registry, GetString(row, "task")));
  if (row.contains("path")) {
    ASSAY_ASSIGN_OR_RETURN(submission.source, ReadFile(GetString(row, "path"), 4u << 20));
  } else {
    submission.source = GetString(row, "source");
  }
  submission.id = GetString(row, "id");
  if (submission.id.empty())
    submission.id = "sub-" + Sha256Hex(submission.task->sha256 + submission.source).substr(0, 20);
  return submission;
}

Result<std::vector<Submission>> ReadBatch(const BatchOptions& options, TaskRegistry* registry,
                                          const std::set<std::string>& finished, size_t* skipped) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.input, 4ull << 30));
  std::vector<Submission> submissions;
  std::set<std::string> seen;
  int number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (Trim(line).empty()) continue;
    Result<Submission> submission = ReadLine(line, options, registry);
    if (!submission.ok())
      return Err(ErrorCode::kInvalid, "{}:{}: {}", options.input, number,
                 submission.error().message);
    if (!seen.insert(submission->id).second) {
      if (GetString(*ParseJsonObject(line), "id").empty()) continue;  // the same question twice
      return Err(ErrorCode::kInvalid, "{}:{}: the id '{}' occurs twice", options.input, number,
                 submission->id);
    }
    if (finished.contains(submission->id))
      ++*skipped;
    else
      submissions.push_back(*std::move(submission));
  }
  return submissions;
}

/// Verdicts out, a line each, and a progress line on the terminal.
class Sink {
 public:
  Sink(int fd, size_t total, bool show_progress)
      : fd_(fd), total_(total), show_progress_(show_progress) {}

  void Put(const Verdict& verdict, bool full) {
    const std::string line = json::serialize(ToJson(verdict, full)) + "\n";
    const std::lock_guard guard(mutex_);
    std::string_view left = line;
    while (!left.empty()) {
      const ssize_t n = ::write(fd_, left.data(), left.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        if (!failed_)
          fmt::print(stderr, "\nassay: {}\n", ErrnoError("cannot write a verdict", errno).message);
        failed_ = true;
        return;
      }
      left.remove_prefix(static_cast<size_t>(n));
    }
    ++done_;
    ++by_status_[std::string(ToString(verdict.status))];
    Show();
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] int Count(const std::string& status) const {
    const auto found = by_status_.find(status);
    return found == by_status_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::string Totals() const {
    std::string text;
    for (const auto& [status, count] : by_status_)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, status);
    return text;
  }

 private:
  void Show() {
    if (!show_progress_) return;
    const double elapsed = Seconds(Clock::now() - start_).count();
    const double left = elapsed / static_cast<double>(done_) * static_cast<double>(total_ - done_);
    const size_t width = 24 * done_ / total_;
    fmt::print(stderr, "\r\x1b[K[{}{}] {}/{}  {:.1f}/s  {:.0f} s left  {}", std::string(width, '#'),
               std::string(24 - width, '.'), done_, total_, static_cast<double>(done_) / elapsed,
               left, Totals());
  }

  const int fd_;
  const size_t total_;
  const bool show_progress_;
  const TimePoint start_ = Clock::now();
  std::mutex mutex_;
  size_t done_ = 0;
  bool failed_ = false;
  std::map<std::string, int> by_status_;
};

}  // namespace

int RunBatch(const BatchOptions& options, TaskRegistry* registry, EngineOptions engine_options) {
  std::set<std::string> finished;
  UniqueFd file;
  if (!options.output.empty()) {
    Result<std::set<std::string>> ids = FinishedIds(options.output);
    if (!ids.ok()) return Report(ids.error());
    finished = *std::move(ids);
    file =
        UniqueFd(::open(options.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!file.valid()) return Report(ErrnoError("cannot write '" + options.output + "'", errno));
  }
  size_t skipped = 0;
  Result<std::vector<Submission>> submissions = ReadBatch(options, registry, finished, &skipped);
  if (!submissions.ok()) return Report(submissions.error());
  if (skipped > 0)
    fmt::print(stderr, "assay: {} of {} submissions are already judged in {}\n", skipped,
               skipped + submissions->size(), options.output);
  if (submissions->empty()) return kExitOk;

  engine_options.device.limits.leases = static_cast<int>(submissions->size());
  Result<std::unique_ptr<Engine>> engine = Engine::Start(std::move(engine_options));
  if (!engine.ok()) return Report(engine.error());
  Sink sink(file.valid() ? file.get() : STDOUT_FILENO, submissions->size(), options.show_progress);
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(options.jobs));
  for (int i = 0; i < options.jobs; ++i)
    workers.emplace_back([&] {
      for (size_t index = next++; index < submissions->size() && !sink.failed(); index = next++)
        sink.Put((*engine)->Evaluate((*submissions)[index]), options.full);
    });
  for (std::thread& worker : workers) worker.join();
  fmt::print(stderr, "{}assay: {}\n", options.show_progress ? "\r\x1b[K" : "", sink.Totals());
  return sink.failed() || sink.Count("infra_error") > 0 ? kExitInfrastructure : kExitOk;
}

}  // namespace assay
