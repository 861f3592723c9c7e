#include "broker/store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/strings.h"
#include "broker/engine_runner.h"
#include "broker/export.h"
#include "broker/replay.h"
#include "cli/commands.h"
#include "reward/reward.h"
#include "roofline/bounds_file.h"
#include "verdict/verdict.h"

// Commands over a server's store. They read it beside a running server, and judge nothing in it.

namespace assay {
namespace {

struct Options {
  std::string store;
  std::string owner;
  std::string task;
  std::string status;
  // replay
  std::string id;
  std::vector<std::string> specs;
  std::string python;
  std::string device = "auto";
  std::string require_sandbox = "none";
  std::string secret_file;
  bool as_json = false;
  // rescore
  std::string mode;
  std::vector<std::string> settings;
  std::string bounds;
  // export
  std::string format = "jsonl";
  std::string output;
  bool raw = false;
  bool all = false;
};

JobQuery QueryOf(const Options& options) {
  JobQuery query;
  query.owner = options.owner;
  query.task_id = options.task;
  query.status = options.status;
  if (!options.all) query.state = JobState::kDone;
  return query;
}

/// Standard output, or a file that appears whole or not at all. A pipe or a device is written as it
/// is.
class Output {
 public:
  static Result<std::unique_ptr<Output>> Open(const std::string& path) {
    struct stat status {};
    const bool special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
    const std::string written = special ? path : path + ".part";
    std::FILE* file = path.empty() ? stdout : std::fopen(written.c_str(), "we");
    if (file == nullptr) return ErrnoError("cannot write '" + path + "'", errno);
    return std::unique_ptr<Output>(new Output(path, special ? "" : written, file));
  }
  ~Output() {
    if (path_.empty() || finished_) return;
    std::fclose(file_);
    if (!part_.empty()) std::remove(part_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// False once nothing more can be written (the disk is full, the reader has gone).
  bool Line(const json::object& object) {
    const std::string text = json::serialize(object) + "\n";
    return std::fwrite(text.data(), 1, text.size(), file_) == text.size();
  }
  Status Finish() {
    if (std::fflush(file_) != 0 || std::ferror(file_) != 0)
      return ErrnoError("cannot write '" + (path_.empty() ? "standard output" : path_) + "'",
                        errno);
    if (path_.empty() || part_.empty()) return {};
    if (::fsync(::fileno(file_)) != 0) return ErrnoError("cannot write '" + path_ + "'", errno);
    finished_ = true;  // closed, whatever comes of it
    if (std::fclose(file_) == 0 && std::rename(part_.c_str(), path_.c_str()) == 0) return {};
    const Error error = ErrnoError("cannot write '" + path_ + "'", errno);
    std::remove(part_.c_str());
    return error;
  }

 private:
  Output(std::string path, std::string part, std::FILE* file)
      : path_(std::move(path)), part_(std::move(part)), file_(file) {}

  const std::string path_;
  const std::string part_;  ///< what becomes the file; empty for a pipe or a device
  std::FILE* const file_;
  bool finished_ = false;
};

int Export(const Options& options) {
  Result<std::unique_ptr<Store>> store = Store::Open(options.store, Store::Mode::kRead);
  if (!store.ok()) return Report(store.error());
  Result<std::unique_ptr<Output>> output = Output::Open(options.output);
  if (!output.ok()) return Report(output.error());
  size_t rows = 0;
  const Status read = (*store)->ForEach(QueryOf(options), [&](const StoredJob& stored) {
    ++rows;
    return (*output)->Line(ExportRow(stored.job, options.raw));
  });
  if (!read.ok()) return Report(read.error());
  if (const Status written = (*output)->Finish(); !written.ok()) return Report(written.error());
  fmt::print(stderr, "assay: {} submissions\n", rows);
  return kExitOk;
}

int Rescore(const Options& options) {
  const Result<json::object> parameters = ParseSettings(options.settings);
  if (!parameters.ok()) return Report(parameters.error());
  const std::string mode = options.mode.empty() ? RewardModes().front().name : options.mode;
  // An unknown mode or parameter is told once, not for every row.
  if (const Result<RewardRange> range = RangeOf(mode, *parameters); !range.ok())
    return Report(range.error());
  const Result<BoundsFile> bounds =
      options.bounds.empty() ? Result<BoundsFile>(BoundsFile()) : BoundsFile::Load(options.bounds);
  if (!bounds.ok()) return Report(bounds.error());
  Result<std::unique_ptr<Store>> store = Store::Open(options.store, Store::Mode::kRead);
  if (!store.ok()) return Report(store.error());
  Result<std::unique_ptr<Output>> output = Output::Open(options.output);
  if (!output.ok()) return Report(output.error());
  size_t without = 0;
  size_t revised = 0;
  const Status read = (*store)->ForEach(QueryOf(options), [&](const StoredJob& stored) {
    const Job& job = stored.job;
    json::object row{{"id", job.request->id},
                     {"task_id", job.request->task_id},
                     {"status", GetString(job.verdict, "status")},
                     {"mode", mode},
                     {"bound", nullptr},
                     {"reward", nullptr},
                     {"masked", nullptr},
                     {"note", ""}};
    json::object verdict = job.verdict;
    if (const RooflineReport* bound = bounds->Find(verdict); bound != nullptr) {
      verdict["roofline"] = ToJson(*bound);
      row["bound"] = "file";
      ++revised;
    } else if (!GetObject(verdict, "roofline").empty()) {
      row["bound"] = "verdict";
    }
    const Result<Reward> reward = ComputeReward(mode, *parameters, verdict);
    if (reward.ok()) {
      row["reward"] = (*reward).value;
      row["masked"] = (*reward).masked;
      row["note"] = (*reward).explanation;
    } else {
      ++without;
      row["note"] = reward.error().message;
    }
    return (*output)->Line(row);
  });
  if (!read.ok()) return Report(read.error());
  if (const Status written = (*output)->Finish(); !written.ok()) return Report(written.error());
  if (!options.bounds.empty())
    fmt::print(stderr, "assay: {} verdicts have their bound from '{}'\n", revised, options.bounds);
  if (without == 0) return kExitOk;
  fmt::print(stderr, "assay: {} verdicts lack what the mode '{}' needs; their notes say what\n",
             without, mode);
  return kExitInfrastructure;
}

Result<json::object> JudgeAgain(const Options& options, const Job& job) {
  const std::string python = ChoosePython(options.python);
  ASSAY_ASSIGN_OR_RETURN(TaskRegistry registry, OpenTasks(options.specs, python));
  EngineRunner::Options engine;
  engine.jobs = 1;
  engine.engine.device.python = python;
  engine.engine.device.device = options.device;
  engine.engine.device.limits.pool = 1;
  ASSAY_ASSIGN_OR_RETURN(engine.engine.device.require_sandbox,
                         ParseSandboxLevel(options.require_sandbox));
  if (!options.secret_file.empty()) {
    ASSAY_ASSIGN_OR_RETURN(engine.engine.secret, ReadFile(options.secret_file, 4096));
  }
  ASSAY_ASSIGN_OR_RETURN(
      std::unique_ptr<EngineRunner> runner,
      EngineRunner::Start(std::move(engine),
                          std::make_shared<const TaskRegistry>(std::move(registry))));
  return runner->Run(
      job.request, [](std::string_view) {}, std::make_shared<const std::atomic<bool>>(false));
}

int Replay(const Options& options) {
  Result<std::unique_ptr<Store>> store = Store::Open(options.store, Store::Mode::kRead);
  if (!store.ok()) return Report(store.error());
  Result<std::optional<StoredJob>> found = (*store)->Find(options.id);
  if (!found.ok()) return Report(found.error());
  if (!*found)
    return Report(Err(ErrorCode::kNotFound, "there is no submission '{}' in '{}'", options.id,
                      options.store));
  const Job& job = (*found)->job;
  if (job.state != JobState::kDone)
    return Report(Err(ErrorCode::kInvalid, "'{}' has no verdict yet", options.id));
  Result<json::object> again = JudgeAgain(options, job);
  if (!again.ok()) return Report(again.error());
  const std::vector<Difference> differences = CompareVerdicts(job.verdict, *again);
  bool decisive = false;
  json::array listed;
  for (const Difference& difference : differences) {
    decisive = decisive || difference.decisive;
    listed.push_back(json::object{{"member", difference.member},
                                  {"before", difference.before},
                                  {"after", difference.after},
                                  {"decisive", difference.decisive}});
  }
  if (options.as_json) {
    fmt::print("{}\n", PrettyJson(json::object{{"id", options.id},
                                               {"agrees", !decisive},
                                               {"differences", std::move(listed)},
                                               {"before", job.verdict},
                                               {"after", *again}}));
  } else {
    fmt::print("{}  {} then, {} now: {}\n", options.id, GetString(job.verdict, "status"),
               GetString(*again, "status"), decisive ? "they differ" : "they agree");
    for (const Difference& difference : differences)
      fmt::print("  {:<12} {:<26} {} -> {}\n", difference.decisive ? "differs" : "measured",
                 difference.member, CleanText(json::serialize(difference.before)),
                 CleanText(json::serialize(difference.after)));
  }
  if (GetString(*again, "fault") == "infrastructure") return kExitInfrastructure;
  return decisive ? kExitNotCorrect : kExitOk;
}

void AddStore(CLI::App* command, Options* options) {
  command->add_option("--store", options->store, "the server's SQLite file")->required();
}

void AddFilters(CLI::App* command, Options* options) {
  command->add_option("--owner", options->owner, "only of this key");
  command->add_option("--task", options->task, "only of this task id");
  std::vector<std::string> statuses;
  for (const VerdictStatus status : kVerdictStatuses) statuses.emplace_back(ToString(status));
  command->add_option("--status", options->status, "only verdicts of this status")
      ->check(CLI::IsMember(statuses));
  command->add_option("--output", options->output, "file to write (default: standard output)");
}

}  // namespace

void AddStoreCommands(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();

  CLI::App* replay =
      app->add_subcommand("replay", "Judge a stored submission again and compare the verdicts");
  replay->add_option("id", options->id, "id of the submission")->required();
  AddStore(replay, options.get());
  replay->add_option("--tasks", options->specs, "as for `assay eval`; name what the server had");
  replay->add_option("--device", options->device, "auto, cpu, cuda or cuda:N");
  replay->add_option("--python", options->python, "interpreter with torch");
  replay->add_option("--require-sandbox", options->require_sandbox, "refuse less than this level");
  replay->add_option("--secret-file", options->secret_file,
                     "the server's key of the hidden seeds: the same inputs and weights");
  replay->add_flag("--json", options->as_json, "both verdicts and their differences");
  replay->footer(
      "Exit codes: 0 they agree, 1 they differ, 2 wrong usage, 3 infrastructure.\n"
      "Example:\n"
      "  assay replay sub-0123456789abcdef0123 --store assay.db --secret-file secret");
  replay->callback([options, exit_code] { *exit_code = Replay(*options); });

  CLI::App* rescore =
      app->add_subcommand("rescore", "Compute the rewards of stored verdicts again, without a GPU");
  AddStore(rescore, options.get());
  AddFilters(rescore, options.get());
  rescore->add_option("--mode", options->mode, "reward mode; `assay reward --list` shows them");
  rescore->add_option("--set", options->settings,
                      "NAME=VALUE, a parameter of the mode; repeatable");
  rescore->add_option(
      "--bounds", options->bounds,
      "bounds that replace the verdicts' own, as `assay roofline --json` prints them");
  rescore->footer(
      "Prints one JSON object a verdict: id, task_id, status, mode, bound, reward, masked, note.\n"
      "`bound` is where the roofline comes from: verdict, file (same task, source and card), or "
      "null.\n"
      "Exit codes: 0 every verdict has a reward or is masked, 2 wrong usage, 3 a verdict lacks "
      "what\n"
      "the mode needs (its reward is null, the others are written), or the store cannot be read.\n"
      "Example:\n"
      "  assay rescore --store assay.db --mode roofline > rewards.jsonl\n"
      "  assay roofline --device H200 --overrides overrides.json --json > bounds.jsonl\n"
      "  assay rescore --store assay.db --bounds bounds.jsonl > rewards.jsonl");
  rescore->callback([options, exit_code] { *exit_code = Rescore(*options); });

  CLI::App* exported =
      app->add_subcommand("export", "Submissions with their verdicts as a data set");
  AddStore(exported, options.get());
  AddFilters(exported, options.get());
  exported->add_option("--format", options->format, "jsonl")
      ->check(CLI::IsMember(std::vector<std::string>{"jsonl"}));
  exported->add_flag("--raw", options->raw, "with raw samples, standard output and error");
  exported->add_flag("--all", options->all, "also those that are not judged yet");
  exported->footer(
      "Exit codes: 0 written, 2 wrong usage, 3 the store cannot be read or the rows not written.\n"
      "Example:\n"
      "  assay export --store assay.db --format jsonl --output submissions.jsonl");
  exported->callback([options, exit_code] { *exit_code = Export(*options); });
}

}  // namespace assay
