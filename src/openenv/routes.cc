#include "openenv/routes.h"

#include <cctype>
#include <cmath>

#include "base/strings.h"
#include "http/limits.h"
#include "openenv/openenv.h"
#include "openenv/reset_request.h"
#include "openenv/schema.h"
#include "openenv/websocket.h"
#include "reward/reward.h"
#include "verdict/verdict.h"

namespace assay::openenv {
namespace {

using http::Handler;
using http::Reply;
using http::Request;
using http::Response;

constexpr std::string_view kSessionHeader = "X-OpenEnv-Session";

json::object HealthJson(Service& service) {
  const QueueDepth depth = service.host()->context.jobs->Depth();
  return {{"status", "healthy"},
          {"sessions", service.active_sessions()},
          {"max_sessions", service.settings().max_sessions},
          {"queued", depth.queued},
          {"running", depth.running},
          {"hardware", service.host()->Hardware()}};
}

/// Calls `use` with the session that the request names, made if it asks for a new one; a request
/// that names none gets a session of its own for this one request. What `use` holds is kept while a
/// new session is waited for, and should be small.
void WithSession(const std::shared_ptr<Service>& service, const Request& request,
                 const Reply& reply,
                 std::function<void(std::shared_ptr<Environment>, bool alone, Reply)> use) {
  const std::optional<std::string_view> header = request.headers.Find(kSessionHeader);
  if (!header) return use(std::make_shared<Environment>(service, request.who), true, reply);
  if (*header != "new") {
    const std::shared_ptr<NamedSession> session =
        service->FindSession(std::string(*header), request.who.key_name);
    if (session == nullptr)
      return reply(Detail(404, "no session has this name; send X-OpenEnv-Session: new"));
    return use(session->environment, false, [reply, id = session->id](Response response) {
      response.headers.Set(kSessionHeader, id);
      reply(std::move(response));
    });
  }
  const http::Identity& who = request.who;
  service->Acquire(who, SessionKind::kHttp, true,
                   [service, who, gone = request.gone, reply, use = std::move(use)](Slot slot) {
                     // A session of a client that has left would be there for nobody: the next one
                     // gets the slot.
                     if (slot == nullptr || http::HasGone(gone)) {
                       Response full = Detail(503, kNoSession);
                       full.headers.Set("Retry-After",
                                        fmt::format("{:.0f}", std::ceil(service->retry_after_s())));
                       return reply(std::move(full));
                     }
                     const std::shared_ptr<NamedSession> session =
                         service->NewSession(who, std::move(slot));
                     use(session->environment, false, [service, session, reply](Response response) {
                       // A session whose first request failed would be there for nobody.
                       if (response.status < 400)
                         response.headers.Set(kSessionHeader, session->id);
                       else
                         service->CloseSession(session->id, session->owner);
                       reply(std::move(response));
                     });
                   });
}

void HandleReset(const std::shared_ptr<Service>& service, const Request& request,
                 const Reply& reply) {
  auto body = BodyObject(request, /*optional=*/true);
  if (auto* refusal = std::get_if<Response>(&body)) return reply(std::move(*refusal));
  ResetRequest reset = ParseReset(std::get<json::object>(body), service->settings());
  if (!reset.errors.empty()) return reply(Unprocessable(InBody(std::move(reset.errors))));
  WithSession(service, request, reply,
              [reset = std::move(reset)](const std::shared_ptr<Environment>& environment,
                                         bool alone, const Reply& answer) {
                answer(ToResponse(environment->Reset(reset)));
                if (alone) environment->Close();
              });
}

void HandleStep(const std::shared_ptr<Service>& service, const Request& request,
                const Reply& reply) {
  const Asked asked{.gone = request.gone, .id = request.id};
  auto body = BodyObject(request, /*optional=*/false);
  if (auto* refusal = std::get_if<Response>(&body)) return reply(std::move(*refusal));
  const json::object& data = std::get<json::object>(body);
  json::array errors;
  const json::value* action = data.if_contains("action");
  if (action == nullptr) {
    const json::value whole = data;
    errors.emplace_back(FieldError("missing", {"body", "action"}, "required", &whole));
  } else if (!action->is_object()) {
    errors.emplace_back(FieldError("dict_type", {"body", "action"}, "must be an object", action));
  }
  Seconds limit = service->settings().reply_deadline;
  if (const json::value* timeout = data.if_contains("timeout_s");
      timeout != nullptr && !timeout->is_null()) {
    if (!timeout->is_number() || !(timeout->to_number<double>() > 0))
      errors.emplace_back(
          FieldError("greater_than", {"body", "timeout_s"}, "must be a number above 0", timeout));
    else
      limit = Seconds(timeout->to_number<double>());
  }
  if (const json::value* id = data.if_contains("request_id"); id != nullptr && !id->is_null())
    if (!id->is_string() || id->get_string().size() > 255)
      errors.emplace_back(FieldError("string_type", {"body", "request_id"},
                                     "must be a string of at most 255 characters", id));
  if (!errors.empty()) return reply(Unprocessable(std::move(errors)));
  ParsedAction parsed = ParseAction(*action);
  if (!parsed.errors.empty()) return reply(Unprocessable(std::move(parsed.errors)));
  // In a new session there is no episode to step in: to say so takes no session.
  if (request.headers.Find(kSessionHeader) == "new")
    return std::make_shared<Environment>(service, request.who)
        ->Step(std::move(parsed.action), limit, asked,
               [reply](const Environment::Answer& result) { reply(ToResponse(result)); });
  WithSession(
      service, request, reply,
      [action = std::move(parsed.action), limit, asked](
          const std::shared_ptr<Environment>& environment, bool alone, const Reply& answer) {
        const auto respond = [answer, environment](const Environment::Answer& result) {
          answer(ToResponse(result));
        };
        if (!alone) return environment->Step(action, limit, asked, respond);
        if (action.task_id.empty() && action.ticket.empty())
          return answer(Unprocessable(
              {FieldError("missing", {"task_id"},
                          "a step over HTTP has no episode: name the task, or use /ws, or send the "
                          "X-OpenEnv-Session of a reset")}));
        environment->StepAlone(action, limit, asked, respond);
      });
}

/// Where a text stops being JSON.
size_t ErrorOffset(std::string_view text) {
  json::parse_options options;
  options.max_depth = kJsonMaxDepth;
  json::stream_parser parser({}, options);
  boost::system::error_code code;
  try {
    return parser.write_some(text.data(), text.size(), code);
  } catch (const std::exception&) {
    return 0;  // out of memory, say: nothing is known of the place
  }
}

std::string DocsPage(const Settings& settings) {
  std::string rows;
  const json::object document = OpenApi(settings);  // outlives the loop over a part of it
  for (const auto& [path, item] : document.at("paths").as_object())
    for (const auto& [method, operation] : item.as_object()) {
      std::string verb(method);
      for (char& c : verb) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      rows += fmt::format("<tr><td>{}</td><td><code>{}</code></td><td>{}</td></tr>\n", verb,
                          std::string_view(path), GetString(operation.as_object(), "summary"));
    }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0} API</title>\n"
      "<style>body{{font-family:sans-serif;margin:2em;max-width:60em}}td{{padding:.3em 1em .3em "
      "0}}</style>\n<h1>{0}</h1>\n<p>Episodes run over the WebSocket <code>/ws</code>. The full "
      "document is <a href=\"openapi.json\">openapi.json</a>, the schemas are <a "
      "href=\"schema\">schema</a>.</p>\n<table>\n{1}</table>\n</html>\n",
      settings.env_name, rows);
}

/// A handler that answers at once.
template <typename Make>
Handler Now(Make make) {
  return [make](const Request& request, const Reply& reply) { reply(make(request)); };
}

}  // namespace

http::Response Detail(int status, std::string_view message) {
  return Response::Json({{"detail", message}}, status);
}

http::Response Unprocessable(json::array errors) {
  return Response::Json({{"detail", std::move(errors)}}, 422);
}

http::Response ToResponse(const Environment::Answer& answer) {
  if (const auto* envelope = std::get_if<Envelope>(&answer)) {
    Response response;
    response.body = ToText(*envelope);
    return response;
  }
  const auto& error = std::get<ProtocolError>(answer);
  if (error.code == "VALIDATION_ERROR") return Unprocessable(error.errors);
  return Detail(error.http_status, error.message);
}

std::variant<json::object, http::Response> BodyObject(const http::Request& request, bool optional) {
  if (Trim(request.body).empty()) {
    if (optional) return json::object{};
    const json::value none = nullptr;
    return Unprocessable({FieldError("missing", {"body"}, "a JSON object is required", &none)});
  }
  Result<json::value> parsed = ParseJson(request.body);
  if (!parsed.ok()) {
    json::object error = FieldError("json_invalid", {"body", ErrorOffset(request.body)},
                                    "the body is not valid JSON");
    error["ctx"] = {{"error", parsed.error().message}};
    return Unprocessable({std::move(error)});
  }
  if (parsed->is_null() && optional) return json::object{};
  if (!parsed->is_object())
    return Unprocessable({FieldError("dict_type", {"body"}, "must be an object", &*parsed)});
  return std::move(parsed->get_object());
}

json::array InBody(json::array errors) {
  for (json::value& error : errors) {
    json::array& location = error.as_object()["loc"].as_array();
    location.insert(location.begin(), "body");
  }
  return errors;
}

json::object MetadataJson(const Service& service) {
  const Settings& settings = service.settings();
  json::array modes;
  for (const RewardMode& mode : RewardModes())
    modes.emplace_back(json::object{{"name", mode.name},
                                    {"version", mode.version},
                                    {"low", mode.low},
                                    {"high", mode.high},
                                    {"summary", mode.summary}});
  const std::shared_ptr<const Host>& host = service.host();
  const json::object about = host->context.about ? host->context.about() : json::object();
  json::object metadata{
      {"name", settings.env_name},
      {"description",
       "Write GPU kernels: submissions are compiled, compared with a reference on hidden inputs "
       "and timed against it."},
      {"readme_content",
       settings.readme.empty() ? json::value(nullptr) : json::value(settings.readme)},
      {"version", "0.1.0"},
      {"author", "Assay"},
      {"documentation_url", nullptr},
      {"ready", GetBool(about, "ready")},
      {"protocol", kProtocolVersion},
      {"tasks", host->context.tasks->tasks().size()},
      {"task_set_sha256", host->catalog.sha256()},
      {"reward_mode", settings.reward_mode},
      {"reward_modes", std::move(modes)},
      {"hardware", host->Hardware()},
      {"roofline", GetObject(about, "roofline")},
      {"limits",
       {{"max_turns", settings.max_turns},
        {"max_turns_limit", settings.max_turns_limit},
        {"max_code_bytes", kMaxCode},
        {"max_sessions", settings.max_sessions},
        {"reply_deadline_s", settings.reply_deadline.count()},
        {"poll_wait_s", settings.poll_wait.count()},
        {"session_idle_timeout_s", settings.idle_timeout.count()},
        {"resume_grace_s", settings.resume_grace.count()}}}};
  for (const auto& [name, value] : GetObject(about, "limits"))
    metadata["limits"].as_object()[name] = value;
  return metadata;
}

}  // namespace assay::openenv

namespace assay {

void AddOpenEnv(http::Router* router, OpenEnvContext context) {
  using namespace openenv;  // NOLINT(google-build-using-namespace)
  const std::shared_ptr<Service> service = Service::Make(std::move(context));
  // Goes with the router, before what the service stands on.
  const std::shared_ptr<void> with_router(nullptr, [service](void*) { service->Shutdown(); });

  router->SetRefusal("/", [](const http::Request&, int status, std::string_view message) {
    return Detail(status, status == 404   ? std::string_view("Not Found")
                          : status == 405 ? std::string_view("Method Not Allowed")
                                          : message);
  });
  router->Add("GET", "/health", http::Scope::kNone, Now([service](const http::Request&) {
                return http::Response::Json(HealthJson(*service));
              }));
  router->Add("GET", "/metadata", http::Scope::kNone, Now([service](const http::Request&) {
                return http::Response::Json(MetadataJson(*service));
              }));
  router->Add("GET", "/schema", http::Scope::kNone,
              Now([](const http::Request&) { return http::Response::Json(Schemas()); }));
  router->Add("GET", "/openapi.json", http::Scope::kNone, Now([service](const http::Request&) {
                return http::Response::Json(OpenApi(service->settings()));
              }));
  for (const char* path : {"/docs", "/redoc"})
    router->Add("GET", path, http::Scope::kNone, Now([service](const http::Request&) {
                  return http::Response::Text(DocsPage(service->settings()), 200,
                                              "text/html; charset=utf-8");
                }));
  if (!service->settings().production) {
    router->Add(
        "POST", "/reset", http::Scope::kSubmit,
        [service](const http::Request& request, const http::Reply& reply) {
          HandleReset(service, request, reply);
        },
        http::kSmallBody);
    router->Add(
        "POST", "/step", http::Scope::kSubmit,
        [service](const http::Request& request, const http::Reply& reply) {
          HandleStep(service, request, reply);
        },
        http::kSourceBody);
    router->Add("GET", "/state", http::Scope::kRead,
                [service](const http::Request& request, const http::Reply& reply) {
                  // Nothing has happened in a new session: to say so takes none.
                  if (request.headers.Find(kSessionHeader) == "new")
                    return reply(http::Response::Json(StateJson(nullptr)));
                  WithSession(service, request, reply,
                              [](const std::shared_ptr<Environment>& environment, bool,
                                 const http::Reply& answer) {
                                answer(http::Response::Json(environment->State()));
                              });
                });
  }
  router->AddWebSocket("/ws", http::Scope::kSubmit,
                       [service, with_router](const http::Request& request,
                                              const std::shared_ptr<http::WebSocketPeer>& peer) {
                         return NewWebSocketSession(service, request, peer);
                       });
  AddMcpRoutes(router, service);
  AddTaskRoutes(router, service);
  if (service->settings().web) AddWebRoutes(router, service);
}

}  // namespace assay
