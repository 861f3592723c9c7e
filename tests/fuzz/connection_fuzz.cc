#include "connection_fuzz.h"

#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/fd.h"
#include "base/log.h"
#include "http/serve.h"

namespace assay::http {
namespace {

class Echo final : public WebSocketSession {
 public:
  explicit Echo(std::shared_ptr<WebSocketPeer> peer) : peer_(std::move(peer)) {}
  void OnMessage(std::string text) override {
    if (text == "bye") peer_->Close(1000, "bye");
    peer_->Send(std::move(text));
  }
  void OnClose() override {}

 private:
  std::shared_ptr<WebSocketPeer> peer_;
};

std::shared_ptr<const Site> MakeSite() {
  SetUpLogging("off");
  Router router;
  router.Add("GET", "/hello/{name}", Scope::kNone, [](Request request, Reply reply) {
    reply(Response::Text(std::string(request.Captured("name"))));
  });
  router.Add("GET", "/files/{path...}", Scope::kRead, [](Request request, Reply reply) {
    reply(Response::Problem(request, 404, "not_found", request.Captured("path")));
  });
  router.Add("POST", "/echo", Scope::kNone,
             [](Request request, Reply reply) { reply(Response::Text(request.body)); });
  router.Add("GET", "/stream", Scope::kNone, [](Request, Reply reply) {
    Response response;
    response.stream = [](const std::shared_ptr<BodyStream>& stream) {
      stream->Write("one");
      stream->Write("two");
      stream->End();
    };
    reply(std::move(response));
  });
  router.AddWebSocket("/ws", Scope::kNone, [](Request, std::shared_ptr<WebSocketPeer> peer) {
    return std::make_unique<Echo>(std::move(peer));
  });
  Limits limits;
  limits.body_bytes = 2048;
  limits.message_bytes = 2048;
  Result<std::vector<ApiKey>> keys = ParseKeys("me a-key-for-the-fuzzer read\n");
  auto site = std::make_shared<Site>();
  site->router = std::make_shared<Router>(std::move(router));
  site->keys = std::make_shared<KeyRing>(*std::move(keys));
  site->token_query = true;
  site->origins = {"https://a.example"};
  site->shared = std::make_shared<Shared>(limits, nullptr);
  return site;
}

/// What the server has written; a client that does not read would be dropped as slow.
void Drain(int fd) {
  char bytes[65536];
  while (::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

void ServeInput(std::string_view head, std::string_view input, size_t piece) {
  static const std::shared_ptr<const Site>& site = *new auto(MakeSite());
  static const std::shared_ptr<Loop>& loop = *new auto(std::make_shared<Loop>(Seconds(1)));
  Result<std::pair<UniqueFd, UniqueFd>> pair = SocketPair();
  if (!pair.ok()) return;
  const UniqueFd client = std::move((*pair).first);
  ServePlain(*loop, site,
             Accepted{std::move((*pair).second), AF_UNIX, "fuzz", "fuzz",
                      *Place::Take(site->shared, "fuzz")});
  if (!head.empty()) {
    (void)::send(client.get(), head.data(), head.size(), MSG_NOSIGNAL);
    loop->context().restart();
    while (loop->context().poll() > 0) {  // until the answer to the head has been written
    }
  }
  bool open = true;
  for (int quiet = 0; site->shared->connections.load() > 0;) {
    if (!input.empty()) {
      const std::string_view part = input.substr(0, piece);
      const ssize_t n = ::send(client.get(), part.data(), part.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) input.remove_prefix(static_cast<size_t>(n));
      if (n < 0 && errno != EAGAIN) input = {};
    } else if (open) {
      ::shutdown(client.get(), SHUT_WR);
      open = false;
    }
    loop->context().restart();
    const size_t done = loop->context().poll();
    Drain(client.get());
    quiet = done > 0 || open ? 0 : quiet + 1;
    if (quiet > 10'000) {
      std::fprintf(stderr, "the connection does not end\n");
      std::abort();
    }
  }
}

std::string UpgradeHead() {
  return "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
}

}  // namespace assay::http
