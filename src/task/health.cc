#include "task/health.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/resource.h"
#include "base/strings.h"

namespace assay {
namespace {

constexpr size_t kMaxFile = 64u << 20;

std::string Passes(std::string_view program) {
  const bool plural = program == "zeros" || program == "ones";
  return fmt::format("{} {}", program, plural ? "pass" : "passes");
}

using Known = std::map<std::pair<std::string, std::string>, TaskHealth, std::less<>>;

Known ReadShipped() {
  Known known;
  const Result<std::string> folder = FindResource("tasks");
  if (!folder.ok()) return known;
  const Result<std::string> text = ReadFile(*folder + "/health.jsonl", kMaxFile);
  if (!text.ok()) return known;
  Result<std::vector<TaskHealth>> all = ReadTaskHealthFile(*text);
  if (!all.ok()) {
    LogWarn("{}/health.jsonl is not used: {}", *folder, all.error().message);
    return known;
  }
  for (TaskHealth& health : *all) {
    std::pair key{health.sha256, health.size};
    known[std::move(key)] = std::move(health);
  }
  return known;
}

}  // namespace

Result<TaskHealth> ReadTaskHealth(const json::object& document) {
  TaskHealth health;
  health.id = GetString(document, "id");
  health.sha256 = GetString(document, "sha256");
  health.size = GetString(document, "size");
  health.error = GetString(document, "error");
  if (!health.error.empty()) return health;
  if (GetString(document, "schema") != "assay.task_health/1")
    return Err(ErrorCode::kInvalid, "its 'schema' is not \"assay.task_health/1\"");
  for (const json::value& family : GetArray(document, "families"))
    if (family.is_string()) health.families.emplace_back(family.get_string());
  if (health.families.empty())
    return Err(ErrorCode::kInvalid, "it names no families of inputs that were tried");
  for (const json::value& item : GetArray(document, "findings")) {
    const json::object* finding = item.if_object();
    if (finding == nullptr) return Err(ErrorCode::kInvalid, "its findings must be objects");
    HealthFinding& read = health.findings.emplace_back();
    read.family = GetString(*finding, "family");
    read.program = GetString(*finding, "program");
    for (const json::value& rule : GetArray(*finding, "rules"))
      if (rule.is_string()) read.rules.emplace_back(rule.get_string());
  }
  health.void_by = GetString(document, "void");
  health.void_by_kernelbench = GetString(document, "void_kernelbench");
  for (const json::value& input : GetArray(document, "unused_inputs"))
    if (input.is_int64()) health.unused_inputs.push_back(static_cast<int>(input.get_int64()));
  return health;
}

std::string VoidReason(const TaskHealth& health) {
  return health.void_by.empty() ? "" : Passes(health.void_by);
}

std::string Describe(const TaskHealth& health) {
  if (!health.error.empty()) return health.error;
  std::vector<std::string> parts;
  if (!health.void_by.empty()) {
    parts.push_back("void: " + VoidReason(health));
  } else {
    // By program, in the order they were tried.
    std::vector<std::pair<std::string, std::vector<std::string>>> passing;
    for (const HealthFinding& finding : health.findings) {
      if (std::find(finding.rules.begin(), finding.rules.end(), "assay") == finding.rules.end())
        continue;
      if (passing.empty() || passing.back().first != finding.program)
        passing.push_back({finding.program, {}});
      passing.back().second.push_back(finding.family);
    }
    for (const auto& [program, families] : passing)
      parts.push_back(fmt::format("{}: {}", Join(families, ", "), Passes(program)));
  }
  if (!health.void_by_kernelbench.empty() && health.void_by_kernelbench != health.void_by)
    parts.push_back(fmt::format("void for KernelBench: {}", Passes(health.void_by_kernelbench)));
  for (const int input : health.unused_inputs)
    parts.push_back(fmt::format("input {} is not used", input));
  return parts.empty() ? "ok" : Join(parts, "; ");
}

Result<std::vector<TaskHealth>> ReadTaskHealthFile(std::string_view text) {
  std::vector<TaskHealth> all;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (Trim(line).empty()) continue;
    const Result<json::object> document = ParseJsonObject(line);
    if (!document.ok())
      return Err(ErrorCode::kInvalid, "line {}: {}", number, document.error().message);
    Result<TaskHealth> health = ReadTaskHealth(*document);
    if (!health.ok())
      return Err(ErrorCode::kInvalid, "line {}: {}", number, health.error().message);
    all.push_back(*std::move(health));
  }
  return all;
}

const TaskHealth* KnownHealth(std::string_view sha256, std::string_view size) {
  static const Known kKnown = ReadShipped();
  const auto found = kKnown.find(std::pair(std::string(sha256), std::string(size)));
  return found == kKnown.end() || !found->second.error.empty() ? nullptr : &found->second;
}

}  // namespace assay
