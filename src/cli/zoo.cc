#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "base/process.h"
#include "base/resource.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/zoo_entry.h"
#include "task/repair.h"
#include "worker/engine.h"

namespace assay {
namespace {

// A submission that never ends costs its deadline. These are far above what the collections' small
// tasks need on a busy machine, and far below the defaults, which leave room for real ones.
constexpr double kLoadLimit = 30;
constexpr double kCallLimit = 10;
// A submission that fills memory is part of the collections: less than machines have, more than a
// compiler with its workers needs.
constexpr uint64_t kMemoryLimit = 8ull << 30;

// How often a time that seems wrong is taken again, alone. Honest work beside compilers on all
// cores was seen at nine times its speed, in one run of twelve.
constexpr int kRepeatsCpu = 3;
constexpr int kRepeatsCuda = 1;

uint64_t MemoryLimit() {
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(kMemoryLimit, pages * page / 8);
}

struct Options {
  std::string folder;
  std::vector<std::string> only;
  std::string python;
  std::string device = "auto";
  std::string verdicts;
  std::string require_sandbox = "none";
  Limits limits;
  int jobs = 0;
  bool as_json = false;
  bool fast = false;
  bool list = false;
};

const char* NameOf(Collection collection) {
  return collection == Collection::kZoo ? "zoo" : "honest";
}

/// `*` stands for any text; without one a part of the name is enough.
bool Fits(std::string_view name, std::string_view pattern) {
  if (pattern.find('*') == std::string_view::npos)
    return name.find(pattern) != std::string_view::npos;
  const std::vector<std::string_view> parts = Split(pattern, '*');
  if (!name.starts_with(parts.front())) return false;
  size_t at = parts.front().size();
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    at = name.find(parts[i], at);
    if (at == std::string_view::npos) return false;
    at += parts[i].size();
  }
  return name.size() >= at + parts.back().size() && name.ends_with(parts.back());
}

/// The task of an entry as FindTask() takes it: the path of a .py file is relative to the entry's
/// folder, so that a collection is the same from wherever it is judged.
std::string TaskOf(const ZooEntry& entry) {
  std::string task = entry.Get("Task", false);
  if (!SplitVariant(task).original.ends_with(".py")) return task;
  return (std::filesystem::path(entry.path).parent_path() / task).string();
}

/// Runs one collection through one engine.
class Run {
 public:
  Run(const Options& options, Collection collection)
      : options_(options), collection_(collection), python_(ChoosePython(options.python)) {}

  int Execute();

 private:
  Status Select();
  Status Start();
  void JudgeAll();
  void MeasureAgain();
  void Evaluate(ZooRow* row);
  void Judge(ZooRow* row);
  [[nodiscard]] std::string WhyNotHere(const ZooEntry& entry);
  [[nodiscard]] ZooRow* Find(const std::string& name);
  [[nodiscard]] int Count(ZooOutcome outcome) const;
  [[nodiscard]] json::object ToDocument() const;
  void PrintTable() const;
  void Progress(const char* note);

  const Options& options_;
  const Collection collection_;
  const std::string python_;
  std::vector<ZooEntry> entries_;
  std::vector<ZooRow> rows_;
  std::optional<TaskRegistry> registry_;
  std::vector<std::shared_ptr<const Task>> tasks_;  // of each row
  std::unique_ptr<Engine> engine_;
  std::map<std::string, bool> found_;  // what `Needs:` named
  std::mutex mutex_;
  size_t done_ = 0;
  FILE* verdicts_ = nullptr;
};

/// Reads the collection and takes the wanted entries, with the twins that they are measured
/// against.
Status Run::Select() {
  std::string folder = options_.folder;
  if (folder.empty()) {
    ASSAY_ASSIGN_OR_RETURN(folder, FindResource(fmt::format("tests/{}", NameOf(collection_))));
  }
  ASSAY_ASSIGN_OR_RETURN(entries_, ReadZoo(folder, collection_));
  std::set<std::string> names;
  for (const ZooEntry& entry : entries_) names.insert(entry.name);
  std::set<std::string> wanted;
  for (const ZooEntry& entry : entries_) {
    const bool named =
        options_.only.empty() ||
        std::any_of(options_.only.begin(), options_.only.end(), [&](const std::string& only) {
          return names.contains(only) ? only == entry.name : Fits(entry.name, only);
        });
    if (!named || (options_.fast && entry.Get("Slow", false) == "yes")) continue;
    wanted.insert(entry.name);
  }
  if (wanted.empty())
    return Err(ErrorCode::kInvalid, "no submission in '{}' is called {}", folder,
               Join(options_.only, " or "));
  std::set<std::string> twins;
  for (const ZooEntry& entry : entries_)
    for (const bool cuda : {false, true})
      if (const std::string twin = entry.Get("Twin", cuda);
          !twin.empty() && wanted.contains(entry.name))
        twins.insert(twin);
  wanted.insert(twins.begin(), twins.end());
  ASSAY_ASSIGN_OR_RETURN(TaskRegistry registry, OpenTasks({}, python_));
  registry_ = std::move(registry);
  // What takes longest comes first, so that nothing is waited for at the end; twins come last, and
  // so show that the engine has survived the others.
  const auto rank = [&](const ZooEntry& entry) {
    if (twins.contains(entry.name)) return 2;
    const bool slow = entry.Get("Slow", false) == "yes" ||
                      entry.Get("Expect", false).find("timeout") != std::string::npos;
    return slow ? 0 : 1;
  };
  for (int turn = 0; turn < 3; ++turn)
    for (const ZooEntry& entry : entries_) {
      if (!wanted.contains(entry.name) || rank(entry) != turn) continue;
      rows_.emplace_back().entry = &entry;
      Result<std::shared_ptr<const Task>> task = FindTask(&*registry_, TaskOf(entry));
      if (!task.ok()) return Err(ErrorCode::kInvalid, "{}: {}", entry.path, task.error().message);
      tasks_.push_back(*task);
    }
  return {};
}

Status Run::Start() {
  EngineOptions engine;
  engine.device.python = python_;
  engine.device.device = options_.device;
  engine.device.limits = options_.limits;
  ASSAY_ASSIGN_OR_RETURN(engine.device.require_sandbox,
                         ParseSandboxLevel(options_.require_sandbox));
  engine.device.limits.pool = std::max(2, options_.jobs);
  ASSAY_ASSIGN_OR_RETURN(engine_, Engine::Start(std::move(engine)));
  return {};
}

std::string Run::WhyNotHere(const ZooEntry& entry) {
  const bool cuda = engine_->device().cuda();
  const std::string device = entry.Get("Device", cuda);
  if (device == "cuda" && !cuda) return "needs a CUDA device";
  if (device == "cpu" && cuda) return "for the CPU only";
  const std::string needs = entry.Get("Needs", cuda);
  for (const std::string_view word : Split(needs, ' ')) {
    const std::string need(Trim(word));
    if (need.empty()) continue;
    auto [known, first] = found_.try_emplace(need, false);
    if (first && need.starts_with("python:")) {
      Result<CommandOutput> output =
          RunCommand({python_, "-c",
                      "import importlib.util, sys; "
                      "sys.exit(importlib.util.find_spec(sys.argv[1]) is None)",
                      need.substr(7)},
                     Seconds(60));
      known->second = output.ok() && output->status.code == 0 && output->status.signal == 0;
    } else if (first) {
      known->second = FindProgram(need).ok();
    }
    if (!known->second) return fmt::format("needs {}, which is not installed", need);
  }
  return "";
}

ZooRow* Run::Find(const std::string& name) {
  const auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const ZooRow& row) { return row.entry->name == name; });
  return found == rows_.end() ? nullptr : &*found;
}

void Run::Evaluate(ZooRow* row) {
  Submission submission;
  submission.id = NewId(row->entry->name + "-");
  submission.task = tasks_[static_cast<size_t>(row - rows_.data())];
  submission.source = row->entry->source;
  submission.time = row->entry->Get("Run", engine_->device().cuda()) != "check";
  const TimePoint start = Clock::now();
  row->verdict = engine_->Evaluate(std::move(submission));
  row->seconds = MillisecondsSince(start) / 1e3;
}

void Run::Judge(ZooRow* row) {
  const bool cuda = engine_->device().cuda();
  const ZooRow* twin = Find(row->entry->Get("Twin", cuda));
  JudgeRow(row, twin != nullptr && twin->verdict ? &*twin->verdict : nullptr, cuda);
}

void Run::Progress(const char* note) {
  if (options_.as_json || ::isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r\x1b[K{}/{}  {}", done_, rows_.size(), note);
}

void Run::JudgeAll() {
  for (ZooRow& row : rows_) row.why = WhyNotHere(*row.entry);
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;
  const int jobs = options_.jobs > 0 ? options_.jobs : engine_->device().cuda() ? 8 : 2;
  workers.reserve(static_cast<size_t>(jobs));
  for (int i = 0; i < jobs; ++i)
    workers.emplace_back([&] {
      for (size_t index = next++; index < rows_.size(); index = next++) {
        ZooRow& row = rows_[index];
        if (row.why.empty()) Evaluate(&row);
        const std::lock_guard guard(mutex_);
        ++done_;
        Progress(row.entry->name.c_str());
        if (verdicts_ == nullptr || !row.verdict) continue;
        fmt::print(verdicts_, "{}\n", json::serialize(ToJson(*row.verdict, true)));
        std::fflush(verdicts_);
      }
    });
  for (std::thread& worker : workers) worker.join();
  for (ZooRow& row : rows_)
    if (row.verdict) Judge(&row);
}

/// A time that is wrong once may be a disturbance of a shared machine; a hole pays every time.
void Run::MeasureAgain() {
  const bool cuda = engine_->device().cuda();
  const int repeats = cuda ? kRepeatsCuda : kRepeatsCpu;
  for (ZooRow& row : rows_) {
    ZooRow* twin = Find(row.entry->Get("Twin", cuda));
    for (int i = 0; i < repeats; ++i) {
      if (!row.verdict || row.why.empty() || row.verdict->speedup.value <= 0) break;
      Progress("measuring again");
      Evaluate(&row);
      if (twin != nullptr && twin->verdict) Evaluate(twin);
      Judge(&row);
    }
  }
}

int Run::Count(ZooOutcome outcome) const {
  return static_cast<int>(std::count_if(rows_.begin(), rows_.end(),
                                        [&](const ZooRow& row) { return row.outcome == outcome; }));
}

std::string Speed(const Verdict& verdict) {
  return verdict.correct && verdict.speedup.value > 0
             ? fmt::format(" {:.2f}x", verdict.speedup.value)
             : "";
}

std::string Got(const ZooRow& row) {
  if (!row.verdict) return "-";
  const Verdict& verdict = *row.verdict;
  std::string text(ToString(verdict.status));
  if (verdict.correct) return text + Speed(verdict);
  return fmt::format("{} ({})", text, verdict.error.name);
}

void Run::PrintTable() const {
  const bool cuda = engine_->device().cuda();
  size_t width = 4;
  for (const ZooRow& row : rows_) width = std::max(width, row.entry->name.size());
  std::vector<const ZooRow*> sorted;
  for (const ZooRow& row : rows_) sorted.push_back(&row);
  std::sort(sorted.begin(), sorted.end(),
            [](const ZooRow* a, const ZooRow* b) { return a->entry->name < b->entry->name; });
  fmt::print("{:<{}}  {:<40}  {:<38}  {:>5}  {}\n", "name", width, "expected", "got", "s", "ok");
  for (const ZooRow* row : sorted) {
    fmt::print("{:<{}}  {:<40}  {:<38}  {:>5.1f}  {}\n", row->entry->name, width,
               TruncateMiddle(row->entry->Get("Expect", cuda), 60), Got(*row), row->seconds,
               ToString(row->outcome));
    if (row->outcome == ZooOutcome::kSkipped) fmt::print("{:<{}}  {}\n", "", width, row->why);
  }
  for (const ZooRow* row : sorted)
    if (row->outcome != ZooOutcome::kRight && row->outcome != ZooOutcome::kSkipped)
      fmt::print("\n{} {}: {}\n  {}\n  {}\n", ToString(row->outcome), row->entry->name,
                 row->entry->title, row->entry->path, row->why);
  fmt::print("\n{} on {}: {} right, {} wrong, {} known to be wrong, {} skipped\n",
             NameOf(collection_), cuda ? "cuda" : "cpu", Count(ZooOutcome::kRight),
             Count(ZooOutcome::kWrong) + Count(ZooOutcome::kMended), Count(ZooOutcome::kKnown),
             Count(ZooOutcome::kSkipped));
}

json::object Run::ToDocument() const {
  const bool cuda = engine_->device().cuda();
  json::array entries;
  for (const ZooRow& row : rows_) {
    json::object line{{"name", row.entry->name},
                      {"title", row.entry->title},
                      {"path", row.entry->path},
                      {"task", row.entry->Get("Task", cuda)},
                      {"expected", row.entry->Get("Expect", cuda)},
                      {"outcome", ToString(row.outcome)},
                      {"why", row.why},
                      {"seconds", std::round(row.seconds * 1e3) / 1e3}};
    if (row.verdict) {
      const Verdict& verdict = *row.verdict;
      line["status"] = ToString(verdict.status);
      line["error_kind"] = ToString(verdict.error.kind);
      line["error_name"] = CleanText(verdict.error.name);
      line["error_message"] = TruncateMiddle(CleanText(verdict.error.message), 1000);
      line["flags"] = json::value_from(verdict.flags);
      if (!verdict.correct) line["correctness"] = ToJson(verdict, false).at("correctness");
      if (verdict.correct && verdict.speedup.value > 0)
        line["speedup"] =
            json::array{verdict.speedup.value, verdict.speedup.low, verdict.speedup.high};
    }
    entries.push_back(std::move(line));
  }
  return {{"schema", "assay.zoo/1"},
          {"collection", NameOf(collection_)},
          {"device", cuda ? "cuda" : "cpu"},
          {"right", Count(ZooOutcome::kRight)},
          {"wrong", Count(ZooOutcome::kWrong) + Count(ZooOutcome::kMended)},
          {"known", Count(ZooOutcome::kKnown)},
          {"skipped", Count(ZooOutcome::kSkipped)},
          {"environment", engine_->device().environment()},
          {"entries", std::move(entries)}};
}

int Run::Execute() {
  if (Status status = Select(); !status.ok()) return Report(status.error());
  if (options_.list) {
    for (const ZooRow& row : rows_) fmt::print("{}\t{}\n", row.entry->name, row.entry->title);
    return kExitOk;
  }
  if (!options_.verdicts.empty()) {
    verdicts_ = std::fopen(options_.verdicts.c_str(), "we");
    if (verdicts_ == nullptr)
      return Report(ErrnoError("cannot write '" + options_.verdicts + "'", errno));
  }
  Progress("starting the engine");
  if (Status status = Start(); !status.ok()) return Report(status.error());
  JudgeAll();
  MeasureAgain();
  if (!options_.as_json && ::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
  if (verdicts_ != nullptr && std::fclose(verdicts_) != 0)
    return Report(ErrnoError("cannot write '" + options_.verdicts + "'", errno));
  if (options_.as_json)
    fmt::print("{}\n", json::serialize(ToDocument()));
  else
    PrintTable();
  const int wrong = Count(ZooOutcome::kWrong) + Count(ZooOutcome::kMended);
  return wrong == 0 ? kExitOk : kExitNotCorrect;
}

void AddCollection(CLI::App* app, Collection collection, const char* description, int* exit_code) {
  auto options = std::make_shared<Options>();
  options->limits.load_s = kLoadLimit;
  options->limits.call_s = kCallLimit;
  options->limits.memory_bytes = MemoryLimit();
  const std::string name = NameOf(collection);
  CLI::App* command = app->add_subcommand(name, description);
  command->add_option("folder", options->folder,
                      "folder of submissions with headers (default: tests/" + name + ")");
  command->add_option("--only", options->only,
                      "this name, or all that contain it, or fit it where it has a *; repeatable");
  command->add_option("--device", options->device, "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--python", options->python,
                      "interpreter with torch >= 2.6 (default: the active environment's)");
  command
      ->add_option("--jobs", options->jobs,
                   "submissions judged at once (default: 8 on a GPU, 2 without)")
      ->check(CLI::Range(1, 64));
  command->add_option("--require-sandbox", options->require_sandbox,
                      "refuse less than: none, limits, filtered, isolated, full");
  command->add_option("--verdicts", options->verdicts, "file for the full verdicts, as JSONL");
  command->add_flag("--fast", options->fast, "leave out what is marked slow");
  command->add_flag("--list", options->list, "names and titles only; judges nothing");
  command->add_flag("--json", options->as_json, "print the assay.zoo/1 document");
  command->footer(fmt::format(
      "Exit codes: 0 every verdict is right, 1 one is wrong, 2 wrong usage, 3 infrastructure.\n"
      "Examples:\n"
      "  assay {0}\n"
      "  assay {0} --only '{1}' --device cpu\n"
      "  assay {0} --device cuda --jobs 8 --json",
      name, collection == Collection::kZoo ? "memo_by_*" : "dropout_*"));
  command->callback(
      [options, collection, exit_code] { *exit_code = Run(*options, collection).Execute(); });
}

}  // namespace

void AddZoo(CLI::App* app, int* exit_code) {
  AddCollection(app, Collection::kZoo,
                "Judge the collection of hostile submissions: none may be paid", exit_code);
  AddCollection(app, Collection::kHonest,
                "Judge the collection of honest submissions: all must be judged right", exit_code);
}

}  // namespace assay
