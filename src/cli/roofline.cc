#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/fd.h"
#include "base/process.h"
#include "base/resource.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "gpu/nvml.h"
#include "roofline/bound.h"
#include "roofline/target.h"

namespace assay {
namespace {

struct Options {
  std::vector<std::string> specs;
  std::string python;
  std::string task;
  std::string device = "auto";
  std::string calibration;
  std::string overrides;
  std::string output;
  bool datasheet = false;
  bool cards = false;
  bool quick = false;
  bool as_json = false;
};

Result<json::object> ReadDocument(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 16u << 20));
  Result<json::object> document = ParseJsonObject(text);
  if (!document.ok()) return Err(ErrorCode::kInvalid, "{}: {}", path, document.error().message);
  return document;
}

Result<RooflineTarget> ChooseTarget(const Options& options) {
  if (!options.calibration.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const json::object document, ReadDocument(options.calibration));
    ASSAY_ASSIGN_OR_RETURN(const Calibration calibration, ReadCalibration(document));
    return CalibratedTarget(calibration);
  }
  const std::string folder = CalibrationFolder();
  const bool automatic = options.device == "auto";
  if (!automatic && options.device != "cpu") {
    ASSAY_ASSIGN_OR_RETURN(Card card, FindCard(options.device));
    return RooflineTarget{std::move(card), {}};
  }
  if (automatic) {
    if (const Result<std::vector<GpuInfo>> gpus = ListGpus(); gpus.ok() && !gpus->empty()) {
      const GpuInfo& gpu = gpus->front();
      DeviceFacts facts{.name = gpu.name, .compute = 10 * gpu.compute_major + gpu.compute_minor};
      facts.clock_ghz = gpu.state.max_sm_clock_mhz.value_or(0) / 1e3;
      if (!options.datasheet) return TargetOf(facts, gpu.uuid, folder);
      ASSAY_ASSIGN_OR_RETURN(Card card, CardOf(facts));
      return RooflineTarget{std::move(card), {}};
    }
  }
  const Result<Calibration> cached = LoadCalibration(folder, "cpu");
  if (!cached.ok())
    return Err(cached.error().code, "{}{}", automatic ? "no GPU here, and " : "",
               automatic ? cached.error().message + "; or name a card: --device H200"
                         : cached.error().message + " --device cpu");
  return CalibratedTarget(*cached);
}

/// Runs a module of the Python package that ships with this program.
Result<CommandOutput> RunModule(const Options& options, const std::string& module,
                                const std::vector<std::string>& arguments, Seconds timeout) {
  ASSAY_ASSIGN_OR_RETURN(const std::string package, FindResource("python"));
  const std::string python = ChoosePython(options.python);
  std::vector<std::string> argv{"/usr/bin/env", "PYTHONPATH=" + package, python, "-m", module};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  ASSAY_ASSIGN_OR_RETURN(CommandOutput output, RunCommand(argv, timeout, 64u << 20));
  if (!output.status.success())
    return Err(ErrorCode::kUnavailable, "{} -m {} failed ({}): {}", python, module,
               output.status.ToString(), CleanText(TruncateMiddle(output.err, 2000)));
  return output;
}

/// The traces of tasks, in their order; an object with "error" where one cannot be traced.
Result<std::vector<json::object>> TraceAll(const Options& options,
                                           const std::vector<std::shared_ptr<const Task>>& tasks,
                                           const char* size) {
  std::string lines;
  for (const std::shared_ptr<const Task>& task : tasks)
    lines += json::serialize(json::object{{"source", task->source}, {"entry", task->entry}}) + "\n";
  std::string path = std::filesystem::temp_directory_path().string() + "/assay-tasks-XXXXXX";
  const UniqueFd file(::mkstemp(path.data()));
  if (file.get() < 0) return ErrnoError("mkstemp", errno);
  const Status written = WriteFileAtomically(path, lines);
  Result<CommandOutput> output =
      written.ok() ? RunModule(options, "assay.runtime.trace_work", {path, "--size", size},
                               Seconds(300 + 60.0 * static_cast<double>(tasks.size())))
                   : Result<CommandOutput>(written.error());
  static_cast<void>(::unlink(path.c_str()));
  if (!output.ok()) return output.error();
  std::vector<json::object> traces;
  for (const std::string_view line : Split(Trim(output->out), '\n')) {
    ASSAY_ASSIGN_OR_RETURN(json::object trace, ParseJsonObject(line));
    traces.push_back(std::move(trace));
  }
  if (traces.size() != tasks.size())
    return Err(ErrorCode::kProtocol, "{} tasks gave {} traces", tasks.size(), traces.size());
  return traces;
}

Status Explain(const Options& options, const RooflineTarget& target, const Task& task,
               const json::object& trace, const BoundOverrides& overrides, bool alone) {
  if (const std::string error = GetString(trace, "error"); !error.empty())
    return Err(ErrorCode::kUnavailable, "{} cannot be traced: {}", task.id,
               CleanText(TruncateMiddle(error, 1000)));
  ASSAY_ASSIGN_OR_RETURN(const Work work, ReadWork(trace));
  const Calibration* calibration = target.calibration ? &*target.calibration : nullptr;
  const Bound bound =
      ComputeBound(work, target.card, calibration, FindOverride(overrides, task.id, task.sha256));
  if (options.as_json) {
    json::object line{{"task_id", task.id}, {"task_sha256", task.sha256}};
    for (const auto& [key, value] : ExplainJson(work, bound)) line[key] = value;
    fmt::print("{}\n", json::serialize(line));
  } else if (alone) {
    fmt::print("{}\n{}", task.id, ExplainText(work, bound));
  } else {
    fmt::print("{:<36} {:>11.4g} us  {:>12}  {:<7} {:<7} fusion {:>6.1f}x\n", task.id,
               bound.bound_us,
               bound.calibrated_us ? fmt::format("{:.4g} us", *bound.calibrated_us) : "-",
               bound.limiter, bound.precision, bound.fusion_gain);
  }
  std::fflush(stdout);
  return {};
}

int ListCards(bool as_json) {
  for (const Card& card : Cards()) {
    const auto tera = [&](Precision precision) { return PeakFlops(card, precision) / 1e12; };
    if (as_json) {
      fmt::print("{}\n", json::serialize(json::object{{"name", card.name},
                                                      {"compute", card.compute},
                                                      {"multiprocessors", card.multiprocessors},
                                                      {"clock_ghz", card.clock_ghz},
                                                      {"dram_gbs", card.dram_gbs},
                                                      {"l2_bytes", card.l2_bytes},
                                                      {"fp32_tflops", tera(Precision::kFp32)},
                                                      {"tf32_tflops", tera(Precision::kTf32)},
                                                      {"bf16_tflops", tera(Precision::kFp16)}}));
    } else {
      fmt::print(
          "{:<16} sm_{:<4} {:>3} SM {:>6.3f} GHz {:>6.0f} GB/s  L2 {:>3.0f} MB  fp32 {:>5.1f}"
          "  tf32 {:>6.0f}  bf16 {:>6.0f} TFLOP/s\n",
          card.name, card.compute, card.multiprocessors, card.clock_ghz, card.dram_gbs,
          card.l2_bytes / 1e6, tera(Precision::kFp32), tera(Precision::kTf32),
          tera(Precision::kFp16));
    }
  }
  return kExitOk;
}

int RunRoofline(const Options& options) {
  if (options.cards) return ListCards(options.as_json);
  const Result<BoundOverrides> overrides = LoadOverrides(options.overrides);
  if (!overrides.ok()) return Report(overrides.error());
  Result<TaskRegistry> registry = OpenTasks(options.specs, ChoosePython(options.python));
  if (!registry.ok()) return Report(registry.error());
  WarnOfIdleOverrides(*overrides, *registry);
  std::vector<std::shared_ptr<const Task>> tasks = registry->tasks();
  if (!options.task.empty()) {
    Result<std::shared_ptr<const Task>> task = FindTask(&*registry, options.task);
    if (!task.ok()) return Report(task.error());
    tasks = {*task};
  }
  const Result<RooflineTarget> target = ChooseTarget(options);
  if (!target.ok()) return Report(target.error());
  const bool cpu = target->calibration && target->calibration->cpu;
  const Result<std::vector<json::object>> traces = TraceAll(options, tasks, cpu ? "cpu" : "gpu");
  if (!traces.ok()) return Report(traces.error());
  int worst = kExitOk;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Status explained =
        Explain(options, *target, *tasks[i], (*traces)[i], *overrides, !options.task.empty());
    if (!explained.ok()) worst = std::max(worst, Report(explained.error()));
  }
  return worst;
}

int RunCalibrate(const Options& options) {
  // Said here in the words of `assay eval`; torch has its own.
  if (const Result<std::optional<GpuInfo>> gpu = FindGpu(options.device); !gpu.ok())
    return Report(gpu.error());
  std::vector<std::string> arguments{"--device", options.device};
  if (options.quick) arguments.emplace_back("--quick");
  const Result<CommandOutput> output =
      RunModule(options, "assay.runtime.calibrate", arguments, Seconds(600));
  if (!output.ok()) return Report(output.error());
  const Result<json::object> document = ParseJsonObject(Trim(output->out));
  if (!document.ok()) return Report(document.error());
  const Result<Calibration> calibration = ReadCalibration(*document);
  if (!calibration.ok()) return Report(calibration.error());
  if (const Result<RooflineTarget> target = CalibratedTarget(*calibration); !target.ok()) {
    fmt::print("{}\n", options.as_json ? json::serialize(*document) : PrettyJson(*document));
    return Report(target.error());
  }
  Result<std::string> path = options.output;
  if (options.output.empty()) {
    path = StoreCalibration(CalibrationFolder(), *document);
  } else if (const Status written =
                 WriteFileAtomically(options.output, PrettyJson(*document) + "\n");
             !written.ok()) {
    path = written.error();
  }
  if (!path.ok()) return Report(path.error());
  if (options.as_json) {
    fmt::print("{}\n", json::serialize(*document));
    return kExitOk;
  }
  fmt::print("{} ({})\n", calibration->device.name, calibration->uuid);
  for (const auto& [name, value] : calibration->bandwidth_gbs)
    fmt::print("  {:<12} {:>10.4g} GB/s\n", name, value);
  for (const auto& [name, value] : calibration->tflops)
    fmt::print("  {:<12} {:>10.4g} TFLOP/s\n", name, value);
  fmt::print("  {:<12} {:>10.4g} us\nStored in {}\n", "launch", calibration->launch_us, *path);
  return kExitOk;
}

}  // namespace

void AddRoofline(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* roofline = app->add_subcommand(
      "roofline", "The shortest time a task can take on a card, explained line by line");
  roofline->add_option("task", options->task, "id, alias or .py file (default: all tasks)");
  roofline->add_option(
      "--tasks", options->specs,
      "builtin, kernelbench:PATH, or a .py, folder, .jsonl or .parquet; repeatable");
  roofline->add_option("--device", options->device, "auto, cpu, or a card's name such as H200")
      ->capture_default_str();
  roofline->add_option("--calibration", options->calibration, "a file that assay calibrate wrote");
  roofline->add_option("--overrides", options->overrides, "a JSON file of corrections by task");
  roofline->add_option("--python", options->python, "interpreter with torch");
  roofline->add_flag("--datasheet", options->datasheet, "leave this card's calibration aside");
  roofline->add_flag("--cards", options->cards, "list the table of cards");
  roofline->add_flag("--json", options->as_json, "one JSON object a task");
  roofline->footer(
      "Examples:\n"
      "  assay roofline assay/layer_norm --device H200\n"
      "  assay roofline --device H200 --json > bounds.jsonl\n"
      "  assay roofline --cards");
  roofline->callback([options, exit_code] { *exit_code = RunRoofline(*options); });

  auto calibrating = std::make_shared<Options>();
  CLI::App* calibrate = app->add_subcommand(
      "calibrate", "Measure what this card reaches; kept for rooflines and rewards");
  calibrate->add_option("--device", calibrating->device, "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  calibrate->add_option("--python", calibrating->python, "interpreter with torch");
  calibrate->add_option("--output", calibrating->output, "write here instead of the cache");
  calibrate->add_flag("--quick", calibrating->quick, "a few seconds, less exact");
  calibrate->add_flag("--json", calibrating->as_json, "machine-readable");
  calibrate->footer(
      "Exit codes: 0 stored, 2 wrong usage, 3 not measured or not plausible (then nothing is "
      "stored).\n"
      "Examples:\n"
      "  assay calibrate\n"
      "  assay calibrate --device cpu --quick");
  calibrate->callback([calibrating, exit_code] { *exit_code = RunCalibrate(*calibrating); });
}

}  // namespace assay
