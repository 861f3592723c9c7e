#include "cli/commands.h"
#include "task/describe.h"
#include "worker/engine.h"

namespace assay {
namespace {

struct Options {
  std::vector<std::string> specs;
  std::string python;
  std::string device = "auto";
  std::string task;
  bool as_json = false;
};

int List(const Options& options) {
  Result<TaskRegistry> registry = OpenTasks(options.specs, ChoosePython(options.python));
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

/// Runs each task's reference on this device and reports what it needs.
int Check(const Options& options) {
  const std::string python = ChoosePython(options.python);
  Result<TaskRegistry> registry = OpenTasks(options.specs, python);
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
  Result<std::unique_ptr<Device>> device = Device::Open(device_options);
  if (!device.ok()) return Report(device.error());
  int failed = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    static_cast<void>((*device)->judge().EnsureRunning());
    Result<TaskShape> shape =
        (*device)->judge().Examine(static_cast<int>(i), *tasks[i], (*device)->size());
    static_cast<void>((*device)->judge().Close(static_cast<int>(i)));
    if (!shape.ok()) ++failed;
    if (options.as_json) {
      json::object line{{"id", tasks[i]->id}, {"sha256", tasks[i]->sha256}, {"ok", shape.ok()}};
      if (shape.ok()) {
        line["input_bytes"] = shape->input_bytes;
        line["output_bytes"] = shape->output_bytes;
        line["state_bytes"] = shape->state_bytes;
        line["reference_us"] = shape->reference_us;
        line["mutates_inputs"] = shape->private_inputs;
        line["stochastic"] = shape->stochastic;
      } else {
        line["error"] = shape.error().message;
      }
      fmt::print("{}\n", json::serialize(line));
    } else if (shape.ok()) {
      fmt::print("ok    {:<32} in {:>10.3f} MB  out {:>10.3f} MB  {:>10.1f} us{}{}\n", tasks[i]->id,
                 static_cast<double>(shape->input_bytes) / 1e6,
                 static_cast<double>(shape->output_bytes) / 1e6, shape->reference_us,
                 shape->private_inputs ? "  writes its inputs" : "",
                 shape->stochastic ? "  stochastic" : "");
    } else {
      fmt::print("FAIL  {:<32} {}\n", tasks[i]->id, shape.error().message);
    }
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
      "  assay tasks check --task assay/relu --device cpu");
  auto options = std::make_shared<Options>();

  CLI::App* list = tasks->add_subcommand("list", "One line a task");
  AddShared(list, options.get());
  list->footer("Example:\n  assay tasks list --tasks kernelbench:../KernelBench");
  list->callback([options, exit_code] { *exit_code = List(*options); });

  CLI::App* show = tasks->add_subcommand("show", "The source of one task");
  AddShared(show, options.get());
  show->add_option("task", options->task, "id, alias or .py file")->required();
  show->footer("Example:\n  assay tasks show kb/l1/19 --tasks kernelbench:../KernelBench");
  show->callback([options, exit_code] { *exit_code = Show(*options); });

  CLI::App* check =
      tasks->add_subcommand("check", "Run references on this machine: size, time, determinism");
  AddShared(check, options.get());
  check->add_option("--task", options->task, "only this one");
  check->add_option("--device", options->device, "auto, cpu, cuda or cuda:N");
  check->footer("Example:\n  assay tasks check --device cpu");
  check->callback([options, exit_code] { *exit_code = Check(*options); });
}

}  // namespace assay
