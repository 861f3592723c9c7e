#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

namespace json = boost::json;

/// Limits for text that others wrote. The depth stops stack attacks, the size is the caller's.
inline constexpr size_t kJsonMaxDepth = 32;

/// Parses strict JSON (UTF-8 checked, no trailing text); refuses more than `max_bytes`.
Result<json::value> ParseJson(std::string_view text, size_t max_bytes = 16u << 20);

/// As ParseJson, for a document that must be an object.
Result<json::object> ParseJsonObject(std::string_view text, size_t max_bytes = 16u << 20);

/// Indented text for people and golden files; keys keep their order.
std::string PrettyJson(const json::value& value);

/// Typed reading of members that may be absent or of another type: then `fallback`.
/// These never throw, so they are safe on objects that a hostile peer wrote.
std::string GetString(const json::object& object, std::string_view key,
                      std::string_view fallback = "");
double GetDouble(const json::object& object, std::string_view key, double fallback = 0);
int64_t GetInt(const json::object& object, std::string_view key, int64_t fallback = 0);
bool GetBool(const json::object& object, std::string_view key, bool fallback = false);
/// The member if it is an object or array, else an empty one.
const json::object& GetObject(const json::object& object, std::string_view key);
const json::array& GetArray(const json::object& object, std::string_view key);

}  // namespace assay
