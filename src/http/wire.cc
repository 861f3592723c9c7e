#include "http/wire.h"

#include <arpa/inet.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>

#include "base/log.h"
#include "base/log_request.h"
#include "base/strings.h"
#include "http/url.h"

namespace assay::http {
namespace {

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool IsToken(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

bool IsFieldValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

/// "example.com" of "example.com:8000"; brackets stay on IPv6 addresses.
std::string_view WithoutPort(std::string_view host) {
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && bracket > colon))
    return host;
  return host.substr(0, colon);
}

/// "10.0.0.1" or "[::1]". No resolver was asked for it, so no web page chose it.
bool IsAddress(const std::string& host) {
  in6_addr address{};
  if (host.starts_with('[') && host.ends_with(']'))
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

std::string_view OriginHost(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? "" : origin.substr(scheme + 3);
}

bool IsAllowedOrigin(const Site& site, std::string_view origin) {
  return std::any_of(site.origins.begin(), site.origins.end(),
                     [&](const std::string& item) { return item == "*" || item == origin; });
}

}  // namespace

std::optional<Refusal> FillRequest(const Head& head, std::string fresh_id, Request* request) {
  request->method = View(head.method_string());
  for (const auto& field : head)
    request->headers.Add(std::string(View(field.name_string())), std::string(View(field.value())));
  const std::string_view id = View(head["X-Request-ID"]);
  request->id = IsToken(id) ? std::string(id) : std::move(fresh_id);
  Result<Target> target = ParseTarget(View(head.target()));
  if (!target.ok()) {
    request->path = "/";
    return Refusal{400, target.error().message};
  }
  request->path = std::move(target->path);
  request->query = std::move(target->query);
  if (head.version() >= 11 && head.count(beast_http::field::host) != 1)
    return Refusal{400, "an HTTP/1.1 request must have one Host header"};
  // What another coding hides would be read as the next request.
  if (const size_t codings = head.count(beast_http::field::transfer_encoding); codings > 0) {
    if (head.version() < 11) return Refusal{400, "HTTP/1.0 has no Transfer-Encoding"};
    if (codings > 1 || ToLower(View(head[beast_http::field::transfer_encoding])) != "chunked")
      return Refusal{501, "the only Transfer-Encoding here is 'chunked'"};
  }
  return std::nullopt;
}

std::optional<Refusal> CheckOrigin(const Site& site, const Request& request, bool changes) {
  const std::string_view host = request.headers.Find("Host").value_or("");
  if (!site.hosts.empty()) {
    const std::string name = ToLower(WithoutPort(host));
    if (!IsAddress(name) &&
        std::find(site.hosts.begin(), site.hosts.end(), name) == site.hosts.end())
      return Refusal{421,
                     "this server does not answer to that Host; the operator can allow it "
                     "with --allow-host or KERNEL_ENV_ALLOW_HOSTS"};
  }
  const std::optional<std::string_view> origin = request.headers.Find("Origin");
  if (!changes || !origin || IsAllowedOrigin(site, *origin)) return std::nullopt;
  if (ToLower(OriginHost(*origin)) == ToLower(host)) return std::nullopt;
  return Refusal{403,
                 "web pages of this origin may not use the server; the operator can allow them "
                 "with --cors-origin"};
}

void AddCors(const Site& site, const Request& request, Response* response) {
  const std::optional<std::string_view> origin = request.headers.Find("Origin");
  if (!origin || !IsAllowedOrigin(site, *origin)) return;
  response->headers.Set("Access-Control-Allow-Origin", std::string(*origin));
  response->headers.Set("Vary", "Origin");
  response->headers.Set("Access-Control-Expose-Headers", "X-Request-ID, Retry-After, X-Error-Code");
}

std::optional<Response> Preflight(const Site& site, const Request& request) {
  const std::optional<std::string_view> origin = request.headers.Find("Origin");
  const auto method = request.headers.Find("Access-Control-Request-Method");
  if (request.method != "OPTIONS" || !method || !origin || !IsAllowedOrigin(site, *origin))
    return std::nullopt;
  Response response = Response::Text("", 204, "");
  response.headers.Set("Access-Control-Allow-Methods", std::string(*method));
  if (const auto names = request.headers.Find("Access-Control-Request-Headers"); names)
    response.headers.Set("Access-Control-Allow-Headers", std::string(*names));
  response.headers.Set("Access-Control-Max-Age", "600");
  return response;
}

std::string SerializeHead(const Response& response, const HeadOptions& options) {
  const bool empty = response.status == 204 || response.status == 304;
  const auto reason = beast_http::obsolete_reason(
      beast_http::int_to_status(static_cast<unsigned>(response.status)));
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nServer: assay\r\nDate: {}\r\nX-Request-ID: {}\r\n",
                  response.status, View(reason), options.date, options.request_id);
  if (!empty) {
    if (!response.content_type.empty() && IsFieldValue(response.content_type))
      head += fmt::format("Content-Type: {}\r\n", response.content_type);
    head += "X-Content-Type-Options: nosniff\r\n";
    if (options.chunked) {
      head += "Transfer-Encoding: chunked\r\n";
    } else if (!response.stream) {
      head += fmt::format("Content-Length: {}\r\n", response.body.size());
    }
  }
  for (const auto& [name, value] : response.headers) {
    if (IsToken(name) && IsFieldValue(value)) {
      head += fmt::format("{}: {}\r\n", name, value);
    } else {
      LogWarn("http: left out a header field that would break the message");
    }
  }
  if (!options.keep_alive) {
    head += "Connection: close\r\n";
  } else if (options.http_1_0) {
    head += "Connection: keep-alive\r\n";
  }
  head += "\r\n";
  return head;
}

std::string LoggedPath(std::string_view path) {
  return json::serialize(json::string(CleanText(TruncateMiddle(path, 256))));
}

void LogAccess(const Request& request, int status, size_t bytes, Milliseconds took) {
  // 204: nothing was there and nothing came, as a worker hears every few seconds.
  const LogLevel level = status >= 500   ? LogLevel::kWarn
                         : status == 204 ? LogLevel::kDebug
                                         : LogLevel::kInfo;
  if (!LogEnabled(level)) return;
  const LogRequest of(request.id);
  Log(level, "http method={} path={} status={} bytes={} ms={:.2f} peer={} key={}", request.method,
      LoggedPath(request.path), status, bytes, took.count(), request.peer,
      request.who.key_name.empty() ? "-" : request.who.key_name);
}

}  // namespace assay::http
