#include <algorithm>

#include "cli/commands.h"
#include "task/describe.h"
#include "task/health.h"
#include "task/repair.h"
#include "worker/engine.h"

namespace assay {
namespace {

struct Options {
  std::vector<std::string> specs;
  std::string python;
  std::string device = "auto";
  std::string task;
  bool as_json = false;
  bool sizes_only = false;
  bool repaired = false;
  double limit_s = 60;
};

struct Checked {
  Result<TaskShape> shape;
  Result<json::object> health;  ///< of a task that runs
};

Checked CheckOne(Device* device, int lane, const Task& task, const Options& options) {
  Judge& judge = device->judge();
  static_cast<void>(judge.EnsureRunning());
  Checked checked{.shape = judge.Examine(lane, task, device->size()), .health = json::object()};
  if (checked.shape.ok() && !options.sizes_only)
    checked.health = judge.Screen(task, device->size(), options.limit_s);
  static_cast<void>(judge.Close(lane, true));
  return checked;
}

json::object CheckJson(const Task& task, const Checked& checked, const std::string& size) {
  json::object line{{"id", task.id}, {"sha256", task.sha256}, {"size", size}};
  line["ok"] = checked.shape.ok() && checked.health.ok();
  if (!checked.shape.ok()) {
    line["error"] = checked.shape.error().message;
    return line;
  }
  const TaskShape& shape = *checked.shape;
  line["input_bytes"] = shape.input_bytes;
  line["output_bytes"] = shape.output_bytes;
  line["state_bytes"] = shape.state_bytes;
  line["reference_us"] = shape.reference_us;
  line["mutates_inputs"] = shape.writes_inputs;
  line["stochastic"] = shape.draws > 0;
  if (!checked.health.ok()) line["error"] = checked.health.error().message;
  if (checked.health.ok())
    for (const auto& [key, value] : *checked.health) line[key] = value;
  return line;
}

void PrintCheck(const Task& task, const Checked& checked) {
  if (!checked.shape.ok()) {
    fmt::print("FAIL  {:<36} {}\n", task.id, checked.shape.error().message);
    return;
  }
  const TaskShape& shape = *checked.shape;
  std::string health = checked.health.ok() ? "" : checked.health.error().message;
  bool is_void = false;
  if (checked.health.ok() && !checked.health->empty()) {
    const Result<TaskHealth> read = ReadTaskHealth(*checked.health);
    health = read.ok() ? Describe(*read) : read.error().message;
    is_void = read.ok() && !read->void_by.empty();
  }
  fmt::print("{:<5} {:<36} in {:>9.3f} MB  out {:>9.3f} MB  {:>10.1f} us{}{}  {}\n",
             is_void               ? "VOID"
             : checked.health.ok() ? "ok"
                                   : "FAIL",
             task.id, static_cast<double>(shape.input_bytes) / 1e6,
             static_cast<double>(shape.output_bytes) / 1e6, shape.reference_us,
             shape.writes_inputs ? "  writes its inputs" : "",
             shape.draws > 0 ? "  stochastic" : "", health);
}

/// The variants of all tasks that are known to be void, at whatever size.
Result<TaskRegistry> Repaired(const TaskRegistry& registry) {
  TaskRegistry variants;
  for (const std::shared_ptr<const Task>& task : registry.tasks()) {
    const auto is_void = [&](const char* size) {
      const TaskHealth* health = KnownHealth(task->sha256, size);
      return health != nullptr && !health->void_by.empty();
    };
    if (!is_void("gpu") && !is_void("cpu")) continue;
    for (const Repair& repair : Repairs()) {
      ASSAY_ASSIGN_OR_RETURN(Task variant, MakeVariant(*task, repair.name));
      ASSAY_RETURN_IF_ERROR(variants.Add(std::move(variant)));
    }
  }
  return variants;
}

/// The tasks that a command is about.
Result<TaskRegistry> Asked(const Options& options) {
  Result<TaskRegistry> registry = OpenTasks(options.specs, ChoosePython(options.python));
  return registry.ok() && options.repaired ? Repaired(*registry) : std::move(registry);
}

int List(const Options& options) {
  Result<TaskRegistry> registry = Asked(options);
  if (!registry.ok()) return Report(registry.error());
  if (options.as_json) {
    fmt::print("{}\n", json::serialize(DescribeTasks(*registry)));
  } else {
    fmt::print("{}", FormatTaskTable(*registry));
  }
  return kExitOk;
}

int Show(const Options& options) {
  Result<TaskRegistry> registry = OpenTasks(options.specs, ChoosePython(options.python));
  if (!registry.ok()) return Report(registry.error());
  Result<std::shared_ptr<const Task>> task = FindTask(&*registry, options.task);
  if (!task.ok()) return Report(task.error());
  if (options.as_json) {
    fmt::print("{}\n", json::serialize(DescribeTask(**task)));
  } else {
    fmt::print("{}", FormatTask(**task));
  }
  return kExitOk;
}

/// Runs each task's reference on this device, reports what it needs and what passes it that should
/// not.
int Check(const Options& options) {
  const std::string python = ChoosePython(options.python);
  Result<TaskRegistry> registry = Asked(options);
  if (!registry.ok()) return Report(registry.error());
  std::vector<std::shared_ptr<const Task>> tasks = registry->tasks();
  if (!options.task.empty()) {
    Result<std::shared_ptr<const Task>> task = FindTask(&*registry, options.task);
    if (!task.ok()) return Report(task.error());
    tasks = {*task};
  }
  DeviceOptions device_options;
  device_options.python = python;
  device_options.device = options.device;
  device_options.limits.pool = 0;
  // The screen ends by itself; the judge is replaced when it does not.
  device_options.limits.judge_s = std::max(device_options.limits.judge_s, 2 * options.limit_s);
  Result<std::unique_ptr<Device>> device = Device::Open(device_options);
  if (!device.ok()) return Report(device.error());
  int failed = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Checked checked = CheckOne(device->get(), static_cast<int>(i), *tasks[i], options);
    if (!checked.shape.ok() || !checked.health.ok()) ++failed;
    if (options.as_json)
      fmt::print("{}\n", json::serialize(CheckJson(*tasks[i], checked, (*device)->size())));
    else
      PrintCheck(*tasks[i], checked);
    std::fflush(stdout);
  }
  return failed == 0 ? kExitOk : kExitNotCorrect;
}

void AddShared(CLI::App* command, Options* options) {
  command->add_option("--tasks", options->specs,
                      "builtin, kernelbench:PATH, or a .py, folder, .jsonl or .parquet; repeatable "
                      "(default: builtin)");
  command->add_option("--python", options->python,
                      "interpreter with torch (and pyarrow for .parquet)");
  command->add_flag("--json", options->as_json, "machine-readable");
}

}  // namespace

void AddTasks(CLI::App* app, int* exit_code) {
  CLI::App* tasks = app->add_subcommand("tasks", "List, show and check tasks");
  tasks->require_subcommand(1);
  tasks->footer(
      "Examples:\n"
      "  assay tasks list\n"
      "  assay tasks list --tasks kernelbench:../KernelBench --json\n"
      "  assay tasks show assay/relu\n"
      "  assay tasks check --task assay/relu --device cpu\n"
      "  assay tasks check --task my_task.py~signed");
  auto options = std::make_shared<Options>();

  CLI::App* list = tasks->add_subcommand("list", "One line a task");
  AddShared(list, options.get());
  list->add_flag("--repaired", options->repaired, "the repaired variants of void tasks");
  list->footer(
      "A void task, which a trivial program passes, has variants with ids of their own:\n"
      "ID~reweighted, ID~signed and ID~scaled. So has every other task; they are only not listed.\n"
      "Examples:\n"
      "  assay tasks list --tasks kernelbench:../KernelBench\n"
      "  assay tasks list --tasks kernelbench:../KernelBench --repaired");
  list->callback([options, exit_code] { *exit_code = List(*options); });

  CLI::App* show = tasks->add_subcommand("show", "The source of one task");
  AddShared(show, options.get());
  show->add_option("task", options->task, "id, alias or .py file")->required();
  show->footer("Example:\n  assay tasks show kb/l1/19 --tasks kernelbench:../KernelBench");
  show->callback([options, exit_code] { *exit_code = Show(*options); });

  CLI::App* check = tasks->add_subcommand(
      "check", "Run references on this machine: size, time, and which trivial programs pass them");
  AddShared(check, options.get());
  check->add_option("--task", options->task, "only this one");
  check->add_option("--device", options->device, "auto, cpu, cuda or cuda:N");
  check->add_option("--limit", options->limit_s, "seconds for the screen of one task")
      ->capture_default_str();
  check->add_flag("--repaired", options->repaired, "the repaired variants of void tasks");
  check->add_flag("--sizes-only", options->sizes_only, "leave out the trivial programs");
  check->footer(
      "VOID: a trivial program (zeros, a constant, an input, the output for other inputs) passes "
      "in\n"
      "every family of inputs; verdicts on such a task are flagged and rewards mask them.\n"
      "Exit codes: 0 every task runs (void or not), 1 one does not.\n"
      "Example:\n  assay tasks check --device cpu");
  check->callback([options, exit_code] { *exit_code = Check(*options); });
}

}  // namespace assay
