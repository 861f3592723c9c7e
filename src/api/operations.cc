#include "api/operations.h"

namespace assay::api {
namespace {

json::object Reference(const std::string& schema) {
  if (schema.empty()) return {{"type", "string"}};
  return {{"$ref", "#/components/schemas/" + schema}};
}

json::object Content(const Body& body) {
  return {{body.content_type, {{"schema", Reference(body.schema)}}}};
}

/// "{id...}" of the router is "{id}" there.
std::string PathOf(const std::string& pattern) {
  std::string path = pattern;
  if (const size_t at = path.find("...}"); at != std::string::npos) path.erase(at, 3);
  return path;
}

json::object Describe(const Operation& operation) {
  json::object out;
  out["operationId"] = operation.id;
  out["summary"] = operation.summary;
  out["x-scope"] = http::ScopeName(operation.scope);
  json::array parameters;
  for (const Parameter& parameter : operation.parameters)
    parameters.push_back(json::object{{"name", parameter.name},
                                      {"in", parameter.in},
                                      {"required", parameter.in == "path"},
                                      {"description", parameter.description},
                                      {"schema", parameter.schema}});
  if (!parameters.empty()) out["parameters"] = std::move(parameters);
  if (operation.request)
    out["requestBody"] = {{"required", true}, {"content", Content(*operation.request)}};
  json::object responses;
  for (const auto& [status, body] : operation.responses)
    responses[std::to_string(status)] = {{"description", body.description},
                                         {"content", Content(body)}};
  responses["default"] = {{"description", "What went wrong; 429 and 503 carry Retry-After."},
                          {"content", Content({.schema = "Problem", .description = ""})}};
  out["responses"] = std::move(responses);
  return out;
}

}  // namespace

json::object OpenApi(const std::vector<Operation>& operations, const json::object& schemas,
                     const std::string& version) {
  json::object paths;
  for (const Operation& operation : operations) {
    json::value& path = paths[PathOf(operation.path)];
    if (!path.is_object()) path = json::object();
    std::string method;
    for (const char c : operation.method)
      method += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    path.get_object()[method] = Describe(operation);
  }
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Assay"},
            {"version", version},
            {"description", "Judges GPU kernels written by language models."}}},
          {"security", json::array{json::object{{"key", json::array{}}}}},
          {"paths", std::move(paths)},
          {"components",
           {{"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}},
            {"schemas", schemas}}}};
}

}  // namespace assay::api
