#include "broker/evaluation_options.h"

#include <string>
#include <vector>

#include "base/strings.h"
#include "tools/sanitizer.h"

namespace assay {
namespace {

struct Bounds {
  const char* name;
  double low;
  double high;
  const char* description;
};

// One place for parser and schema.
constexpr const char* kTime = "time";
constexpr const char* kProfile = "profile";
constexpr const char* kGhost = "ghost";
constexpr const char* kNcuOption = "ncu";
constexpr const char* kSanitize = "sanitize";
constexpr Bounds kTrials{"trials", 1, 100, "Hidden-seed trials."};
constexpr Bounds kLoad{"load_timeout_s", 0.1, 600, "Seconds for import and construction."};
constexpr Bounds kCompile{"compile_timeout_s", 0.1, 1800,
                          "Seconds for the same when C++ or CUDA is compiled."};
constexpr Bounds kCall{"call_timeout_s", 0.1, 600, "Seconds for one call."};

Result<double> Number(const Bounds& bounds, const json::value& value) {
  const double number = value.is_number() ? value.to_number<double>() : bounds.low - 1;
  if (number >= bounds.low && number <= bounds.high) return number;
  return Err(ErrorCode::kInvalid, "option '{}' must be a number from {:g} to {:g}", bounds.name,
             bounds.low, bounds.high);
}

json::object NumberSchema(const Bounds& bounds, const char* type) {
  return {{"type", type},
          {"minimum", bounds.low},
          {"maximum", bounds.high},
          {"description", bounds.description}};
}

}  // namespace

Result<EvaluationOptions> ParseEvaluationOptions(const json::object& options) {
  EvaluationOptions parsed;
  ASSAY_ASSIGN_OR_RETURN(parsed.modes, ReadModes(options));
  for (const auto& [key, value] : options) {
    if (key == kTime || key == kProfile || key == kGhost || key == kNcuOption) {
      if (!value.is_bool())
        return Err(ErrorCode::kInvalid, "option '{}' must be true or false", std::string_view(key));
      bool& flag = key == kTime      ? parsed.time
                   : key == kProfile ? parsed.profile
                   : key == kGhost   ? parsed.ghost
                                     : parsed.ncu;
      flag = value.get_bool();
    } else if (key == kSanitize) {
      const json::string* name = value.if_string();
      Result<std::string> tool = ParseSanitizer(name != nullptr ? std::string_view(*name) : "");
      if (!tool.ok())
        return Err(ErrorCode::kInvalid, "option '{}': {}", kSanitize, tool.error().message);
      parsed.sanitize = *std::move(tool);
    } else if (key == kTrials.name) {
      ASSAY_ASSIGN_OR_RETURN(const double trials, Number(kTrials, value));
      parsed.trials = static_cast<int>(trials);
      if (static_cast<double>(*parsed.trials) != trials)
        return Err(ErrorCode::kInvalid, "option '{}' must be a whole number", kTrials.name);
    } else if (key == kLoad.name) {
      ASSAY_ASSIGN_OR_RETURN(parsed.load_s, Number(kLoad, value));
    } else if (key == kCompile.name) {
      ASSAY_ASSIGN_OR_RETURN(parsed.compile_s, Number(kCompile, value));
    } else if (key == kCall.name) {
      ASSAY_ASSIGN_OR_RETURN(parsed.call_s, Number(kCall, value));
    } else if (!IsMode(key)) {
      std::vector<std::string> known = {kTime,      kProfile,      kGhost,
                                        kNcuOption, kSanitize,     kTrials.name,
                                        kLoad.name, kCompile.name, kCall.name};
      for (const auto& [mode, schema] : ModesSchema()) known.emplace_back(mode);
      return Err(ErrorCode::kInvalid, "there is no option '{}'; there are {}",
                 std::string_view(key).substr(0, 100), Join(known, ", "));
    }
  }
  return parsed;
}

json::object EvaluationOptionsSchema() {
  json::object properties;
  properties[kTime] = json::object{
      {"type", "boolean"}, {"default", true}, {"description", "False: correctness only."}};
  properties[kProfile] = json::object{
      {"type", "boolean"},
      {"default", false},
      {"description", "Whether to profile a correct submission: kernels, coverage (GPU only)."}};
  properties[kGhost] = json::object{
      {"type", "boolean"},
      {"default", false},
      {"description", "Whether to call a correct submission once without its own kernels."}};
  properties[kNcuOption] = json::object{
      {"type", "boolean"},
      {"default", false},
      {"description",
       "Whether Nsight Compute looks at a correct submission's own kernels; up to a minute."}};
  json::array sanitizers;
  for (const std::string_view tool : kSanitizers) sanitizers.emplace_back(tool);
  properties[kSanitize] = json::object{
      {"type", "string"},
      {"enum", std::move(sanitizers)},
      {"description", "A tool of compute-sanitizer to run it under once more; up to a minute."}};
  properties[kTrials.name] = NumberSchema(kTrials, "integer");
  for (const Bounds& bounds : {kLoad, kCompile, kCall})
    properties[bounds.name] = NumberSchema(bounds, "number");
  for (auto& [name, schema] : ModesSchema()) properties[name] = schema;
  return {
      {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
}

}  // namespace assay
