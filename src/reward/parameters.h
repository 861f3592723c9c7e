#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay::reward {

/// One parameter of a mode. Its default fixes its type: number, boolean, string (one of `choices`),
/// array (ascending numbers) or object (of another mode's parameters).
struct ParameterSpec {
  std::string_view name;
  json::value fallback;
  double low = 0;  ///< of numbers, those in arrays too
  double high = 0;
  std::vector<std::string_view> choices = {};
};

inline constexpr size_t kMaxListedNumbers = 16;

/// A mode's parameters: the defaults, with those that the caller named in their place.
class Parameters {
 public:
  /// kInvalid: a name that is none of `specs`, another type, or a value out of range.
  static Result<Parameters> Make(const std::vector<ParameterSpec>& specs,
                                 const json::object& overrides);

  /// The names are the mode's own, so asking for another one is a programmer's error.
  [[nodiscard]] double Number(std::string_view name) const;
  [[nodiscard]] bool Flag(std::string_view name) const;
  [[nodiscard]] std::string_view Text(std::string_view name) const;
  [[nodiscard]] std::vector<double> Numbers(std::string_view name) const;
  [[nodiscard]] const json::object& Object(std::string_view name) const;

 private:
  [[nodiscard]] const json::value& Find(std::string_view name) const;

  json::object values_;
};

}  // namespace assay::reward
