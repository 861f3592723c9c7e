#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace assay::openenv {

/// What a validator may read about one connection's episode: the seed that arrived, and the exact
/// messages. Offered only when the operator gave a token, and only to who knows it.
class Telemetry {
 public:
  /// `token` empty: switched off.
  explicit Telemetry(std::string token) : token_(std::move(token)) {}

  /// The reply's data, or nothing: then the one fixed refusal is due, whatever was wrong. Must come
  /// before anything else on the connection, once. Compares in constant time.
  std::optional<json::object> Open(const json::object& data, bool first);
  std::optional<json::object> Read(const json::object& data) const;

  [[nodiscard]] bool open() const { return !capability_.empty(); }

  /// One exchange of an open telemetry; a reset begins anew.
  void Record(std::string_view operation, const json::value& request, const json::value& response);

 private:
  std::string token_;
  std::string capability_;
  json::array records_;
  json::object seed_;
  size_t steps_ = 0;
  size_t bytes_ = 0;
  std::string overflow_;  ///< why the record is not complete
};

}  // namespace assay::openenv
