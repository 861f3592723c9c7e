#include "openenv/mcp.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "openenv/tools.h"

namespace assay::openenv {
namespace {

// Revisions of MCP whose tools and Streamable HTTP are what is spoken here; newest first.
constexpr std::array<std::string_view, 4> kRevisions = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                        "2024-11-05"};
constexpr size_t kMaxId = 1024;  // it is kept and sent back
constexpr std::array<std::string_view, 4> kMembers = {"jsonrpc", "method", "params", "id"};

json::object RpcResult(const json::value& id, json::value result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

json::object Initialized(const json::object& params) {
  const std::string asked = GetString(params, "protocolVersion");
  const bool known = std::find(kRevisions.begin(), kRevisions.end(), asked) != kRevisions.end();
  return {{"protocolVersion", known ? asked : std::string(kRevisions.front())},
          {"capabilities", {{"tools", {{"listChanged", false}}}}},
          {"serverInfo", {{"name", "kernel_env"}, {"title", "Kernel Env"}, {"version", "0.1.0"}}},
          {"instructions",
           "Call get_task, write a faster ModelNew, and submit it with submit_kernel."}};
}

json::object ToolJson(const ToolResult& result) {
  json::object data = result.data;
  const bool failed = !result.error_type.empty();
  if (failed) data = {{"error", {{"error_type", result.error_type}, {"message", result.text}}}};
  return {{"content", {{{"type", "text"}, {"text", result.text}}}},
          {"structuredContent", data},
          {"data", data},
          {"isError", failed},
          {"is_error", failed}};
}

/// One request on its way to its answer.
struct Call {
  RpcOrigin origin;
  json::value id;
  std::string method;
  json::object params;
  std::function<void(RpcReply)> reply;

  void Result(json::value value) const { reply({.body = RpcResult(id, std::move(value))}); }
  void Fail(int code, std::string_view message) const {
    reply({.body = RpcError(id, code, message)});
  }
};

void CreateSession(Call call, bool initialize) {
  // Only what the answer needs is kept while it waits: the parameters may be large.
  call.params = initialize ? Initialized(call.params) : json::object();
  const RpcOrigin origin = call.origin;
  origin.service->Acquire(
      origin.who, SessionKind::kMcp, true, [call = std::move(call), initialize](Slot slot) {
        Service& service = *call.origin.service;
        if (slot == nullptr || http::HasGone(call.origin.asked.gone))
          return call.reply({.body = RpcCapacity(call.id, service)});
        const std::shared_ptr<NamedSession> session =
            service.NewSession(call.origin.who, std::move(slot));
        if (!initialize) return call.Result({{"session_id", session->id}});
        call.reply({.body = RpcResult(call.id, call.params), .session_id = session->id});
      });
}

void CloseSession(const Call& call) {
  const std::string id = GetString(call.params, "session_id");
  if (id.empty()) return call.Fail(kInvalidParams, "params.session_id is required");
  if (call.origin.websocket && id == call.origin.session_id)
    return call.Fail(kInvalidRequest, "a WebSocket's own session ends with the WebSocket");
  switch (call.origin.service->CloseSession(id, call.origin.who.key_name)) {
    case Service::CloseResult::kClosed:
      return call.Result({{"session_id", id}, {"closed", true}});
    case Service::CloseResult::kClosing:
      return call.Result({{"session_id", id}, {"closed", false}, {"closing", true}});
    case Service::CloseResult::kUnknown:
      return call.Fail(kInvalidParams, "no session has this session_id");
  }
}

/// The session that tools act in: the connection's, else the one that params name. False, and
/// answered, when that does not exist; `environment` stays null when none is named.
bool FindEnvironment(const Call& call, std::shared_ptr<Environment>* environment) {
  *environment = call.origin.environment;
  if (*environment != nullptr) return true;
  const std::string id = GetString(call.params, "session_id");
  if (id.empty()) return true;
  const std::shared_ptr<NamedSession> session =
      call.origin.service->FindSession(id, call.origin.who.key_name);
  if (session == nullptr) {
    call.Fail(kInvalidParams, "no session has this session_id");
    return false;
  }
  *environment = session->environment;
  return true;
}

void CallToolMethod(Call call) {
  std::shared_ptr<Environment> environment;
  if (!FindEnvironment(call, &environment)) return;
  const std::string name = GetString(call.params, "name");
  if (name.empty()) return call.Fail(kInvalidParams, "params.name, the tool's name, is required");
  json::object arguments;
  if (const json::value* given = call.params.if_contains("arguments");
      given != nullptr && !given->is_null()) {
    if (!given->is_object()) return call.Fail(kInvalidParams, "params.arguments must be an object");
    arguments = given->get_object();
  }
  call.params.clear();  // they hold the code, and are needed no more
  const bool alone = environment == nullptr;
  if (alone) environment = std::make_shared<Environment>(call.origin.service, call.origin.who);
  const Asked asked = call.origin.asked;
  CallTool(environment, alone, name, arguments, asked,
           [call = std::move(call), environment, alone](const ToolResult& result) {
             if (alone) environment->Close();
             if (result.error_type == "tool_not_found")
               return call.Fail(kInvalidParams, result.text);
             call.Result(ToolJson(result));
           });
}

}  // namespace

json::object RpcError(const json::value& id, int code, std::string_view message, json::value data) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", code}, {"message", message}, {"data", std::move(data)}}}};
}

json::object RpcCapacity(const json::value& id, Service& service) {
  return RpcError(id, kServerError, kNoSession,
                  {{"active_sessions", service.active_sessions()},
                   {"max_sessions", service.settings().max_sessions}});
}

void HandleRpc(const RpcOrigin& origin, const json::value& message,
               std::function<void(RpcReply)> reply) {
  const auto refuse = [&](std::string_view why) {
    reply({.body = RpcError(nullptr, kInvalidRequest, why)});
  };
  if (!message.is_object()) return refuse("not a JSON-RPC 2.0 request object");
  const json::object& object = message.get_object();
  if (GetString(object, "jsonrpc") != "2.0" || GetString(object, "method").empty())
    return refuse("not a JSON-RPC 2.0 request: it needs \"jsonrpc\": \"2.0\" and a method");
  for (const auto& [key, value] : object)
    if (std::find(kMembers.begin(), kMembers.end(), std::string_view(key)) == kMembers.end())
      return refuse("a JSON-RPC 2.0 request has only jsonrpc, method, params and id");
  Call call{.origin = origin,
            .id = nullptr,
            .method = GetString(object, "method"),
            .params = {},
            .reply = std::move(reply)};
  if (const json::value* id = object.if_contains("id")) {
    const bool fits = id->is_null() || id->is_int64() || id->is_uint64() ||
                      (id->is_string() && id->get_string().size() <= kMaxId);
    if (!fits)
      return call.Fail(kInvalidRequest, "an id is an integer or a string of at most 1024 bytes");
    call.id = *id;
  }
  if (const json::value* params = object.if_contains("params");
      params != nullptr && !params->is_null()) {
    if (!params->is_object()) return call.Fail(kInvalidRequest, "params must be an object");
    call.params = params->get_object();
  }

  if (call.method.starts_with("notifications/")) return call.reply({});
  if (call.method == "ping") return call.Result(json::object{});
  if (call.method == "initialize") {
    if (origin.environment != nullptr) return call.Result(Initialized(call.params));
    return CreateSession(std::move(call), true);
  }
  if (call.method == "openenv/session/create") {
    if (origin.environment != nullptr) return call.Result({{"session_id", origin.session_id}});
    return CreateSession(std::move(call), false);
  }
  if (call.method == "openenv/session/close") return CloseSession(call);
  if (call.method == "tools/list") {
    std::shared_ptr<Environment> environment;
    if (!FindEnvironment(call, &environment)) return;
    return call.Result({{"tools", ToolList("inputSchema")}});
  }
  if (call.method == "tools/call") return CallToolMethod(std::move(call));
  call.Fail(kMethodNotFound,
            "no method '" + CleanText(TruncateMiddle(call.method, 80)) + "' is offered");
}

}  // namespace assay::openenv
