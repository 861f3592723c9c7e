#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "http/router.h"

namespace assay::api {

struct Parameter {
  std::string name;
  std::string in;  ///< "query", "path", "header"
  json::object schema;
  std::string description;
};

/// A response or request body: the name of a schema in components, or empty for plain text.
struct Body {
  std::string schema;
  std::string content_type = "application/json";
  std::string description;
};

/// One method of one path: what is registered, and what the OpenAPI document says of it.
struct Operation {
  std::string method;
  std::string path;  ///< as Router takes it
  http::Scope scope = http::Scope::kRead;
  std::string id;  ///< operationId
  std::string summary;
  std::vector<Parameter> parameters;
  std::optional<Body> request;
  std::vector<std::pair<int, Body>> responses;  ///< without the errors that all have
  http::Handler handler;
  size_t body_bytes = 0;  ///< of the largest body; 0: the server's limit
};

/// The OpenAPI 3.1 document of `operations`; `schemas` are its components.
json::object OpenApi(const std::vector<Operation>& operations, const json::object& schemas,
                     const std::string& version);

/// Schemas of everything that the API takes and returns, by name; "Verdict" is assay.verdict/1.
json::object Schemas();

}  // namespace assay::api
