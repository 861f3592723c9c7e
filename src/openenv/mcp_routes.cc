#include "http/limits.h"
#include "openenv/mcp.h"
#include "openenv/routes.h"
#include "openenv/websocket.h"

namespace assay::openenv {
namespace {

using http::Reply;
using http::Request;
using http::Response;

constexpr std::string_view kSessionHeader = "Mcp-Session-Id";

/// MCP's Streamable HTTP, without a stream: every answer is one JSON object, which the transport
/// allows. OpenEnv's stateless calls are the same without a session.
void Post(const std::shared_ptr<Service>& service, const Request& request, const Reply& reply) {
  Result<json::value> message = ParseJson(request.body);
  if (!message.ok())
    return reply(Response::Json(RpcError(nullptr, kParseError, message.error().message)));
  RpcOrigin origin{.service = service,
                   .who = request.who,
                   .environment = nullptr,
                   .session_id = "",
                   .websocket = false,
                   .asked = {.gone = request.gone, .id = request.id}};
  const bool begins =
      message->is_object() && GetString(message->get_object(), "method") == "initialize";
  if (const auto id = request.headers.Find(kSessionHeader); id && !begins) {
    const std::shared_ptr<NamedSession> session =
        service->FindSession(std::string(*id), request.who.key_name);
    // 404 makes MCP clients initialize again.
    if (session == nullptr)
      return reply(Response::Json(
          RpcError(nullptr, kServerError, "no session has this Mcp-Session-Id"), 404));
    origin.environment = session->environment;
    origin.session_id = session->id;
  }
  HandleRpc(origin, *message, [reply](const RpcReply& answer) {
    if (!answer.body) {
      Response accepted;
      accepted.status = 202;
      return reply(std::move(accepted));
    }
    Response response = Response::Json(*answer.body);
    if (!answer.session_id.empty()) response.headers.Set(kSessionHeader, answer.session_id);
    reply(std::move(response));
  });
}

void Delete(const std::shared_ptr<Service>& service, const Request& request, const Reply& reply) {
  const auto id = request.headers.Find(kSessionHeader);
  if (!id) return reply(Detail(400, "Mcp-Session-Id names the session to end"));
  if (service->CloseSession(std::string(*id), request.who.key_name) ==
      Service::CloseResult::kUnknown)
    return reply(Detail(404, "no session has this Mcp-Session-Id"));
  Response response;
  response.status = 204;
  reply(std::move(response));
}

}  // namespace

void AddMcpRoutes(http::Router* router, const std::shared_ptr<Service>& service) {
  router->Add(
      "POST", "/mcp", http::Scope::kSubmit,
      [service](const Request& request, const Reply& reply) { Post(service, request, reply); },
      http::kSourceBody);
  router->Add(
      "DELETE", "/mcp", http::Scope::kSubmit,
      [service](const Request& request, const Reply& reply) { Delete(service, request, reply); });
  router->AddWebSocket(
      "/mcp", http::Scope::kSubmit,
      [service](const Request& request, const std::shared_ptr<http::WebSocketPeer>& peer) {
        return NewMcpWebSocketSession(service, request, peer);
      });
}

}  // namespace assay::openenv
