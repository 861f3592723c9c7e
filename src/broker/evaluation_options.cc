#include "broker/evaluation_options.h"

#include <string>

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
  for (const auto& [key, value] : options) {
    if (key == kTime || key == kProfile || key == kGhost) {
      if (!value.is_bool())
        return Err(ErrorCode::kInvalid, "option '{}' must be true or false", std::string_view(key));
      bool& flag = key == kTime ? parsed.time : key == kProfile ? parsed.profile : parsed.ghost;
      flag = value.get_bool();
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
    } else {
      return Err(ErrorCode::kInvalid,
                 "there is no option '{}'; there are {}, {}, {}, {}, {}, {} and {}",
                 std::string_view(key).substr(0, 100), kTime, kProfile, kGhost, kTrials.name,
                 kLoad.name, kCompile.name, kCall.name);
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
  properties[kTrials.name] = NumberSchema(kTrials, "integer");
  for (const Bounds& bounds : {kLoad, kCompile, kCall})
    properties[bounds.name] = NumberSchema(bounds, "number");
  return {
      {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
}

}  // namespace assay
