#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "http/identity.h"

namespace assay::http {

/// Header fields of a message in the order they came; names compare without case.
class Headers {
 public:
  void Add(std::string name, std::string value);
  void Set(std::string_view name, std::string value);  ///< replaces every field of that name
  [[nodiscard]] std::optional<std::string_view> Find(std::string_view name) const;
  [[nodiscard]] auto begin() const { return fields_.begin(); }
  [[nodiscard]] auto end() const { return fields_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// Set once the client has hung up: what would be made for it alone need not be. Null: not known.
using ClientGone = std::shared_ptr<const std::atomic<bool>>;

inline bool HasGone(const ClientGone& gone) { return gone != nullptr && gone->load(); }

/// One request, read completely and within the listener's limits. Plain data: handlers know nothing
/// of sockets, so they are tested without a network.
struct Request {
  std::string method;  ///< "GET", upper case
  std::string path;    ///< percent-decoded, begins with '/', without the query
  std::vector<std::pair<std::string, std::string>> query;     ///< decoded, in order
  std::vector<std::pair<std::string, std::string>> captured;  ///< of the route: {"id", "s-17"}
  Headers headers;
  std::string body;
  std::string peer;   ///< "127.0.0.1:53122"
  std::string id;     ///< X-Request-ID if the client sent a sane one, else made; for every log line
  Identity who;       ///< who the key says it is; the router has checked the route's scope
  ClientGone gone{};  ///< may change while the request is in work

  [[nodiscard]] std::optional<std::string_view> Query(std::string_view name) const;
  [[nodiscard]] std::string_view Captured(std::string_view name) const;  ///< "" when there is none
};

/// A body that is written while it comes into being (server-sent events, NDJSON). Thread-safe.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  /// Queues a piece. False once the client has gone or reads too slowly: then stop.
  virtual bool Write(std::string piece) = 0;
  virtual void End() = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;
  std::string body;
  /// If set, called once after the head was sent; `body` is empty then (chunked transfer).
  std::function<void(std::shared_ptr<BodyStream>)> stream;

  static Response Json(const json::value& value, int status = 200);
  static Response Text(std::string text, int status = 200,
                       std::string content_type = "text/plain; charset=utf-8");
  /// {"error": {"code": "not_found", "message": "...", "request_id": "..."}}: the native API's
  /// shape; protocols with a shape of their own do not use it.
  static Response Problem(const Request& request, int status, std::string_view code,
                          std::string_view message);
  /// The same with the code that a status has by itself.
  static Response Problem(const Request& request, int status, std::string_view message);
};

/// Answers a request: call exactly once, from any thread, at any later time. If it is dropped
/// without a call the client gets 500.
using Reply = std::function<void(Response)>;

/// Must not block: it runs on a thread that serves other connections.
using Handler = std::function<void(Request, Reply)>;

}  // namespace assay::http
