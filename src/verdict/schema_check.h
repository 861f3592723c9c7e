#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"

namespace assay::test {

/// What is wrong with `document` by `schema`, empty when nothing is. Knows the part of JSON Schema
/// that the verdict's schema uses, and is stricter in one way: an object's keys must come in the
/// order of the schema's properties.
class SchemaChecker {
 public:
  explicit SchemaChecker(const json::object& root) : root_(root) {}

  std::vector<std::string> Check(const json::value& document) {
    errors_.clear();
    Value(root_, document, "$");
    return errors_;
  }

 private:
  static bool HasType(const json::value& value, std::string_view type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_bool();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_int64() || value.is_uint64();
    return type == "number" && value.is_number();
  }

  static bool Contains(const json::array& values, const json::value& value) {
    for (const json::value& item : values)
      if (item == value) return true;
    return false;
  }

  bool Matches(const json::object& schema, const json::value& value) {
    SchemaChecker trial(root_);
    trial.Value(schema, value, "");
    return trial.errors_.empty();
  }

  void Fail(const std::string& path, std::string_view what) {
    errors_.push_back(fmt::format("{}: {}", path, what));
  }

  void Value(const json::object& schema, const json::value& value, const std::string& path) {
    if (const std::string ref = GetString(schema, "$ref"); !ref.empty())
      Value(GetObject(GetObject(root_, "$defs"), ref.substr(ref.rfind('/') + 1)), value, path);
    if (const json::value* type = schema.if_contains("type")) {
      bool any = type->is_string() && HasType(value, type->get_string());
      for (const json::value& name : GetArray(schema, "type"))
        any = any || HasType(value, name.as_string());
      if (!any) Fail(path, "wrong type: " + json::serialize(value));
    }
    if (schema.contains("enum") && !Contains(GetArray(schema, "enum"), value))
      Fail(path, "not listed: " + json::serialize(value));
    if (const json::value* constant = schema.if_contains("const"); constant && *constant != value)
      Fail(path, "not the constant: " + json::serialize(value));
    if (value.is_number()) {
      const double number = value.to_number<double>();
      if (schema.contains("minimum") && number < GetDouble(schema, "minimum"))
        Fail(path, "below the minimum");
      if (schema.contains("exclusiveMinimum") && number <= GetDouble(schema, "exclusiveMinimum"))
        Fail(path, "not above the minimum");
    }
    if (schema.contains("anyOf")) {
      bool any = false;
      for (const json::value& option : GetArray(schema, "anyOf"))
        any = any || Matches(option.as_object(), value);
      if (!any) Fail(path, "matches none of anyOf: " + json::serialize(value));
    }
    for (const json::value& part : GetArray(schema, "allOf")) Value(part.as_object(), value, path);
    if (schema.contains("if"))
      Value(GetObject(schema, Matches(GetObject(schema, "if"), value) ? "then" : "else"), value,
            path);
    if (value.is_array() && schema.contains("items"))
      for (size_t i = 0; i < value.get_array().size(); ++i)
        Value(GetObject(schema, "items"), value.get_array()[i], fmt::format("{}[{}]", path, i));
    if (value.is_object()) Object(schema, value.get_object(), path);
  }

  void Object(const json::object& schema, const json::object& object, const std::string& path) {
    const json::object& properties = GetObject(schema, "properties");
    for (const json::value& key : GetArray(schema, "required"))
      if (!object.contains(key.as_string())) Fail(path, fmt::format("lacks {}", Text(key)));
    if (const json::object& dependent = GetObject(schema, "dependentRequired"); !dependent.empty())
      for (const auto& [key, needed] : dependent)
        for (const json::value& other : needed.as_array())
          if (object.contains(key) && !object.contains(other.as_string()))
            Fail(path, fmt::format("has {} without {}", std::string_view(key), Text(other)));
    const json::value* additional = schema.if_contains("additionalProperties");
    const bool closed = additional != nullptr && *additional == json::value(false);
    const json::value* last = nullptr;
    for (const auto& [key, value] : object) {
      const std::string member = fmt::format("{}.{}", path, std::string_view(key));
      const json::value* property = properties.if_contains(key);
      if (property == nullptr) {
        if (closed) Fail(member, "not in the schema");
        if (additional != nullptr && additional->is_object())
          Value(additional->get_object(), value, member);
        continue;
      }
      if (closed && last != nullptr && property < last) Fail(member, "out of order");
      last = property;
      Value(property->as_object(), value, member);
    }
  }

  static std::string_view Text(const json::value& string) { return string.as_string(); }

  const json::object& root_;
  std::vector<std::string> errors_;
};

inline std::vector<std::string> SchemaErrors(const json::object& schema,
                                             const json::object& document) {
  return SchemaChecker(schema).Check(document);
}

}  // namespace assay::test
