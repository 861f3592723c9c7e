#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "roofline/override.h"
#include "task/task.h"

namespace assay {

/// Exit codes of every command. `assay eval` adds 1 (judged, not correct) and 4 (integrity).
inline constexpr int kExitOk = 0;
inline constexpr int kExitNotCorrect = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInfrastructure = 3;

/// Each adds its subcommand; its action stores the exit code.
void AddEval(CLI::App* app, int* exit_code);
void AddTasks(CLI::App* app, int* exit_code);
void AddDoctor(CLI::App* app, int* exit_code);
void AddReward(CLI::App* app, int* exit_code);
/// Two commands: `assay roofline` and `assay calibrate`.
void AddRoofline(CLI::App* app, int* exit_code);
/// `assay keys new`.
void AddKeys(CLI::App* app, int* exit_code);
void AddServe(CLI::App* app, int* exit_code);
/// `assay timer-check`.
void AddTimerCheck(CLI::App* app, int* exit_code);
void AddTop(CLI::App* app, int* exit_code);
/// `assay replay`, `rescore` and `export`, over the store of a server.
void AddStoreCommands(CLI::App* app, int* exit_code);
/// `assay worker`.
void AddWorker(CLI::App* app, int* exit_code);
void AddVersion(CLI::App* app, int* exit_code);
/// Two commands: `assay zoo` and `assay honest`.
void AddZoo(CLI::App* app, int* exit_code);

/// The interpreter to use: `named` if not empty, else $ASSAY_PYTHON, the active virtual
/// environment, the project's own .venv, python3 on PATH.
std::string ChoosePython(const std::string& named);

/// Tasks named with --tasks (default: the built-in ones); a `task` that is a file is added too.
Result<TaskRegistry> OpenTasks(const std::vector<std::string>& specs, const std::string& python);
/// Looks up --task: an id, an alias, or the path of a .py file; with "~<repair>" behind it a
/// variant.
Result<std::shared_ptr<const Task>> FindTask(TaskRegistry* registry, const std::string& task);

/// Warns on standard error of overrides that do nothing.
void WarnOfIdleOverrides(const BoundOverrides& overrides, const TaskRegistry& tasks);

/// Parameters of a reward mode from `name=value` pairs; a value that is no JSON is a string.
Result<json::object> ParseSettings(const std::vector<std::string>& settings);

/// The logs of a command that runs for long: they are read, so at "info" unless --log-level says
/// otherwise; other commands stay silent unless something is wrong.
void SetUpServiceLogging(const CLI::App* app, bool as_json);

/// Prints "assay: message" to standard error and returns the exit code that fits the error.
int Report(const Error& error);

/// The key of a server's client: what `file` holds, else $ASSAY_API_KEY, else empty. Never from the
/// command line, where every user of the machine can read it. kInvalid: it is none.
Result<std::string> ReadKey(const std::string& file);

}  // namespace assay
