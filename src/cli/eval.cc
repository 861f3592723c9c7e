#include <unistd.h>

#include "cli/batch.h"
#include "cli/commands.h"

namespace assay {
namespace {

struct Options {
  std::string task;
  std::vector<std::string> specs;
  std::string python;
  std::string device = "auto";
  std::string submission;
  std::string batch;
  std::string output;
  std::string require_sandbox = "none";
  std::string secret_file;
  std::string overrides;
  std::vector<std::string> baselines;
  std::string baseline = kEager;
  std::string shape_jitter = "report";
  std::string precision;
  std::string cache = "cold";
  int processes = 1;
  Limits limits;
  int jobs = 1;
  bool as_json = false;
  bool full = false;
  bool no_time = false;
  bool profile = false;
  bool ghost = false;
  bool ncu = false;
  std::string sanitize;
};

Result<EngineOptions> MakeEngineOptions(const Options& options) {
  EngineOptions engine;
  engine.device.python = ChoosePython(options.python);
  engine.device.device = options.device;
  engine.device.limits = options.limits;
  ASSAY_ASSIGN_OR_RETURN(engine.device.require_sandbox, ParseSandboxLevel(options.require_sandbox));
  ASSAY_ASSIGN_OR_RETURN(engine.device.overrides, LoadOverrides(options.overrides));
  if (!options.secret_file.empty()) {
    ASSAY_ASSIGN_OR_RETURN(engine.secret, ReadFile(options.secret_file, 4096));
    if (engine.secret.size() < 16)
      return Err(ErrorCode::kInvalid, "'{}' holds a secret of {} bytes; 16 is the least",
                 options.secret_file, engine.secret.size());
  }
  return engine;
}

Result<Modes> MakeModes(const Options& options) {
  Modes modes;
  ASSAY_ASSIGN_OR_RETURN(modes.shape_jitter, ParseShapeJitter(options.shape_jitter));
  ASSAY_ASSIGN_OR_RETURN(modes.warm_cache, ParseCache(options.cache));
  if (!options.precision.empty()) {
    ASSAY_ASSIGN_OR_RETURN(modes.precision, ParsePrecision(options.precision));
  }
  ASSAY_RETURN_IF_ERROR(ChooseBaselines(options.baselines, options.baseline, &modes));
  modes.processes = options.processes;
  return modes;
}

int EvaluateOne(const Options& options, const Modes& modes) {
  const std::string python = ChoosePython(options.python);
  Result<TaskRegistry> registry = OpenTasks(options.specs, python);
  if (!registry.ok()) return Report(registry.error());
  Result<std::shared_ptr<const Task>> task = FindTask(&*registry, options.task);
  if (!task.ok()) return Report(task.error());
  Submission submission;
  submission.task = *task;
  submission.time = !options.no_time;
  submission.profile = options.profile;
  submission.ghost = options.ghost;
  submission.ncu = options.ncu;
  submission.sanitize = options.sanitize;
  submission.modes = modes;
  Result<std::string> source = ReadFile(options.submission, 4u << 20);
  if (!source.ok()) return Report(Error{ErrorCode::kInvalid, source.error().message});
  submission.source = *std::move(source);
  Result<EngineOptions> engine_options = MakeEngineOptions(options);
  if (!engine_options.ok()) return Report(engine_options.error());
  WarnOfIdleOverrides(engine_options->device.overrides, *registry);
  engine_options->device.limits.pool = std::min(options.limits.pool, 1);
  engine_options->device.limits.leases = 1;

  const bool show_progress = ::isatty(STDERR_FILENO) != 0 && !options.as_json;
  const auto progress = [&](std::string_view stage) {
    if (show_progress) fmt::print(stderr, "\r\x1b[K{} ...", stage);
  };
  progress("starting the engine");
  Result<std::unique_ptr<Engine>> engine = Engine::Start(*std::move(engine_options));
  if (!engine.ok()) return Report(engine.error());
  const Verdict verdict = (*engine)->Evaluate(std::move(submission), progress);
  if (show_progress) fmt::print(stderr, "\r\x1b[K");
  if (options.as_json) {
    fmt::print("{}\n", PrettyJson(ToJson(verdict, options.full)));
  } else {
    fmt::print("{}", ToText(verdict, ::isatty(STDOUT_FILENO) != 0));
  }
  return ExitCode(verdict);
}

int Evaluate(const Options& options) {
  const Result<Modes> modes = MakeModes(options);
  if (!modes.ok()) return Report(modes.error());
  if (options.batch.empty()) {
    if (options.submission.empty() || options.task.empty())
      return Report(Err(ErrorCode::kInvalid,
                        "name a task and a submission: assay eval --task ID SUBMISSION.py (or "
                        "--batch FILE.jsonl)"));
    return EvaluateOne(options, *modes);
  }
  if (!options.submission.empty())
    return Report(Err(ErrorCode::kInvalid,
                      "--batch takes its submissions from the file; leave out '{}'",
                      options.submission));
  Result<TaskRegistry> registry = OpenTasks(options.specs, ChoosePython(options.python));
  if (!registry.ok()) return Report(registry.error());
  Result<EngineOptions> engine_options = MakeEngineOptions(options);
  if (!engine_options.ok()) return Report(engine_options.error());
  WarnOfIdleOverrides(engine_options->device.overrides, *registry);
  engine_options->device.limits.pool = std::max(engine_options->device.limits.pool, options.jobs);
  BatchOptions batch;
  batch.input = options.batch;
  batch.output = options.output;
  batch.default_task = options.task;
  batch.jobs = options.jobs;
  batch.full = options.full;
  batch.time = !options.no_time;
  batch.profile = options.profile;
  batch.ghost = options.ghost;
  batch.ncu = options.ncu;
  batch.sanitize = options.sanitize;
  batch.modes = *modes;
  batch.show_progress = ::isatty(STDERR_FILENO) != 0;
  return RunBatch(batch, &*registry, *std::move(engine_options));
}

}  // namespace

void AddEval(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app->add_subcommand("eval", "Judge a submission (or many) against a task");
  command->add_option("submission", options->submission, "Python file that defines ModelNew");
  command->add_option("--task", options->task, "task id, alias or .py file");
  command->add_option("--tasks", options->specs,
                      "builtin, kernelbench:PATH, or a .py, folder, .jsonl or .parquet; repeatable "
                      "(default: builtin)");
  command->add_option("--device", options->device, "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--python", options->python,
                      "interpreter with torch >= 2.6 (default: the active environment's)");
  command->add_option("--pool", options->limits.pool, "warmed candidates kept ready")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      ->add_option("--require-sandbox", options->require_sandbox,
                   "refuse less than: none, limits, filtered, isolated, full")
      ->capture_default_str();
  command->add_option("--secret-file", options->secret_file,
                      "key of the hidden seeds, to replay a run (default: random)");
  command->add_option("--overrides", options->overrides,
                      "a JSON file of corrections of tasks' bounds (docs/roofline.md)");
  command->add_option("--trials", options->limits.trials, "hidden-seed trials")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command
      ->add_option("--load-timeout", options->limits.load_s, "seconds for import and construction")
      ->capture_default_str();
  command
      ->add_option("--compile-timeout", options->limits.compile_s,
                   "the same when C++ or CUDA is compiled")
      ->capture_default_str();
  command->add_option("--call-timeout", options->limits.call_s, "seconds for one call")
      ->capture_default_str();
  command
      ->add_option("--memory-limit", options->limits.memory_bytes,
                   "host memory of a candidate, e.g. 8GB")
      ->transform(CLI::AsSizeValue(false));
  command->add_flag("--no-time", options->no_time, "correctness only");
  command->add_flag("--profile", options->profile,
                    "what a correct submission makes the GPU do: kernels, coverage");
  command->add_flag("--ghost", options->ghost,
                    "call a correct submission once without its own kernels");
  command->add_flag("--ncu", options->ncu,
                    "Nsight Compute's summary of a correct submission's own kernels");
  command
      ->add_flag("--sanitize{memcheck}", options->sanitize,
                 "run it once more under compute-sanitizer: memcheck, or --sanitize=racecheck, "
                 "initcheck, synccheck")
      ->check(
          CLI::IsMember(std::vector<std::string>(std::begin(kSanitizers), std::end(kSanitizers))));
  command
      ->add_option("--tool-timeout", options->limits.tool_s,
                   "seconds for one run under such a tool")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  command->add_option("--baseline", options->baselines,
                      "time this beside eager too: compile, compile-max-autotune, eager-tf32, or "
                      "all; repeatable");
  command->add_option("--against", options->baseline, "the baseline that the speedup is of")
      ->capture_default_str();
  command->add_option(
      "--precision", options->precision,
      "of float32 matrix work, for both sides: default, ieee, tf32 (default: as the "
      "task says)");
  command
      ->add_option("--shape-jitter", options->shape_jitter,
                   "smaller inputs that the reference accepts: off, report, require")
      ->capture_default_str();
  command
      ->add_option("--processes", options->processes,
                   "pairs of fresh processes to time; the interval holds between them")
      ->check(CLI::Range(1, kMostProcesses))
      ->capture_default_str();
  command->add_option("--cache", options->cache, "what timed calls find in the cache: cold, warm")
      ->capture_default_str();
  command->add_flag("--json", options->as_json, "print the assay.verdict/1 document");
  command->add_flag("--full", options->full,
                    "with raw samples, standard output and error in the document");
  CLI::Option* batch =
      command->add_option("--batch", options->batch,
                          "JSONL of {\"task\", \"source\" or \"path\", \"id\"}; verdicts as JSONL");
  command
      ->add_option("--output", options->output,
                   "with --batch: file to append to; ids already in it are skipped")
      ->needs(batch);
  command->add_option("--jobs", options->jobs, "with --batch: submissions judged at once")
      ->check(CLI::Range(1, 64))
      ->needs(batch)
      ->capture_default_str();
  command->footer(
      "Exit codes: 0 correct, 1 not correct, 2 wrong usage, 3 infrastructure, 4 integrity.\n"
      "With --batch: 0 all were judged, whatever the verdicts say; 2 wrong usage; 3 "
      "infrastructure.\n"
      "Examples:\n"
      "  assay eval --task assay/relu examples/relu.py\n"
      "  assay eval --task assay/relu --device cpu --json examples/relu.py\n"
      "  assay eval --task assay/relu --profile examples/relu.py\n"
      "  assay eval --task assay/relu --ncu --sanitize=racecheck examples/relu.py\n"
      "  assay eval --tasks kernelbench:../KernelBench --task kb/l1/19 my_relu.py\n"
      "  assay eval --tasks kernelbench:../KernelBench --task kb/l3/11~reweighted vgg.py\n"
      "  assay eval --task assay/relu --baseline all --against compile examples/relu.py\n"
      "  assay eval --batch submissions.jsonl --jobs 8 --output verdicts.jsonl");
  command->callback([options, exit_code] { *exit_code = Evaluate(*options); });
}

}  // namespace assay
