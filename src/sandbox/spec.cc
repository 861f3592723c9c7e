#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "sandbox/internal.h"
#include "sandbox/sandbox.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"none", "limits", "filtered", "isolated",
                                                         "full"};

json::array ToArray(const std::vector<std::string>& strings) {
  json::array array;
  for (const std::string& text : strings) array.emplace_back(text);
  return array;
}

Status CheckPath(std::string_view what, std::string_view path) {
  if (path.size() < 2 || path[0] != '/')
    return Err(ErrorCode::kInvalid, "sandbox: {} '{}' must be an absolute path below /", what,
               path);
  for (const std::string_view part : Split(path, '/'))
    if (part == "..")
      return Err(ErrorCode::kInvalid, "sandbox: {} '{}' must not contain '..'", what, path);
  if (path.find('\0') != std::string_view::npos)
    return Err(ErrorCode::kInvalid, "sandbox: {} contains a zero byte", what);
  return {};
}

Result<std::vector<std::string>> GetPaths(const json::object& object, std::string_view key) {
  std::vector<std::string> paths;
  for (const json::value& value : GetArray(object, key)) {
    const json::string* text = value.if_string();
    if (text == nullptr) return Err(ErrorCode::kInvalid, "sandbox: {} must hold strings", key);
    ASSAY_RETURN_IF_ERROR(CheckPath(key, std::string_view(*text)));
    paths.emplace_back(*text);
  }
  return paths;
}

/// Every flag of a report under its JSON name, said once for both directions.
constexpr std::pair<std::string_view, bool SandboxReport::*> kFlags[] = {
    {"user_ns", &SandboxReport::user_ns},
    {"pid_ns", &SandboxReport::pid_ns},
    {"mount_ns", &SandboxReport::mount_ns},
    {"net_ns", &SandboxReport::net_ns},
    {"ipc_ns", &SandboxReport::ipc_ns},
    {"uts_ns", &SandboxReport::uts_ns},
    {"fresh_proc", &SandboxReport::fresh_proc},
    {"private_root", &SandboxReport::private_root},
    {"landlock", &SandboxReport::landlock},
    {"seccomp", &SandboxReport::seccomp},
    {"no_new_privs", &SandboxReport::no_new_privs},
    {"no_capabilities", &SandboxReport::no_capabilities},
    {"rlimits", &SandboxReport::rlimits},
    {"loopback", &SandboxReport::loopback},
    {"own_uid", &SandboxReport::own_uid},
    {"dies_with_worker", &SandboxReport::dies_with_worker},
};

constexpr std::pair<std::string_view, uint64_t SandboxSpec::*> kLimits[] = {
    {"work_bytes", &SandboxSpec::work_bytes},
    {"work_files", &SandboxSpec::work_files},
    {"max_processes", &SandboxSpec::max_processes},
    {"max_open_files", &SandboxSpec::max_open_files},
    {"max_file_bytes", &SandboxSpec::max_file_bytes},
    {"max_data_bytes", &SandboxSpec::max_data_bytes},
};

}  // namespace

std::string_view ToString(SandboxLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

Result<SandboxLevel> ParseSandboxLevel(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i)
    if (kLevelNames[i] == name) return static_cast<SandboxLevel>(i);
  return Err(ErrorCode::kInvalid,
             "no sandbox level '{}'; choose none, limits, filtered, isolated or full", name);
}

json::object SandboxSpec::ToJson() const {
  json::object object{{"read_only", ToArray(read_only)},
                      {"devices", ToArray(devices)},
                      {"work_dir", work_dir},
                      {"loopback", loopback},
                      {"uid", int64_t{uid}}};
  for (const auto& [name, member] : kLimits) object[name] = static_cast<int64_t>(this->*member);
  return object;
}

Result<SandboxSpec> SandboxSpec::FromJson(const json::object& object) {
  SandboxSpec spec;
  ASSAY_ASSIGN_OR_RETURN(spec.read_only, GetPaths(object, "read_only"));
  ASSAY_ASSIGN_OR_RETURN(spec.devices, GetPaths(object, "devices"));
  spec.work_dir = GetString(object, "work_dir", spec.work_dir);
  ASSAY_RETURN_IF_ERROR(CheckPath("work_dir", spec.work_dir));
  spec.loopback = GetBool(object, "loopback");
  for (const auto& [name, member] : kLimits) {
    if (!object.contains(name)) continue;
    const int64_t value = GetInt(object, name, -1);
    const bool may_be_zero = member == &SandboxSpec::max_data_bytes;
    if (value < (may_be_zero ? 0 : 1))
      return Err(ErrorCode::kInvalid, "sandbox: {} must be a positive integer", name);
    spec.*member = static_cast<uint64_t>(value);
  }
  const int64_t uid = GetInt(object, "uid", spec.uid);
  if (uid < 1 || uid >= std::numeric_limits<uint32_t>::max())
    return Err(ErrorCode::kInvalid, "sandbox: uid {} must be an unprivileged user (1 or more)",
               uid);
  spec.uid = static_cast<uint32_t>(uid);
  return spec;
}

json::object SandboxReport::ToJson() const {
  json::object object{{"level", ToString(level)}};
  for (const auto& [name, member] : kFlags) object[name] = this->*member;
  object["work_dir"] = work_dir;
  object["stem_pidfd"] = stem_pidfd;
  object["missing"] = ToArray(missing);
  return object;
}

SandboxReport SandboxReport::FromJson(const json::object& object) {
  SandboxReport report;
  for (const auto& [name, member] : kFlags) report.*member = GetBool(object, name);
  report.work_dir = GetString(object, "work_dir");
  report.stem_pidfd = static_cast<int>(GetInt(object, "stem_pidfd", -1));
  for (const json::value& value : GetArray(object, "missing"))
    if (const json::string* text = value.if_string()) report.missing.emplace_back(*text);
  report.level = sandbox::LevelOf(report);
  return report;
}

namespace sandbox {

void Miss(SandboxReport* report, std::string_view name, std::string_view what, int error_number) {
  report->missing.push_back(fmt::format("{}: {}", name, ErrnoError(what, error_number).message));
}

SandboxLevel LevelOf(const SandboxReport& r) {
  if (!r.rlimits || !r.no_new_privs || !r.no_capabilities) return SandboxLevel::kNone;
  if (!r.seccomp || !(r.landlock || r.private_root)) return SandboxLevel::kLimits;
  const bool namespaces = r.pid_ns && r.mount_ns && r.net_ns && r.ipc_ns && r.uts_ns;
  if (!namespaces || !r.fresh_proc || !r.private_root) return SandboxLevel::kFiltered;
  return r.user_ns && r.landlock ? SandboxLevel::kFull : SandboxLevel::kIsolated;
}

}  // namespace sandbox
}  // namespace assay
