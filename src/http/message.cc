#include "http/message.h"

#include <algorithm>

namespace assay::http {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view CodeOf(int status) {
  switch (status) {
    case 400:
      return "bad_request";
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 408:
      return "timeout";
    case 413:
      return "too_large";
    case 417:
      return "expectation_failed";
    case 421:
      return "wrong_host";
    case 426:
      return "upgrade_required";
    case 429:
      return "too_many_requests";
    case 431:
      return "header_too_large";
    case 503:
      return "unavailable";
    default:
      return status >= 500 ? "internal" : "refused";
  }
}

}  // namespace

void Headers::Add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void Headers::Set(std::string_view name, std::string value) {
  std::erase_if(fields_, [&](const auto& field) { return SameName(field.first, name); });
  fields_.emplace_back(std::string(name), std::move(value));
}

std::optional<std::string_view> Headers::Find(std::string_view name) const {
  for (const auto& [field, value] : fields_)
    if (SameName(field, name)) return value;
  return std::nullopt;
}

std::optional<std::string_view> Request::Query(std::string_view name) const {
  for (const auto& [field, value] : query)
    if (field == name) return value;
  return std::nullopt;
}

std::string_view Request::Captured(std::string_view name) const {
  for (const auto& [field, value] : captured)
    if (field == name) return value;
  return "";
}

Response Response::Json(const json::value& value, int status) {
  Response response;
  response.status = status;
  response.body = json::serialize(value);
  return response;
}

Response Response::Text(std::string text, int status, std::string content_type) {
  Response response;
  response.status = status;
  response.content_type = std::move(content_type);
  response.body = std::move(text);
  return response;
}

Response Response::Problem(const Request& request, int status, std::string_view message) {
  return Problem(request, status, CodeOf(status), message);
}

Response Response::Problem(const Request& request, int status, std::string_view code,
                           std::string_view message) {
  return Json({{"error", {{"code", code}, {"message", message}, {"request_id", request.id}}}},
              status);
}

std::string_view ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kNone:
      return "none";
    case Scope::kRead:
      return "read";
    case Scope::kSubmit:
      return "submit";
    case Scope::kWorker:
      return "worker";
    case Scope::kAdmin:
      return "admin";
  }
  return "none";
}

}  // namespace assay::http
