#pragma once

#include <boost/beast/http/message.hpp>
#include <optional>
#include <string>

#include "http/growing_body.h"
#include "http/message.h"
#include "http/site.h"

namespace assay::http {

namespace beast_http = boost::beast::http;
using Head = beast_http::request<GrowingBody>;

/// Why a request is refused before any handler sees it.
struct Refusal {
  int status = 400;
  std::string message;
};

/// Fills method, path, query, headers and id from a parsed head. The refusal says what is wrong
/// with it; `request` then holds what could be read. `fresh_id`: used when the client sent no sane
/// one.
std::optional<Refusal> FillRequest(const Head& head, std::string fresh_id, Request* request);

/// Host and Origin against the site's rules (see Site). `changes`: the request could change
/// something, or opens a WebSocket, so that its origin matters.
std::optional<Refusal> CheckOrigin(const Site& site, const Request& request, bool changes);

/// The access-control fields of an answer to a page of an allowed origin; none for others.
void AddCors(const Site& site, const Request& request, Response* response);
/// The answer to a browser's preflight, if this is one from an allowed origin.
std::optional<Response> Preflight(const Site& site, const Request& request);

struct HeadOptions {
  bool keep_alive = true;
  bool http_1_0 = false;
  bool chunked = false;
  std::string_view date;
  std::string_view request_id;
};

/// Status line and fields, to the empty line. Fields that would break the message are left out.
std::string SerializeHead(const Response& response, const HeadOptions& options);

/// A path as a log line may show it: bounded, quoted, without control characters of any kind.
std::string LoggedPath(std::string_view path);

/// One line for the log: no query (keys could be in it), no body, no header.
void LogAccess(const Request& request, int status, size_t bytes, Milliseconds took);

}  // namespace assay::http
