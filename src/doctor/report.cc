#include <algorithm>

#include "base/strings.h"
#include "doctor/doctor.h"

namespace assay {

std::string_view ToString(Check::State state) {
  switch (state) {
    case Check::kOk:
      return "ok";
    case Check::kWarn:
      return "warn";
    case Check::kMissing:
      return "missing";
  }
  return "";
}

std::string ChecksToText(const std::vector<Check>& checks) {
  size_t width = 0;
  for (const Check& check : checks) width = std::max(width, check.name.size());
  std::string text;
  size_t missing = 0;
  size_t warnings = 0;
  for (const Check& check : checks) {
    missing += check.state == Check::kMissing ? 1 : 0;
    warnings += check.state == Check::kWarn ? 1 : 0;
    text +=
        fmt::format("{:<8} {:<{}}  {}\n", ToString(check.state), check.name, width, check.detail);
    if (!check.fix.empty())
      text += fmt::format("{:<8} {:<{}}  fix: {}\n", "", "", width, check.fix);
  }
  return text + (missing + warnings == 0
                     ? "Everything is there.\n"
                     : fmt::format("{} missing, {} to improve.\n", missing, warnings));
}

json::object ChecksToJson(const std::vector<Check>& checks) {
  json::array array;
  bool ok = true;
  for (const Check& check : checks) {
    ok = ok && check.state != Check::kMissing;
    array.push_back(json::object{{"name", check.name},
                                 {"state", ToString(check.state)},
                                 {"detail", CleanText(check.detail)},
                                 {"fix", check.fix}});
  }
  return {{"ok", ok}, {"checks", std::move(array)}};
}

}  // namespace assay
