#include "server/status.h"

namespace assay {

void AddStatus(http::Router* router, const MetricRegistry* registry,
               std::function<Readiness()> readiness) {
  router->Add("GET", "/healthz", http::Scope::kNone, [](http::Request, http::Reply reply) {
    reply(http::Response::Json({{"status", "ok"}}));
  });
  router->Add("GET", "/readyz", http::Scope::kNone,
              [readiness = std::move(readiness)](http::Request, http::Reply reply) {
                const Readiness now = readiness();
                const bool ready = now.missing.empty();
                json::array missing(now.missing.begin(), now.missing.end());
                reply(http::Response::Json(
                    {{"status", ready ? "ready" : "not ready"}, {"missing", std::move(missing)}},
                    ready ? 200 : 503));
              });
  router->Add("GET", "/metrics", http::Scope::kRead, [registry](http::Request, http::Reply reply) {
    reply(http::Response::Text(registry->ToPrometheus(), 200,
                               std::string(MetricRegistry::kContentType)));
  });
}

}  // namespace assay
