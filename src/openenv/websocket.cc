#include "openenv/websocket.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/strings.h"
#include "openenv/connection.h"
#include "openenv/mcp.h"
#include "openenv/telemetry.h"
#include "openenv/tools.h"

namespace assay::openenv {
namespace {

json::object Message(std::string_view type, json::value data) {
  json::object message;
  message.reserve(2);
  message["type"] = type;
  message["data"] = std::move(data);
  return message;
}

json::object ErrorMessage(const ProtocolError& error) { return Message("error", error.Data()); }

json::object ErrorMessage(std::string_view code, std::string_view message,
                          json::object extra = {}) {
  return ErrorMessage(ProtocolError{.code = std::string(code),
                                    .message = std::string(message),
                                    .errors = {},
                                    .extra = std::move(extra)});
}

json::object InvalidMessage(json::array errors) {
  return ErrorMessage(ProtocolError::Invalid("the message is not valid", std::move(errors)));
}

class OpenEnvConnection : public Connection {
 public:
  OpenEnvConnection(const std::shared_ptr<Service>& service, const http::Request& request,
                    std::shared_ptr<http::WebSocketPeer> peer)
      : Connection(service, request, SessionKind::kWebSocket, std::move(peer)),
        telemetry_(service->settings().production ? "" : service->settings().validation_token) {}

 protected:
  void Handle(std::string text) override {
    const bool first = !std::exchange(used_, true);
    Result<json::value> parsed = ParseJson(text);
    if (!parsed.ok()) return Finish(ErrorMessage("INVALID_JSON", parsed.error().message));
    if (!parsed->is_object())
      return Finish(InvalidMessage(
          {FieldError("model_type", {}, "a message is an object with a type", &*parsed)}));
    const json::object& message = parsed->get_object();
    const std::string type = GetString(message, "type");
    if (type == "reset") return Reset(message);
    if (type == "step") return Step(message);
    if (type == "state") return State(message);
    if (type == "close") return Close(message);
    if (type == "mcp") return Mcp(message);
    if (type == "validation_open" || type == "validation_read")
      return Validation(type, message, first);
    Finish(ErrorMessage("UNKNOWN_TYPE", "unknown message type '" +
                                            CleanText(TruncateMiddle(type, 80)) +
                                            "'; there is: reset, step, state, close, mcp"));
  }

  json::value CapacityNotice() override {
    return ErrorMessage("CAPACITY_REACHED", kNoSession,
                        {{"active_sessions", service()->active_sessions()},
                         {"max_sessions", service()->settings().max_sessions}});
  }

  json::value IdleNotice() override {
    return ErrorMessage("SESSION_ERROR",
                        "the session was idle for too long and has ended; an episode can be "
                        "resumed with reset and resume=<episode_token>");
  }

 private:
  enum class Data { kNone, kOptional, kRequired };

  std::shared_ptr<OpenEnvConnection> Self() {
    return std::static_pointer_cast<OpenEnvConnection>(shared_from_this());
  }

  /// Empty when the message has the members that it must have, and no others.
  static json::array Violations(const json::object& message, Data data) {
    json::array errors;
    for (const auto& [key, value] : message)
      if (key != "type" && !(key == "data" && data != Data::kNone))
        errors.emplace_back(FieldError("extra_forbidden", {key},
                                       "no member of this message has this name", &value));
    const json::value* given = message.if_contains("data");
    if (data == Data::kRequired && given == nullptr)
      errors.emplace_back(FieldError("missing", {"data"}, "required"));
    if (data != Data::kNone && given != nullptr && !given->is_object())
      errors.emplace_back(FieldError("dict_type", {"data"}, "must be an object", given));
    return errors;
  }

  bool Refused(const json::object& message, Data data) {
    json::array errors = Violations(message, data);
    if (errors.empty()) return false;
    Finish(InvalidMessage(std::move(errors)));
    return true;
  }

  void Record(std::string_view operation, const json::object& request, json::object response) {
    if (telemetry_.open()) telemetry_.Record(operation, request, response);
    Finish(std::move(response));
  }

  void Answered(std::string_view operation, const json::object& request,
                const Environment::Answer& answer) {
    if (const auto* error = std::get_if<ProtocolError>(&answer))
      return Record(operation, request, ErrorMessage(*error));
    const auto& envelope = std::get<Envelope>(answer);
    if (telemetry_.open())
      telemetry_.Record(operation, request, Message("observation", ToJson(envelope)));
    FinishText(R"({"type":"observation","data":)" + ToText(envelope) + "}");
  }

  void Reset(const json::object& message) {
    if (Refused(message, Data::kOptional)) return;
    if (service()->settings().production) return RefuseInProduction();
    Answered("reset", message, environment()->Reset(GetObject(message, "data")));
  }

  void Step(const json::object& message) {
    if (Refused(message, Data::kRequired)) return;
    const json::object& data = message.at("data").get_object();
    const std::string type = GetString(data, "type");
    if (type == "list_tools")
      return Record("step", message,
                    Message("observation", {{"observation", {{"tools", ToolList("input_schema")}}},
                                            {"reward", nullptr},
                                            {"done", false}}));
    if (type == "call_tool") return CallToolByStep(message, data);
    if (service()->settings().production) return RefuseInProduction();
    ParsedAction parsed = ParseAction(message.at("data"));
    if (!parsed.errors.empty())
      return Record("step", message,
                    ErrorMessage(ProtocolError::Invalid("the action is not valid",
                                                        std::move(parsed.errors))));
    // Only the telemetry wants the message again, and it may be long.
    environment()->Step(
        std::move(parsed.action), service()->settings().reply_deadline, asked(),
        [self = Self(), message = telemetry_.open() ? message : json::object()](
            const Environment::Answer& answer) { self->Answered("step", message, answer); });
  }

  void CallToolByStep(const json::object& message, const json::object& data) {
    const std::string name = GetString(data, "tool_name");
    if (const json::value* given = data.if_contains("arguments");
        given != nullptr && !given->is_null() && !given->is_object())
      return Record("step", message,
                    ErrorMessage(ProtocolError::Invalid(
                        "the call is not valid",
                        {FieldError("dict_type", {"arguments"}, "must be an object", given)})));
    CallTool(
        environment(), false, name, GetObject(data, "arguments"), asked(),
        [self = Self(), message = telemetry_.open() ? message : json::object(),
         name](ToolResult result) {
          json::object observation{{"tool_name", name}, {"result", nullptr}, {"error", nullptr}};
          if (result.error_type.empty())
            observation["result"] = {{"content", {{{"type", "text"}, {"text", result.text}}}},
                                     {"data", result.data},
                                     {"is_error", false}};
          else
            observation["error"] = {{"error_type", result.error_type}, {"message", result.text}};
          json::value reward;
          if (result.reward) reward = *result.reward;
          self->Record("step", message,
                       Message("observation", {{"observation", std::move(observation)},
                                               {"reward", reward},
                                               {"done", result.done}}));
        });
  }

  void State(const json::object& message) {
    if (Refused(message, Data::kNone)) return;
    Record("state", message, Message("state", environment()->State()));
  }

  void Close(const json::object& message) {
    if (Refused(message, Data::kNone)) return;
    EndByClient();
  }

  void Mcp(const json::object& message) {
    if (Refused(message, Data::kRequired)) return;
    const RpcOrigin origin{.service = service(),
                           .who = who(),
                           .environment = environment(),
                           .session_id = session_id(),
                           .websocket = true,
                           .asked = asked()};
    HandleRpc(origin, message.at("data"), [self = Self()](RpcReply reply) {
      // Inside /ws every request has a reply, a notification too.
      self->Finish(Message("mcp", reply.body ? json::value(*reply.body)
                                             : json::value{{"jsonrpc", "2.0"},
                                                           {"id", nullptr},
                                                           {"result", json::object{}}}));
    });
  }

  void Validation(const std::string& type, const json::object& message, bool first) {
    const bool well_formed = Violations(message, Data::kRequired).empty();
    std::optional<json::object> data;
    if (well_formed) {
      const json::object& given = message.at("data").get_object();
      data = type == "validation_open" ? telemetry_.Open(given, first) : telemetry_.Read(given);
    }
    // One answer for every failure: it must not tell what was wrong.
    if (!data)
      return Finish(ErrorMessage(ProtocolError{.code = "VALIDATION_ERROR",
                                               .message = "validation telemetry is not available",
                                               .errors = {},
                                               .extra = {}}));
    Finish(Message(type == "validation_open" ? "validation_open" : "validation", *data));
  }

  void RefuseInProduction() {
    Finish(ErrorMessage("EXECUTION_ERROR",
                        "this server runs in production mode: it offers tools (MCP), not reset and "
                        "step"));
  }

  // Used by one message at a time; Connection puts them in order.
  bool used_ = false;
  Telemetry telemetry_;
};

class McpConnection : public Connection {
 public:
  using Connection::Connection;

 protected:
  void Handle(std::string text) override {
    const Result<json::value> parsed = ParseJson(text);
    if (!parsed.ok()) return Finish(RpcError(nullptr, kParseError, parsed.error().message));
    const RpcOrigin origin{.service = service(),
                           .who = who(),
                           .environment = environment(),
                           .session_id = session_id(),
                           .websocket = true,
                           .asked = asked()};
    HandleRpc(origin, *parsed,
              [self = std::static_pointer_cast<McpConnection>(shared_from_this())](RpcReply reply) {
                self->Finish(reply.body ? std::optional<json::value>(*reply.body) : std::nullopt);
              });
  }

  json::value CapacityNotice() override { return RpcCapacity(nullptr, *service()); }
  json::value IdleNotice() override {
    return RpcError(nullptr, kServerError, "the session was idle for too long and has ended");
  }
};

/// Says why and closes: for connections that cannot begin.
class RefusedSession : public http::WebSocketSession {
 public:
  RefusedSession(std::shared_ptr<http::WebSocketPeer> peer, std::string reason)
      : peer_(std::move(peer)), reason_(std::move(reason)) {}
  void OnOpen() override {
    peer_->Send(json::serialize(ErrorMessage("SESSION_ERROR", reason_)));
    peer_->Close(1000, "");
  }
  void OnMessage(std::string) override {}
  void OnClose() override {}

 private:
  std::shared_ptr<http::WebSocketPeer> peer_;
  std::string reason_;
};

}  // namespace

std::unique_ptr<http::WebSocketSession> NewWebSocketSession(
    const std::shared_ptr<Service>& service, const http::Request& request,
    const std::shared_ptr<http::WebSocketPeer>& peer) {
  auto connection = std::make_shared<OpenEnvConnection>(service, request, peer);
  if (const auto id = request.Query("session_id"); id && !id->empty()) {
    std::shared_ptr<NamedSession> session;
    switch (service->AttachSession(std::string(*id), request.who.key_name, &session)) {
      case Service::Attach::kOk:
        connection->AttachTo(std::move(session));
        break;
      case Service::Attach::kUnknown:
        return std::make_unique<RefusedSession>(peer, "no session has this session_id");
      case Service::Attach::kTaken:
        return std::make_unique<RefusedSession>(peer, "another WebSocket serves this session");
    }
  }
  return Connection::Wrap(std::move(connection));
}

std::unique_ptr<http::WebSocketSession> NewMcpWebSocketSession(
    const std::shared_ptr<Service>& service, const http::Request& request,
    const std::shared_ptr<http::WebSocketPeer>& peer) {
  return Connection::Wrap(
      std::make_shared<McpConnection>(service, request, SessionKind::kMcp, peer));
}

}  // namespace assay::openenv
