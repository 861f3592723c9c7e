#include <unistd.h>

#include <cmath>

#include "base/resource.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "timing/timer_report.h"
#include "worker/engine.h"

namespace assay {
namespace {

/// Of the kernels, in microseconds. The first does nothing: what it costs is no error.
constexpr double kLengthsUs[] = {0, 2, 5, 10, 50, 100, 1'000, 10'000, 100'000};
constexpr const char* kPlaceholder = "LENGTH_NS = 0  # replaced";

struct Options {
  std::string python;
  std::string device = "auto";
  bool as_json = false;
};

struct Material {
  std::shared_ptr<const Task> task;
  std::string submission;
};

Result<Material> ReadMaterial() {
  ASSAY_ASSIGN_OR_RETURN(const std::string package, FindResource("python"));
  Task task;
  task.id = "assay/timer_check";
  task.origin = "builtin";
  ASSAY_ASSIGN_OR_RETURN(task.source, ReadFile(package + "/assay/timer/task.py", 1u << 16));
  ASSAY_ASSIGN_OR_RETURN(task, MakeTask(std::move(task)));
  Material material;
  material.task = std::make_shared<const Task>(std::move(task));
  ASSAY_ASSIGN_OR_RETURN(material.submission, ReadFile(package + "/assay/timer/spin.py", 1u << 16));
  ASSAY_CHECK(material.submission.find(kPlaceholder) != std::string::npos);
  return material;
}

struct Measured {
  double known_us = 0;
  double claimed_us = 0;
  double tick_us = 0;
};

Result<Measured> Measure(Engine* engine, const Material& material, double length_us) {
  Submission submission;
  submission.task = material.task;
  submission.source = material.submission;
  submission.source.replace(submission.source.find(kPlaceholder),
                            std::string_view(kPlaceholder).size(),
                            fmt::format("LENGTH_NS = {:.0f}", length_us * 1e3));
  const Verdict verdict = engine->Evaluate(std::move(submission));
  if (!verdict.timed)
    return Err(ErrorCode::kUnavailable, "a kernel of {} us was not measured: {}", length_us,
               verdict.feedback);
  Measured measured;
  measured.claimed_us = verdict.candidate_us.median;
  for (const std::string_view line : Split(verdict.records.stdout_text, '\n')) {
    const Result<json::object> said = ParseJsonObject(line);
    if (!said.ok()) continue;
    measured.known_us = GetDouble(*said, "known_us", -1);
    measured.tick_us = GetDouble(*said, "tick_us");
    if (measured.known_us >= 0) return measured;
  }
  return Err(ErrorCode::kInternal, "a kernel of {} us did not say how long it took", length_us);
}

void Print(const TimerReport& report, const std::string& path) {
  fmt::print("{} ({})\nan empty call {:.4g} us, step of the clock {:.4g} us\n\n", report.device,
             report.uuid, report.floor_us, report.tick_us);
  fmt::print("{:>12} {:>12} {:>10} {:>10}\n", "known us", "claimed us", "error us", "allowed");
  for (const TimerPoint& point : report.points)
    fmt::print("{:>12.6g} {:>12.6g} {:>10.3g} {:>10.3g}{}\n", point.known_us, point.claimed_us,
               point.ErrorUs(), AllowedErrorUs(point.known_us),
               std::abs(point.ErrorUs()) > AllowedErrorUs(point.known_us) ? "  too large" : "");
  fmt::print("\nStored in {}\n", path);
  if (!AllWithin(report))
    fmt::print(
        "Too large: verdicts on this device carry these errors until a check replaces them.\n");
}

int Run(const Options& options) {
  EngineOptions engine_options;
  engine_options.device.python = ChoosePython(options.python);
  engine_options.device.device = options.device;
  Result<Material> material = ReadMaterial();
  if (!material.ok()) return Report(material.error());
  Result<std::unique_ptr<Engine>> engine = Engine::Start(std::move(engine_options));
  if (!engine.ok()) return Report(engine.error());
  const json::object& environment = (*engine)->device().environment();
  TimerReport report;
  report.uuid = GetString(environment, "gpu_uuid", "cpu");
  report.device = GetString(environment, "gpu", "processor");
  report.driver = GetString(environment, "driver");
  report.protocol = kProtocolVersion;
  Measured empty;
  for (const double length_us : kLengthsUs) {
    if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K{} us ...", length_us);
    const Result<Measured> measured = Measure(engine->get(), *material, length_us);
    if (!measured.ok()) return Report(measured.error());
    if (length_us == 0) {
      empty = *measured;
      report.floor_us = empty.claimed_us;
      continue;
    }
    report.tick_us = measured->tick_us;
    report.points.push_back(
        {measured->known_us, measured->claimed_us - empty.claimed_us + empty.known_us});
  }
  if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
  const Result<std::string> path = StoreTimerReport(TimerFolder(), report);
  if (!path.ok()) return Report(path.error());
  if (options.as_json)
    fmt::print("{}\n", json::serialize(ToJson(report)));
  else
    Print(report, *path);
  return AllWithin(report) ? kExitOk : kExitNotCorrect;
}

}  // namespace

void AddTimerCheck(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app->add_subcommand(
      "timer-check", "Measure the instrument itself with kernels of known length");
  command->add_option("--device", options->device, "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command->add_option("--python", options->python, "interpreter with torch");
  command->add_flag("--json", options->as_json, "print the assay.timer/1 document");
  command->footer(
      "Verdicts on this device carry the error found (timing.instrument_error_us), also where it "
      "is\n"
      "too large, as it mostly is on a CPU: the last check says what is known of the instrument.\n"
      "Exit codes: 0 within 1 % and 0.3 us, 1 not (stored too), 2 wrong usage, 3 not measured.\n"
      "Examples:\n"
      "  assay timer-check\n"
      "  assay timer-check --device cuda --json");
  command->callback([options, exit_code] { *exit_code = Run(*options); });
}

}  // namespace assay
