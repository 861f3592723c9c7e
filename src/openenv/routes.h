#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "http/message.h"
#include "http/router.h"
#include "openenv/environment.h"
#include "openenv/service.h"

namespace assay::openenv {

// One part of the HTTP surface each.
void AddMcpRoutes(http::Router* router, const std::shared_ptr<Service>& service);
void AddTaskRoutes(http::Router* router, const std::shared_ptr<Service>& service);
void AddWebRoutes(http::Router* router, const std::shared_ptr<Service>& service);

/// {"detail": "..."}: how OpenEnv's servers refuse.
http::Response Detail(int status, std::string_view message);
/// 422 with a list of errors.
http::Response Unprocessable(json::array errors);
/// How an HTTP client is told what a WebSocket client is told as an error message.
http::Response ToResponse(const Environment::Answer& answer);

/// The body as an object; an empty body is an empty one if `optional`. Else the 422 to send.
std::variant<json::object, http::Response> BodyObject(const http::Request& request, bool optional);

/// The object that /metadata and /web/metadata give.
json::object MetadataJson(const Service& service);

/// Puts "body" before each error's location, as a request body's errors have it.
json::array InBody(json::array errors);

}  // namespace assay::openenv
