#include "task/modes.h"

#include <algorithm>

#include "base/strings.h"

namespace assay {
namespace {

struct Named {
  const char* name;
  const char* compile;
  const char* precision;
};

constexpr std::string_view kAll = "all";
constexpr std::string_view kOptions[] = {"baseline",  "baselines", "cache",
                                         "precision", "processes", "shape_jitter"};

constexpr Named kBaselines[] = {
    {kEager, "", ""},
    {"compile", "default", ""},
    // With CUDA graphs a call would return memory that the next one overwrites.
    {"compile-max-autotune", "max-autotune-no-cudagraphs", ""},
    {"eager-tf32", "", "tf32"},
};

const Named* Find(std::string_view name) {
  const auto* found = std::find_if(std::begin(kBaselines), std::end(kBaselines),
                                   [&](const Named& one) { return name == one.name; });
  return found == std::end(kBaselines) ? nullptr : found;
}

Error Unknown(std::string_view what, std::string_view word, std::string_view known) {
  return Err(ErrorCode::kInvalid, "there is no {} '{}'; there are {}", what,
             CleanText(word.substr(0, 100)), known);
}

}  // namespace

Result<ShapeJitter> ParseShapeJitter(std::string_view word) {
  if (word == "off") return ShapeJitter::kOff;
  if (word == "report") return ShapeJitter::kReport;
  if (word == "require") return ShapeJitter::kRequire;
  return Unknown("shape jitter", word, "off, report and require");
}

Result<std::string> ParsePrecision(std::string_view word) {
  if (word == "default" || word == "ieee" || word == "tf32") return std::string(word);
  return Unknown("precision", word, "default, ieee and tf32");
}

Result<bool> ParseCache(std::string_view word) {
  if (word == "cold" || word == "warm") return word == "warm";
  return Unknown("cache mode", word, "cold and warm");
}

Status ChooseBaselines(std::span<const std::string> measured, std::string_view chosen,
                       Modes* modes) {
  constexpr std::string_view kKnown = "eager, compile, compile-max-autotune and eager-tf32";
  if (Find(chosen) == nullptr) return Unknown("baseline", chosen, kKnown);
  const auto asked = [&](std::string_view name) {
    return std::find(measured.begin(), measured.end(), name) != measured.end();
  };
  for (const std::string& name : measured)
    if (Find(name) == nullptr && name != kAll)
      return Unknown("baseline", name, fmt::format("all, {}", kKnown));
  modes->baseline = std::string(chosen);
  modes->baselines.clear();
  // In the table's order: their processes are taken in it.
  for (const Named& one : kBaselines)
    if (one.name != std::string_view(kEager) &&
        (asked(one.name) || asked(kAll) || one.name == chosen))
      modes->baselines.emplace_back(one.name);
  return {};
}

bool IsMode(std::string_view option) {
  return std::find(std::begin(kOptions), std::end(kOptions), option) != std::end(kOptions);
}

Result<Modes> ReadModes(const json::object& options) {
  Modes modes;
  const auto text = [&](const char* name, const char* otherwise) -> Result<std::string> {
    const json::value* value = options.if_contains(name);
    if (value == nullptr) return std::string(otherwise);
    if (value->is_string()) return std::string(value->get_string());
    return Err(ErrorCode::kInvalid, "option '{}' must be a string", name);
  };
  ASSAY_ASSIGN_OR_RETURN(const std::string jitter, text("shape_jitter", "report"));
  ASSAY_ASSIGN_OR_RETURN(modes.shape_jitter, ParseShapeJitter(jitter));
  ASSAY_ASSIGN_OR_RETURN(const std::string cache, text("cache", "cold"));
  ASSAY_ASSIGN_OR_RETURN(modes.warm_cache, ParseCache(cache));
  if (options.contains("precision")) {
    ASSAY_ASSIGN_OR_RETURN(const std::string precision, text("precision", ""));
    ASSAY_ASSIGN_OR_RETURN(modes.precision, ParsePrecision(precision));
  }
  std::vector<std::string> measured;
  if (const json::value* names = options.if_contains("baselines")) {
    if (names->is_string()) measured.emplace_back(names->get_string());
    if (!names->is_string() && !names->is_array())
      return Err(ErrorCode::kInvalid, "option 'baselines' must be an array of names, or \"all\"");
    for (const json::value& name : names->is_array() ? names->get_array() : json::array()) {
      if (!name.is_string())
        return Err(ErrorCode::kInvalid, "option 'baselines' must hold names of baselines");
      measured.emplace_back(name.get_string());
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string chosen, text("baseline", kEager));
  ASSAY_RETURN_IF_ERROR(ChooseBaselines(measured, chosen, &modes));
  if (const json::value* processes = options.if_contains("processes")) {
    if (!processes->is_int64() || processes->get_int64() < 1 ||
        processes->get_int64() > kMostProcesses)
      return Err(ErrorCode::kInvalid, "option 'processes' must be an integer from 1 to {}",
                 kMostProcesses);
    modes.processes = static_cast<int>(processes->get_int64());
  }
  return modes;
}

json::object ModesSchema() {
  json::array names;
  for (const Named& one : kBaselines) names.emplace_back(one.name);
  const auto one_of = [](json::array words, const char* otherwise, const char* description) {
    json::object schema{{"enum", std::move(words)}, {"description", description}};
    if (otherwise != nullptr) schema["default"] = otherwise;
    return schema;
  };
  json::array many = names;
  many.emplace_back(kAll);
  json::object schemas;
  schemas["shape_jitter"] = one_of(
      {"off", "report", "require"}, "report",
      "Smaller inputs that the reference accepts: not tried, a flag, or one more trial to pass.");
  schemas["precision"] =
      one_of({"default", "ieee", "tf32"}, nullptr,
             "Of float32 matrix work, for reference and submission alike; absent: as the task "
             "says, else torch's own.");
  schemas["cache"] = one_of({"cold", "warm"}, "cold", "What timed calls find in the cache.");
  schemas["baselines"] = json::object{
      {"type", "array"},
      {"items", json::object{{"enum", std::move(many)}}},
      {"description", "What else the submission is timed against, beside eager PyTorch."}};
  schemas["baseline"] = one_of(std::move(names), kEager, "The one that the speedup is of.");
  schemas["processes"] = json::object{
      {"type", "integer"},
      {"minimum", 1},
      {"maximum", kMostProcesses},
      {"default", 1},
      {"description", "Pairs of fresh processes that are timed; the interval holds between them."}};
  return schemas;
}

BaselineRecipe RecipeOf(std::string_view baseline) {
  const Named* one = Find(baseline);
  return one == nullptr ? BaselineRecipe{} : BaselineRecipe{one->compile, one->precision};
}

}  // namespace assay
