#include "base/json.h"

#include <boost/json/src.hpp>

namespace assay {
namespace {

void Pretty(const json::value& value, int indent, std::string* out) {
  const std::string pad(static_cast<size_t>(indent) * 2 + 2, ' ');
  const std::string close(static_cast<size_t>(indent) * 2, ' ');
  if (value.is_object() && !value.get_object().empty()) {
    *out += "{\n";
    bool first = true;
    for (const auto& member : value.get_object()) {
      if (!first) *out += ",\n";
      first = false;
      *out += pad + json::serialize(json::value(member.key())) + ": ";
      Pretty(member.value(), indent + 1, out);
    }
    *out += "\n" + close + "}";
  } else if (value.is_array() && !value.get_array().empty()) {
    *out += "[\n";
    bool first = true;
    for (const json::value& item : value.get_array()) {
      if (!first) *out += ",\n";
      first = false;
      *out += pad;
      Pretty(item, indent + 1, out);
    }
    *out += "\n" + close + "]";
  } else {
    *out += json::serialize(value);
  }
}

const json::value* Find(const json::object& object, std::string_view key) {
  return object.if_contains(key);
}

}  // namespace

Result<json::value> ParseJson(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes)
    return Err(ErrorCode::kInvalid, "JSON text of {} bytes is over the limit of {}", text.size(),
               max_bytes);
  json::parse_options options;
  options.max_depth = kJsonMaxDepth;
  boost::system::error_code code;
  try {
    json::value value = json::parse(text, code, {}, options);
    if (code) return Err(ErrorCode::kInvalid, "not valid JSON: {}", code.message());
    return value;
  } catch (const std::exception& exception) {
    return Err(ErrorCode::kInvalid, "not valid JSON: {}", exception.what());
  }
}

Result<json::object> ParseJsonObject(std::string_view text, size_t max_bytes) {
  ASSAY_ASSIGN_OR_RETURN(json::value value, ParseJson(text, max_bytes));
  if (!value.is_object()) return Err(ErrorCode::kInvalid, "expected a JSON object");
  return std::move(value.get_object());
}

std::string PrettyJson(const json::value& value) {
  std::string out;
  Pretty(value, 0, &out);
  return out;
}

std::string GetString(const json::object& object, std::string_view key, std::string_view fallback) {
  const json::value* value = Find(object, key);
  return std::string(value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                            : fallback);
}

double GetDouble(const json::object& object, std::string_view key, double fallback) {
  const json::value* value = Find(object, key);
  if (value == nullptr) return fallback;
  if (value->is_double()) return value->get_double();
  if (value->is_int64()) return static_cast<double>(value->get_int64());
  if (value->is_uint64()) return static_cast<double>(value->get_uint64());
  return fallback;
}

int64_t GetInt(const json::object& object, std::string_view key, int64_t fallback) {
  const json::value* value = Find(object, key);
  if (value == nullptr || !value->is_int64()) return fallback;
  return value->get_int64();
}

bool GetBool(const json::object& object, std::string_view key, bool fallback) {
  const json::value* value = Find(object, key);
  return value != nullptr && value->is_bool() ? value->get_bool() : fallback;
}

const json::object& GetObject(const json::object& object, std::string_view key) {
  static const json::object kEmpty;
  const json::value* value = Find(object, key);
  return value != nullptr && value->is_object() ? value->get_object() : kEmpty;
}

const json::array& GetArray(const json::object& object, std::string_view key) {
  static const json::array kEmpty;
  const json::value* value = Find(object, key);
  return value != nullptr && value->is_array() ? value->get_array() : kEmpty;
}

}  // namespace assay
