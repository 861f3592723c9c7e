#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "base/hash.h"
#include "base/strings.h"
#include "http/limits.h"
#include "openenv/action.h"
#include "openenv/page.h"
#include "openenv/routes.h"

namespace assay::openenv {
namespace {

using http::Reply;
using http::Request;
using http::Response;

constexpr std::string_view kCookie = "kernel_env_visitor";
constexpr size_t kMaxLogs = 1000;
constexpr size_t kMaxLogBytes = 4096;  // of one action's code; the log is to look at

/// One browser: a session of its own, outside the sessions of trainers.
struct Visitor {
  std::shared_ptr<Environment> environment;
  uint64_t last_used = 0;  ///< by a counter
  std::mutex mutex;        ///< guards what follows
  json::value observation;
  std::deque<json::object> logs;
  bool is_reset = false;
  std::vector<std::weak_ptr<http::WebSocketPeer>> watchers;
};

/// The page's JSON routes and its WebSocket, which tells other windows of the same browser.
class Web : public std::enable_shared_from_this<Web> {
 public:
  explicit Web(std::shared_ptr<Service> service) : service_(std::move(service)) {}

  void Reset(const Request& request, const Reply& reply) {
    auto body = BodyObject(request, /*optional=*/true);
    if (auto* refusal = std::get_if<Response>(&body)) return reply(std::move(*refusal));
    const auto [visitor, cookie] = FindOrMake(request);
    if (visitor == nullptr) return reply(Full());
    const Environment::Answer answer = visitor->environment->Reset(std::get<json::object>(body));
    if (const auto* envelope = std::get_if<Envelope>(&answer)) {
      {
        const std::lock_guard lock(visitor->mutex);
        visitor->observation = ToJson(*envelope);
        visitor->logs.clear();
        visitor->is_reset = true;
      }
      Tell(*visitor);
    }
    reply(WithCookie(ToResponse(answer), cookie));
  }

  void Step(const Request& request, const Reply& reply) {
    auto body = BodyObject(request, /*optional=*/false);
    if (auto* refusal = std::get_if<Response>(&body)) return reply(std::move(*refusal));
    const json::value* data = std::get<json::object>(body).if_contains("action");
    if (data == nullptr)
      return reply(Unprocessable({FieldError("missing", {"body", "action"}, "required")}));
    ParsedAction parsed = ParseAction(*data);
    if (!parsed.errors.empty()) return reply(Unprocessable(InBody(std::move(parsed.errors))));
    const auto [visitor, cookie] = FindOrMake(request);
    if (visitor == nullptr) return reply(Full());
    const std::string code = TruncateMiddle(parsed.action.code, kMaxLogBytes);
    visitor->environment->Step(std::move(parsed.action), service_->settings().reply_deadline,
                               {.gone = request.gone, .id = request.id},
                               [self = shared_from_this(), visitor = visitor, cookie = cookie, code,
                                reply](const Environment::Answer& answer) {
                                 if (const auto* envelope = std::get_if<Envelope>(&answer))
                                   self->Log(*visitor, code, *envelope);
                                 reply(WithCookie(ToResponse(answer), cookie));
                               });
  }

  void State(const Request& request, const Reply& reply) {
    const std::shared_ptr<Visitor> visitor = Find(request);
    if (visitor == nullptr) return reply(Detail(409, "no episode; POST /web/reset first"));
    reply(Response::Json(visitor->environment->State()));
  }

  std::unique_ptr<http::WebSocketSession> Watch(const Request& request,
                                                const std::shared_ptr<http::WebSocketPeer>& peer) {
    class Watcher : public http::WebSocketSession {
     public:
      Watcher(std::string first, std::shared_ptr<http::WebSocketPeer> to)
          : first_(std::move(first)), peer_(std::move(to)) {}
      void OnOpen() override { peer_->Send(std::move(first_)); }
      void OnMessage(std::string) override {}
      void OnClose() override {}

     private:
      std::string first_;
      std::shared_ptr<http::WebSocketPeer> peer_;
    };
    // Who only looks makes no visitor; there is nothing to be told then.
    const std::shared_ptr<Visitor> visitor = Find(request);
    if (visitor == nullptr) return std::make_unique<Watcher>(Update(Visitor{}), peer);
    const std::lock_guard lock(visitor->mutex);
    std::erase_if(visitor->watchers, [](const auto& watcher) { return watcher.expired(); });
    visitor->watchers.push_back(peer);
    return std::make_unique<Watcher>(Update(*visitor), peer);
  }

 private:
  struct Found {
    std::shared_ptr<Visitor> visitor;  ///< null: there is no place for another one
    std::string cookie;                ///< to be set; empty: the browser has it
  };
  using Visitors = std::map<std::string, std::shared_ptr<Visitor>>;  ///< by cookie

  /// The visitor of a request's key and cookie, or null.
  std::shared_ptr<Visitor> Find(const Request& request) {
    const std::lock_guard lock(mutex_);
    Visitors& visitors = visitors_[request.who.key_name];
    const auto known = visitors.find(CookieOf(request));
    if (known == visitors.end()) return nullptr;
    known->second->last_used = ++uses_;
    return known->second;
  }

  /// Or a new one, for which the key's least recently used one goes, of those that judge nothing.
  Found FindOrMake(const Request& request) {
    if (std::shared_ptr<Visitor> known = Find(request)) return {known, ""};
    Found found{std::make_shared<Visitor>(), NewId("web_")};
    found.visitor->environment = std::make_shared<Environment>(service_, request.who);
    std::shared_ptr<Visitor> oldest;
    {
      const std::lock_guard lock(mutex_);
      Visitors& visitors = visitors_[request.who.key_name];
      if (visitors.size() >= service_->settings().max_web_sessions) {
        auto least = visitors.end();
        for (auto it = visitors.begin(); it != visitors.end(); ++it)
          if ((least == visitors.end() || it->second->last_used < least->second->last_used) &&
              !it->second->environment->Judging())
            least = it;
        if (least == visitors.end()) return {};
        oldest = std::move(least->second);
        visitors.erase(least);
      }
      found.visitor->last_used = ++uses_;
      visitors[found.cookie] = found.visitor;
    }
    // As when a connection is lost: who has its token can go on with the episode.
    if (oldest != nullptr) oldest->environment->Leave();
    return found;
  }

  [[nodiscard]] Response Full() const {
    Response full = Detail(503, "there are too many visitors whose submissions are being judged");
    // A place is free once one of their submissions is judged.
    full.headers.Set(
        "Retry-After",
        fmt::format("{:.0f}", std::ceil(service_->host()->context.jobs->retry_after_s())));
    return full;
  }

  static std::string CookieOf(const Request& request) {
    const auto header = request.headers.Find("Cookie");
    if (!header) return "";
    for (const std::string_view part : Split(*header, ';')) {
      const std::string_view pair = Trim(part);
      if (pair.starts_with(kCookie) && pair.size() > kCookie.size() && pair[kCookie.size()] == '=')
        return std::string(pair.substr(kCookie.size() + 1));
    }
    return "";
  }

  static Response WithCookie(Response response, const std::string& cookie) {
    if (!cookie.empty())
      response.headers.Set("Set-Cookie", std::string(kCookie) + "=" + cookie +
                                             "; HttpOnly; SameSite=Strict; Path=/");
    return response;
  }

  void Log(Visitor& visitor, const std::string& code, const Envelope& envelope) {
    json::object reply = ToJson(envelope);
    {
      const std::lock_guard lock(visitor.mutex);
      visitor.observation = reply;
      visitor.is_reset = false;
      visitor.logs.push_back({{"action", {{"code", code}}},
                              {"observation", reply["observation"]},
                              {"reward", reply["reward"]},
                              {"done", reply["done"]}});
      if (visitor.logs.size() > kMaxLogs) visitor.logs.pop_front();
    }
    Tell(visitor);
  }

  /// The lock of the visitor is held.
  static std::string Update(const Visitor& visitor) {
    const json::object state =
        visitor.environment == nullptr ? StateJson(nullptr) : visitor.environment->State();
    json::array logs(visitor.logs.begin(), visitor.logs.end());
    return json::serialize(json::value{{"type", "state_update"},
                                       {"episode_state",
                                        {{"episode_id", state.at("episode_id")},
                                         {"step_count", state.at("step_count")},
                                         {"current_observation", visitor.observation},
                                         {"action_logs", std::move(logs)},
                                         {"is_reset", visitor.is_reset}}}});
  }

  static void Tell(Visitor& visitor) {
    std::vector<std::shared_ptr<http::WebSocketPeer>> peers;
    std::string update;
    {
      const std::lock_guard lock(visitor.mutex);
      for (const auto& watcher : visitor.watchers)
        if (std::shared_ptr<http::WebSocketPeer> peer = watcher.lock()) peers.push_back(peer);
      if (peers.empty()) return;
      update = Update(visitor);
    }
    for (const std::shared_ptr<http::WebSocketPeer>& peer : peers) peer->Send(update);
  }

  const std::shared_ptr<Service> service_;
  std::mutex mutex_;                          ///< guards what follows
  std::map<std::string, Visitors> visitors_;  ///< by key: none pushes out another's
  uint64_t uses_ = 0;
};

Response ToPage() {
  Response response;
  response.status = 307;
  response.headers.Set("Location", "/web/");
  return response;
}

}  // namespace

void AddWebRoutes(http::Router* router, const std::shared_ptr<Service>& service) {
  auto web = std::make_shared<Web>(service);
  router->Add("GET", "/", http::Scope::kNone,
              [](const Request&, const Reply& reply) { reply(ToPage()); });
  router->Add("GET", "/web", http::Scope::kNone, [](const Request& request, const Reply& reply) {
    // The page's own requests are relative, so it must stand in a folder.
    if (!request.path.ends_with('/')) return reply(ToPage());
    Response page = Response::Text(kPage, 200, "text/html; charset=utf-8");
    page.headers.Set("Content-Security-Policy",
                     "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
                     "connect-src 'self'; base-uri 'none'; form-action 'none'");
    reply(std::move(page));
  });
  router->Add("GET", "/web/metadata", http::Scope::kNone,
              [service](const Request&, const Reply& reply) {
                reply(Response::Json(MetadataJson(*service)));
              });
  router->Add(
      "POST", "/web/reset", http::Scope::kSubmit,
      [web](const Request& request, const Reply& reply) { web->Reset(request, reply); },
      http::kSmallBody);
  router->Add(
      "POST", "/web/step", http::Scope::kSubmit,
      [web](const Request& request, const Reply& reply) { web->Step(request, reply); },
      http::kSourceBody);
  router->Add("GET", "/web/state", http::Scope::kRead,
              [web](const Request& request, const Reply& reply) { web->State(request, reply); });
  router->AddWebSocket(
      "/ws/ui", http::Scope::kRead,
      [web](const Request& request, const std::shared_ptr<http::WebSocketPeer>& peer) {
        return web->Watch(request, peer);
      });
}

}  // namespace assay::openenv
