#pragma once

#include <map>
#include <memory>
#include <optional>
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
/// A part `{name}` matches one non-empty path segment; `{name...}` at the end matches the rest,
/// which must not be empty. A literal segment goes before a captured one. A trailing slash does not
/// matter. HEAD is answered by GET's handler and OPTIONS by the router unless they are added.
class Router {
 public:
  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  /// Of two routes with one method and pattern the first stays, so that protocols can share a port.
  /// `body_bytes`: the largest body, where the server's limit is more than anybody needs; 0: that.
  void Add(std::string method, const std::string& pattern, Scope scope, Handler handler,
           size_t body_bytes = 0);
  void AddWebSocket(const std::string& pattern, Scope scope, WebSocketFactory factory);

  /// Answers unknown paths (404) and methods (405, with Allow) and missing scopes (401, 403) itself
  /// in the shape of `refuse`, which protocols may set for their prefix.
  void Dispatch(Request request, Reply reply) const;

  /// What Dispatch would refuse from the head alone, so that nobody's body is read in vain.
  /// Lowers `body_bytes` to the route's limit.
  [[nodiscard]] std::optional<Response> Refused(const Request& request, size_t* body_bytes) const;

  /// The factory for an upgrade request, or null and the refusal. Fills request->captured.
  [[nodiscard]] const WebSocketFactory* FindWebSocket(Request* request, Response* refusal) const;

  /// How refusals look below a path prefix; the longest prefix wins.
  using Refuse = std::function<Response(const Request&, int status, std::string_view message)>;
  void SetRefusal(std::string prefix, Refuse refuse);

  /// A refusal in the shape that the request's path has; also for the connection's own (413, 429).
  [[nodiscard]] Response Refusal(const Request& request, int status,
                                 std::string_view message) const;

 private:
  struct Route {
    std::string method;              ///< empty: WebSocket
    std::vector<std::string> names;  ///< of the captured parts, in order
    Scope scope = Scope::kNone;
    Handler handler;
    WebSocketFactory factory;
    size_t body_bytes = 0;
  };
  /// One path segment of a trie of patterns.
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
    std::unique_ptr<Node> captured;
    std::vector<Route> here;  ///< patterns that end here
    std::vector<Route> rest;  ///< patterns that take all that follows
  };
  struct Search {
    std::string_view method;
    std::vector<std::string_view> parts;
    std::vector<std::string_view> values;  ///< of the captured parts so far
    std::vector<std::string_view> others;  ///< methods that the path has
  };

  void Insert(const std::string& pattern, Route route);
  static const Route* Pick(const std::vector<Route>& routes, Search* search);
  static const Route* Match(const Node& node, size_t depth, Search* search);
  const Route* Find(const Request& request, std::string_view method, Search* search) const;
  [[nodiscard]] std::optional<Response> Forbidden(const Request& request, Scope scope) const;
  const Route* Resolve(const Request& request, Search* search,
                       std::optional<Response>* refusal) const;

  Node root_;
  std::map<std::string, Refuse> refusals_;
};

}  // namespace assay::http
