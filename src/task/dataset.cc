// Tasks in rows. Three forms, told apart by the members of each row:
//
//   KernelBench on the Hub   {code, level, name, problem_id}                 ->
//   kb/l<level>/<problem_id> Dr. Kernel's RL data     {reward_model: {ground_truth},
//                             extra_info: {entry_point, level, module_name, uuid, ...}, ...}
//                            (ground_truth, entry_point, uuid also at the top) -> drkernel/<uuid>
//   plain                    {id, code | source, name, entry, level, family}  -> <id>
//
// A row without a name of its own is called `<file>/<row>`.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include "base/fd.h"
#include "base/json.h"
#include "base/process.h"
#include "base/resource.h"
#include "base/strings.h"
#include "task/loaders.h"

namespace assay {
namespace {

/// The published Dr. Kernel data (72,000 tasks) needs about 250 MB as JSONL.
constexpr size_t kMaxDataset = 1u << 30;
constexpr Seconds kParquetTimeout{600};
/// Exit code of parquet.py: the interpreter has no pyarrow.
constexpr int kExitNoPyarrow = 2;

/// Of the row's own members, the first that is present, as text.
std::string Text(const json::object& row, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    const json::value* value = row.if_contains(key);
    if (value == nullptr) continue;
    if (value->is_string()) return std::string(std::string_view(value->get_string()));
    if (value->is_int64()) return std::to_string(value->get_int64());
  }
  return "";
}

std::string FirstOf(std::string first, std::string second) {
  return first.empty() ? std::move(second) : std::move(first);
}

/// The file's name as the first part of an id.
std::string IdPrefix(const std::string& path) {
  std::string stem = std::filesystem::path(path).stem().string();
  for (char& c : stem)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '.') c = '-';
  return stem;
}

Task FromDrKernel(const json::object& row) {
  const json::object& extra = GetObject(row, "extra_info");
  Task task;
  task.source = FirstOf(GetString(GetObject(row, "reward_model"), "ground_truth"),
                        Text(row, {"ground_truth"}));
  task.entry = FirstOf(FirstOf(Text(extra, {"entry_point"}), Text(row, {"entry_point"})), "Model");
  task.name = FirstOf(Text(extra, {"module_name"}), task.entry);
  task.level = static_cast<int>(std::clamp<int64_t>(GetInt(extra, "level"), 0, 99));
  const std::string uuid = FirstOf(Text(extra, {"uuid"}), Text(row, {"uuid"}));
  if (!uuid.empty()) {
    task.id = "drkernel/" + uuid;
    task.aliases = {uuid};
  }
  return task;
}

Task FromPlain(const json::object& row) {
  Task task;
  task.id = Text(row, {"id"});
  task.source = Text(row, {"code", "source"});
  task.name = Text(row, {"name"});
  task.entry = FirstOf(Text(row, {"entry", "entry_point"}), "Model");
  task.level = static_cast<int>(std::clamp<int64_t>(GetInt(row, "level"), 0, 99));
  task.family = Text(row, {"family"});
  return task;
}

Result<Task> FromHub(const json::object& row) {
  const int64_t level = GetInt(row, "level");
  const int64_t problem = GetInt(row, "problem_id");
  if (level < 1 || level > 99 || problem < 1 || problem > 99'999)
    return Err(ErrorCode::kInvalid, "'level' and 'problem_id' must be positive integers");
  Task task =
      KernelBenchTask(static_cast<int>(level), static_cast<int>(problem), Text(row, {"name"}));
  task.source = Text(row, {"code"});
  return task;
}

Result<Task> FromRow(const json::object& row) {
  if (row.contains("reward_model") || row.contains("ground_truth")) return FromDrKernel(row);
  if (row.contains("problem_id") && row.contains("code")) return FromHub(row);
  if (row.contains("code") || row.contains("source")) return FromPlain(row);
  std::vector<std::string> members;
  for (const auto& member : row) members.emplace_back(member.key());
  return Err(
      ErrorCode::kInvalid,
      "no task in a row with {}; a row has code or source (and id), KernelBench's code, level, "
      "name, problem_id, or reward_model.ground_truth",
      members.empty() ? "no members" : CleanText(TruncateMiddle(Join(members, ", "), 500)));
}

/// The rows of one file, as they are read.
class RowReader {
 public:
  explicit RowReader(const std::string& path) : path_(path), prefix_(IdPrefix(path)) {}

  /// An error for text that is no row at all: the file is broken, not the task.
  Status Read(std::string_view text) {
    ++row_;
    if (Trim(text).empty()) return {};
    const std::string origin = fmt::format("{}:{}", path_, row_);
    const Result<json::object> row = ParseJsonObject(text);
    if (!row.ok()) return Err(ErrorCode::kInvalid, "{}: {}", origin, row.error().message);
    Keep(Make(*row, origin), origin, &loaded_);
    return {};
  }

  LoadedTasks Finish() { return std::move(loaded_); }

 private:
  Result<Task> Make(const json::object& row, const std::string& origin) {
    ASSAY_ASSIGN_OR_RETURN(Task task, FromRow(row));
    if (task.id.empty()) task.id = fmt::format("{}/{}", prefix_, row_);
    task.origin = origin;
    ASSAY_ASSIGN_OR_RETURN(task, MakeTask(std::move(task)));
    // Published uuids were not made to be unique; which row keeps the bare one depends on the
    // file's order only.
    if (task.id.starts_with("drkernel/")) {
      const auto [first, is_new] = sources_.emplace(task.id, task.sha256);
      if (!is_new && first->second != task.sha256) task.id += "~" + task.sha256.substr(0, 8);
    }
    return task;
  }

  std::string path_;
  std::string prefix_;
  size_t row_ = 0;
  std::map<std::string, std::string> sources_;
  LoadedTasks loaded_;
};

Result<LoadedTasks> ReadRows(const std::string& path, std::string_view text) {
  RowReader reader(path);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    ASSAY_RETURN_IF_ERROR(reader.Read(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.Finish();
}

}  // namespace

Result<LoadedTasks> LoadJsonl(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxDataset));
  return ReadRows(path, text);
}

Result<LoadedTasks> LoadParquet(const std::string& path, const std::string& python) {
  ASSAY_ASSIGN_OR_RETURN(const std::string folder, FindResource("python"));
  const std::string script = folder + "/assay/tasks/parquet.py";
  ASSAY_ASSIGN_OR_RETURN(const CommandOutput output,
                         RunCommand({python, script, path}, kParquetTimeout, kMaxDataset + 1));
  if (!output.status.success()) {
    const std::string said(Trim(CleanText(TruncateMiddle(output.err, 2000))));
    return Err(output.status.code == kExitNoPyarrow ? ErrorCode::kUnavailable : ErrorCode::kInvalid,
               "cannot read '{}': {}", path, said.empty() ? output.status.ToString() : said);
  }
  if (output.out.size() > kMaxDataset)
    return Err(ErrorCode::kInvalid, "'{}' holds more than {} bytes of tasks; split it", path,
               kMaxDataset);
  return ReadRows(path, output.out);
}

}  // namespace assay
