#include "reward/parameters.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace assay::reward {
namespace {

bool InRange(const json::value& value, const ParameterSpec& spec) {
  if (!value.is_number()) return false;
  const double number = value.to_number<double>();
  return number >= spec.low && number <= spec.high;  // False for NaN.
}

Status Check(const ParameterSpec& spec, const json::value& value) {
  if (spec.fallback.is_bool()) {
    if (value.is_bool()) return {};
    return Err(ErrorCode::kInvalid, "parameter {} must be true or false", spec.name);
  }
  if (spec.fallback.is_string()) {
    if (value.is_string() && std::find(spec.choices.begin(), spec.choices.end(),
                                       std::string_view(value.get_string())) != spec.choices.end())
      return {};
    const std::vector<std::string> words(spec.choices.begin(), spec.choices.end());
    return Err(ErrorCode::kInvalid, "parameter {} must be one of {}", spec.name, Join(words, ", "));
  }
  if (spec.fallback.is_object()) {
    if (value.is_object()) return {};
    return Err(ErrorCode::kInvalid, "parameter {} must be an object", spec.name);
  }
  if (spec.fallback.is_array()) {
    const json::array* list = value.if_array();
    bool fits = list != nullptr && !list->empty() && list->size() <= kMaxListedNumbers;
    for (size_t i = 0; fits && i < list->size(); ++i) {
      fits = InRange((*list)[i], spec) &&
             (i == 0 || (*list)[i - 1].to_number<double>() < (*list)[i].to_number<double>());
    }
    if (fits) return {};
    return Err(ErrorCode::kInvalid,
               "parameter {} must be a list of 1 to {} ascending numbers from {} to {}", spec.name,
               kMaxListedNumbers, spec.low, spec.high);
  }
  if (InRange(value, spec)) return {};
  return Err(ErrorCode::kInvalid, "parameter {} must be a number from {} to {}", spec.name,
             spec.low, spec.high);
}

}  // namespace

Result<Parameters> Parameters::Make(const std::vector<ParameterSpec>& specs,
                                    const json::object& overrides) {
  Parameters parameters;
  std::vector<std::string> names;
  for (const ParameterSpec& spec : specs) {
    names.emplace_back(spec.name);
    const json::value* value = overrides.if_contains(spec.name);
    if (value != nullptr) ASSAY_RETURN_IF_ERROR(Check(spec, *value));
    parameters.values_[spec.name] = value != nullptr ? *value : spec.fallback;
  }
  for (const auto& [name, value] : overrides)
    if (!parameters.values_.contains(name))
      return Err(ErrorCode::kInvalid, "there is no parameter '{}'; there are {}",
                 CleanText(TruncateMiddle(name, 100)), Join(names, ", "));
  return parameters;
}

const json::value& Parameters::Find(std::string_view name) const {
  const json::value* value = values_.if_contains(name);
  ASSAY_CHECK(value != nullptr);
  return *value;
}

double Parameters::Number(std::string_view name) const { return Find(name).to_number<double>(); }

bool Parameters::Flag(std::string_view name) const { return Find(name).as_bool(); }

std::string_view Parameters::Text(std::string_view name) const { return Find(name).as_string(); }

std::vector<double> Parameters::Numbers(std::string_view name) const {
  std::vector<double> numbers;
  for (const json::value& value : Find(name).as_array())
    numbers.push_back(value.to_number<double>());
  return numbers;
}

const json::object& Parameters::Object(std::string_view name) const {
  return Find(name).as_object();
}

}  // namespace assay::reward
