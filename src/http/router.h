#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "http/websocket.h"

namespace assay::http {

/// Methods and path patterns to handlers. Built at start, then read by many threads.
///
///     router.Add("GET", "/v1/submissions/{id}", Scope::kRead, handler);
///
/// A part `{name}` matches one non-empty path segment; `{name...}` at the end matches the rest. A
/// literal segment goes before a captured one. A trailing slash does not matter.
class Router {
 public:
  void Add(std::string method, std::string pattern, Scope scope, Handler handler);
  void AddWebSocket(std::string pattern, Scope scope, WebSocketFactory factory);

  /// Answers unknown paths (404) and methods (405, with Allow) and missing scopes (401, 403) itself
  /// in the shape of `refuse`, which protocols may set for their prefix.
  void Dispatch(Request request, Reply reply) const;

  /// The factory for an upgrade request, or null and the refusal. Fills request->captured.
  [[nodiscard]] const WebSocketFactory* FindWebSocket(Request* request, Response* refusal) const;

  /// How refusals look below a path prefix; the longest prefix wins.
  using Refuse = std::function<Response(const Request&, int status, std::string_view message)>;
  void SetRefusal(std::string prefix, Refuse refuse);

 private:
  struct Route {
    std::string method;  ///< empty: WebSocket
    std::vector<std::string> parts;
    Scope scope = Scope::kNone;
    Handler handler;
    WebSocketFactory factory;
  };
  std::vector<Route> routes_;
  std::map<std::string, Refuse> refusals_;
};

}  // namespace assay::http
