#include "http/router.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace assay::http {
namespace {

/// Segments of a path without its slash at the end.
std::vector<std::string_view> Segments(std::string_view path) {
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  return path.empty() ? std::vector<std::string_view>{} : Split(path, '/');
}

std::string AllowHeader(const std::vector<std::string_view>& methods) {
  std::vector<std::string> allowed(methods.begin(), methods.end());
  if (std::find(allowed.begin(), allowed.end(), "GET") != allowed.end()) allowed.push_back("HEAD");
  allowed.push_back("OPTIONS");
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  return Join(allowed, ", ");
}

}  // namespace

Router::Router() = default;
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

void Router::Add(std::string method, const std::string& pattern, Scope scope, Handler handler,
                 size_t body_bytes) {
  ASSAY_CHECK(!method.empty() && handler != nullptr);
  Insert(pattern, Route{std::move(method), {}, scope, std::move(handler), nullptr, body_bytes});
}

void Router::AddWebSocket(const std::string& pattern, Scope scope, WebSocketFactory factory) {
  ASSAY_CHECK(factory != nullptr);
  Insert(pattern, Route{"", {}, scope, nullptr, std::move(factory)});
}

void Router::SetRefusal(std::string prefix, Refuse refuse) {
  refusals_[std::move(prefix)] = std::move(refuse);
}

void Router::Insert(const std::string& pattern, Route route) {
  ASSAY_CHECK(pattern.starts_with('/'));
  Node* node = &root_;
  std::vector<Route>* routes = nullptr;
  for (const std::string_view part : Segments(pattern)) {
    ASSAY_CHECK(routes == nullptr);  // `{name...}` must be the last part
    if (part.starts_with('{') && part.ends_with("...}")) {
      route.names.emplace_back(part.substr(1, part.size() - 5));
      routes = &node->rest;
    } else if (part.starts_with('{') && part.ends_with('}')) {
      route.names.emplace_back(part.substr(1, part.size() - 2));
      if (node->captured == nullptr) node->captured = std::make_unique<Node>();
      node = node->captured.get();
    } else {
      std::unique_ptr<Node>& next = node->literals[std::string(part)];
      if (next == nullptr) next = std::make_unique<Node>();
      node = next.get();
    }
  }
  if (routes == nullptr) routes = &node->here;
  const bool taken = std::any_of(routes->begin(), routes->end(),
                                 [&](const Route& other) { return other.method == route.method; });
  if (!taken) routes->push_back(std::move(route));
}

const Router::Route* Router::Pick(const std::vector<Route>& routes, Search* search) {
  for (const Route& route : routes) {
    if (route.method == search->method) return &route;
    if (!route.method.empty()) search->others.push_back(route.method);
  }
  return nullptr;
}

// Recursion is as deep as the deepest pattern, not as the path: literals and captures run out.
const Router::Route* Router::Match(const Node& node, size_t depth, Search* search) {
  if (depth == search->parts.size()) return Pick(node.here, search);
  const std::string_view part = search->parts[depth];
  if (const auto next = node.literals.find(part); next != node.literals.end())
    if (const Route* route = Match(*next->second, depth + 1, search); route != nullptr)
      return route;
  if (node.captured != nullptr && !part.empty()) {
    search->values.push_back(part);
    if (const Route* route = Match(*node.captured, depth + 1, search); route != nullptr)
      return route;
    search->values.pop_back();
  }
  const std::string_view last = search->parts.back();
  const std::string_view rest(part.data(),
                              static_cast<size_t>(last.data() + last.size() - part.data()));
  if (rest.empty()) return nullptr;
  const Route* route = Pick(node.rest, search);
  if (route != nullptr) search->values.push_back(rest);
  return route;
}

const Router::Route* Router::Find(const Request& request, std::string_view method,
                                  Search* search) const {
  search->method = method;
  search->parts = Segments(request.path);
  search->values.clear();
  search->others.clear();
  return Match(root_, 0, search);
}

Response Router::Refusal(const Request& request, int status, std::string_view message) const {
  // The longest prefix is the last in order among those that fit.
  for (auto entry = refusals_.rbegin(); entry != refusals_.rend(); ++entry)
    if (request.path.starts_with(entry->first)) return entry->second(request, status, message);
  return Response::Problem(request, status, message);
}

std::optional<Response> Router::Forbidden(const Request& request, Scope scope) const {
  const Identity& who = request.who;
  if (Includes(who.scope, scope)) return std::nullopt;
  if (who.retry_after_s > 0) {
    Response response = Refusal(request, 429, who.problem);
    response.headers.Set("Retry-After",
                         fmt::format("{}", static_cast<int64_t>(std::ceil(who.retry_after_s))));
    return response;
  }
  if (who.scope == Scope::kNone) {
    Response response =
        Refusal(request, 401,
                who.problem.empty()
                    ? "this needs a key: send 'Authorization: Bearer KEY' or 'X-API-Key: KEY'; the "
                      "operator makes keys with `assay keys new`"
                    : who.problem);
    response.headers.Set("WWW-Authenticate", "Bearer realm=\"assay\"");
    return response;
  }
  return Refusal(request, 403,
                 fmt::format("key '{}' has the scope '{}'; this needs '{}'", who.key_name,
                             ScopeName(who.scope), ScopeName(scope)));
}

const Router::Route* Router::Resolve(const Request& request, Search* search,
                                     std::optional<Response>* refusal) const {
  const Route* route = Find(request, request.method, search);
  if (route == nullptr && request.method == "HEAD") route = Find(request, "GET", search);
  if (route == nullptr) {
    if (search->others.empty()) {
      *refusal = Refusal(request, 404, "Not Found");
    } else if (request.method == "OPTIONS") {
      *refusal = Response::Text("", 204, "");
      (*refusal)->headers.Set("Allow", AllowHeader(search->others));
    } else {
      *refusal = Refusal(request, 405, "Method Not Allowed");
      (*refusal)->headers.Set("Allow", AllowHeader(search->others));
    }
    return nullptr;
  }
  *refusal = Forbidden(request, route->scope);
  return refusal->has_value() ? nullptr : route;
}

std::optional<Response> Router::Refused(const Request& request, size_t* body_bytes) const {
  Search search;
  std::optional<Response> refusal;
  const Route* route = Resolve(request, &search, &refusal);
  if (route != nullptr && route->body_bytes > 0)
    *body_bytes = std::min(*body_bytes, route->body_bytes);
  return refusal;
}

void Router::Dispatch(Request request, Reply reply) const {
  Search search;
  std::optional<Response> refusal;
  const Route* route = Resolve(request, &search, &refusal);
  if (route == nullptr) {
    reply(*std::move(refusal));
    return;
  }
  for (size_t i = 0; i < route->names.size(); ++i)
    request.captured.emplace_back(route->names[i], std::string(search.values[i]));
  route->handler(std::move(request), std::move(reply));
}

const WebSocketFactory* Router::FindWebSocket(Request* request, Response* refusal) const {
  Search search;
  const Route* route = Find(*request, "", &search);
  if (route == nullptr) {
    *refusal = Refusal(*request, 403, "there is no WebSocket at this path");
    return nullptr;
  }
  if (std::optional<Response> forbidden = Forbidden(*request, route->scope); forbidden) {
    *refusal = *std::move(forbidden);
    return nullptr;
  }
  for (size_t i = 0; i < route->names.size(); ++i)
    request->captured.emplace_back(route->names[i], std::string(search.values[i]));
  return &route->factory;
}

}  // namespace assay::http
