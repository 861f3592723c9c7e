#pragma once

#include <poll.h>

#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <type_traits>

#include "http/body_stream.h"
#include "http/reply_slot.h"
#include "http/websocket_connection.h"

namespace assay::http {

/// One HTTP/1.1 connection: requests one after another, each answered before the next is read (so
/// pipelined ones wait in the buffer or the socket), until it closes or becomes a WebSocket.
///
///     handshake ─▶ idle ─▶ head ─▶ body ─▶ working ─▶ writing | streaming ─▶ idle
///                           │ refused        the handler      │ last one
///                           ▼                                 ▼
///                        writing ─▶ linger ─▶ closed        closed
template <typename Stream>
class HttpConnection final : public Connection,
                             public std::enable_shared_from_this<HttpConnection<Stream>> {
 public:
  HttpConnection(Loop& loop, std::shared_ptr<const Site> site, Stream stream, Accepted accepted)
      : loop_(loop),
        site_(std::move(site)),
        limits_(site_->shared->limits),
        stream_(std::move(stream)),
        peer_(std::move(accepted.peer)),
        peer_group_(std::move(accepted.peer_group)),
        place_(std::move(accepted.place)),
        wake_(loop.context()),
        buffer_(limits_.header_bytes + kFraming),
        inflight_(site_->shared.get()),
        key_watch_(site_->keys.get()) {}

  void Start() {
    loop_.Add(this->shared_from_this());
    asio::co_spawn(loop_.executor(), Run(this->shared_from_this()), asio::detached);
  }

  void Tick(TimePoint now) override;
  void Drain() override {
    if (phase_ == Phase::kIdle) Abort();
  }
  void Abort() override {
    aborted_ = true;
    gone_->store(true);
    ErrorCodeOf ignored;
    boost::beast::get_lowest_layer(stream_).close(ignored);
    wake_.cancel();
  }

 private:
  using Parser = beast_http::request_parser<GrowingBody>;
  enum class Phase { kHandshake, kIdle, kHead, kBody, kWorking, kWriting, kStreaming, kLinger };
  static constexpr bool kTls = !std::is_same_v<Stream, Socket>;
  /// What may be read ahead beside a head: a piece of body, the line of a chunk, the trailers.
  static constexpr size_t kFraming = 64u << 10;

  Awaitable<void> Run(std::shared_ptr<HttpConnection> self);
  Awaitable<bool> Handshake();
  Awaitable<bool> Exchange();
  Awaitable<bool> AwaitFirstBytes();
  Awaitable<bool> ReadBody();
  Awaitable<bool> Answer();
  Awaitable<bool> Upgrade();
  Awaitable<bool> Refuse(Response response);
  Awaitable<bool> RefuseRead(ErrorCodeOf error);
  Awaitable<bool> WriteResponse(Response response);
  Awaitable<bool> WriteStream(Response response);
  Awaitable<bool> WritePiece(std::vector<std::string> pieces);
  Awaitable<void> Finish();
  Awaitable<void> Wait();

  std::optional<Response> Examine(bool upgrade);
  std::optional<Response> ExamineKey();
  std::optional<Response> ExamineBody();
  void Dispatch(const Reply& reply);
  void Enter(Phase phase, std::optional<Seconds> limit);
  [[nodiscard]] bool PeerIsGone(TimePoint now);
  void Finished(int status, size_t bytes);
  Response Problem(int status, std::string_view message) {
    return site_->router->Refusal(request_, status, message);
  }
  Response TooLarge() {
    return Problem(413, fmt::format("a body may have {} bytes at most here", body_bytes_));
  }

  Loop& loop_;
  const std::shared_ptr<const Site> site_;
  const Limits& limits_;
  Stream stream_;
  const std::string peer_;
  const std::string peer_group_;
  Place place_;
  Timer wake_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  const std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
  Request request_;  ///< the current one; after Answer() has begun without its body
  InflightBytes inflight_;
  TimePoint started_{};
  Phase phase_ = Phase::kHandshake;
  TimePoint deadline_ = TimePoint::max();
  TimePoint half_closed_ = TimePoint::max();  ///< since when the client sends no more
  KeyWatch key_watch_;
  size_t body_bytes_ = 0;   ///< that the current request may have
  bool first_ = true;       ///< no request has come yet
  bool keep_alive_ = true;  ///< after the current response
  bool http_1_0_ = false;
  bool expects_continue_ = false;
  bool timed_out_ = false;
  bool aborted_ = false;
  bool linger_ = false;    ///< the client may still be sending
  bool upgraded_ = false;  ///< the stream has moved on
};

template <typename Stream>
void HttpConnection<Stream>::Enter(Phase phase, std::optional<Seconds> limit) {
  phase_ = phase;
  deadline_ = limit ? DeadlineIn(*limit) : TimePoint::max();
}

template <typename Stream>
void HttpConnection<Stream>::Tick(TimePoint now) {
  if (aborted_) return;
  if (phase_ == Phase::kWorking || phase_ == Phase::kStreaming) {
    const bool withdrawn = key_watch_.Withdrawn(request_.who);
    if (withdrawn) site_->shared->CountDrop("key_withdrawn");
    if (withdrawn || PeerIsGone(now)) return Abort();
  }
  if (now < deadline_) return;
  deadline_ = TimePoint::max();
  switch (phase_) {
    case Phase::kHead:
    case Phase::kBody: {
      // Ends the read; the coroutine then answers 408.
      timed_out_ = true;
      ErrorCodeOf ignored;
      boost::beast::get_lowest_layer(stream_).cancel(ignored);
      break;
    }
    case Phase::kWriting:
      site_->shared->CountDrop("slow_reader");
      Abort();
      break;
    default:
      Abort();
  }
}

/// Whether nobody waits for the answer any more. One that has only shut down its sending side may
/// still read; for a while that is believed, but not by a stream, which such a client would leave.
template <typename Stream>
bool HttpConnection<Stream>::PeerIsGone(TimePoint now) {
  pollfd look{boost::beast::get_lowest_layer(stream_).native_handle(), POLLRDHUP, 0};
  if (::poll(&look, 1, 0) <= 0) return false;
  if ((look.revents & (POLLERR | POLLHUP)) != 0 || phase_ == Phase::kStreaming) return true;
  half_closed_ = std::min(half_closed_, now);
  return now - half_closed_ >= limits_.half_closed;
}

template <typename Stream>
Awaitable<void> HttpConnection<Stream>::Run([[maybe_unused]] std::shared_ptr<HttpConnection> self) {
  bool goes_on = co_await Handshake();
  while (goes_on) goes_on = co_await Exchange();
  if (!upgraded_) co_await Finish();
  loop_.Remove(this);
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::Handshake() {
  if constexpr (kTls) {
    Enter(Phase::kHandshake, limits_.head);
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kTuple);
    if (error) {
      LogDebug("tls handshake failed peer={}: {}", peer_, error.message());
      Abort();
      co_return false;
    }
  }
  co_return true;
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::AwaitFirstBytes() {
  if (buffer_.size() > 0) co_return true;
  buffer_.shrink_to_fit();
  if (site_->shared->draining.load()) co_return false;
  Enter(Phase::kIdle, first_ ? limits_.head : limits_.idle);
  const auto [error, size] = co_await stream_.async_read_some(buffer_.prepare(4096), kTuple);
  if (error) co_return false;
  buffer_.commit(size);
  co_return true;
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::Exchange() {
  if (!co_await AwaitFirstBytes()) co_return false;
  first_ = false;
  Enter(Phase::kHead, limits_.head);
  request_ = Request{};
  request_.peer = peer_;
  request_.path = "/";
  request_.id = loop_.NextId();
  expects_continue_ = false;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser_->body_limit(boost::none);  // ExamineBody says 413 itself
  const auto [error, size] =
      co_await beast_http::async_read_header(stream_, buffer_, *parser_, kTuple);
  started_ = Clock::now();
  if (error) co_return co_await RefuseRead(error);
  const Head& head = parser_->get();
  keep_alive_ = head.keep_alive();
  http_1_0_ = head.version() < 11;
  const bool upgrade = head.count(beast_http::field::upgrade) > 0 &&
                       beast_http::token_list(head[beast_http::field::upgrade]).exists("websocket");
  if (std::optional<Response> refusal = Examine(upgrade); refusal)
    co_return co_await Refuse(*std::move(refusal));
  if (upgrade) co_return co_await Upgrade();
  if (!parser_->is_done() && !co_await ReadBody()) co_return false;
  request_.body = std::move(parser_->get().body());
  parser_.reset();
  const bool goes_on = co_await Answer();
  inflight_.Release();
  co_return goes_on;
}

template <typename Stream>
std::optional<Response> HttpConnection<Stream>::Examine(bool upgrade) {
  std::string fresh_id = std::move(request_.id);
  const std::optional<Refusal> malformed =
      FillRequest(parser_->get(), std::move(fresh_id), &request_);
  if (malformed) {
    keep_alive_ = false;
    linger_ = true;  // whatever follows is not read as a request
    return Problem(malformed->status, malformed->message);
  }
  if (site_->keys == nullptr) {
    request_.who.key_name = kLocal;
    request_.who.scope = Scope::kAdmin;
    place_.Known();
  } else {
    key_watch_.Begin();
    request_.who = site_->keys->Authenticate(request_, upgrade && site_->token_query, peer_group_);
  }
  std::erase_if(request_.query, [](const auto& item) { return item.first == "token"; });
  const std::string& method = request_.method;
  const bool changes = upgrade || (method != "GET" && method != "HEAD" && method != "OPTIONS");
  if (const std::optional<Refusal> refusal = CheckOrigin(*site_, request_, changes); refusal)
    return Problem(refusal->status, refusal->message);
  if (std::optional<Response> preflight = Preflight(*site_, request_); preflight) return preflight;
  if (std::optional<Response> refusal = ExamineKey(); refusal) return refusal;
  if (upgrade) return std::nullopt;
  return ExamineBody();
}

template <typename Stream>
std::optional<Response> HttpConnection<Stream>::ExamineKey() {
  if (site_->keys == nullptr || request_.who.key_name.empty()) return std::nullopt;
  const std::string& name = request_.who.key_name;
  const std::optional<KeyQuota> quota = site_->keys->Quota(name);
  const size_t limit =
      quota && quota->connections > 0 ? quota->connections : limits_.connections_per_key;
  if (!place_.Claim(name, limit)) {
    keep_alive_ = false;
    site_->shared->CountThrottled("connections");
    Response response =
        Problem(429, fmt::format("key '{}' has its {} connections open; close some", name, limit));
    response.headers.Set("Retry-After", "1");
    return response;
  }
  place_.Known();
  const double wait = site_->keys->Admit(name);
  if (wait <= 0) return std::nullopt;
  site_->shared->CountThrottled("requests");
  Response response =
      Problem(429, fmt::format("key '{}' sends more requests per second than its quota", name));
  response.headers.Set("Retry-After", fmt::format("{}", static_cast<int64_t>(wait) + 1));
  return response;
}

template <typename Stream>
std::optional<Response> HttpConnection<Stream>::ExamineBody() {
  if (parser_->is_done()) return std::nullopt;
  body_bytes_ = limits_.body_bytes;
  if (std::optional<Response> refusal = site_->router->Refused(request_, &body_bytes_); refusal)
    return refusal;
  if (request_.method == "GET" || request_.method == "HEAD")
    return Problem(400, "a request of this method has no body");
  if (const auto expect = request_.headers.Find("Expect"); expect) {
    if (ToLower(*expect) != "100-continue")
      return Problem(417, "only 100-continue can be expected");
    expects_continue_ = true;
  }
  if (const auto length = parser_->content_length(); length && *length > body_bytes_)
    return TooLarge();
  return std::nullopt;
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::ReadBody() {
  Enter(Phase::kBody, limits_.body);
  if (expects_continue_) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    const auto [error, size] = co_await asio::async_write(stream_, asio::buffer(kContinue), kTuple);
    if (error) co_return false;
  }
  parser_->body_limit(body_bytes_);
  parser_->eager(true);
  const std::string holder = site_->Holder(request_.who, peer_group_);
  while (!parser_->is_done()) {
    const auto [error, size] =
        co_await beast_http::async_read_some(stream_, buffer_, *parser_, kTuple);
    if (error) co_return co_await RefuseRead(error);
    // Counted as it comes: what a head announces costs nothing yet.
    if (inflight_.Hold(parser_->get().body().size(), holder)) continue;
    site_->shared->CountThrottled("memory");
    Response response = Problem(503, "too many large requests at once; try again");
    response.headers.Set("Retry-After", "1");
    co_return co_await Refuse(std::move(response));
  }
  co_return true;
}

/// What to say when reading failed; nothing to a client that has gone.
template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::RefuseRead(ErrorCodeOf error) {
  if (aborted_) co_return false;
  keep_alive_ = false;
  if (timed_out_) {
    timed_out_ = false;
    co_return co_await Refuse(Problem(408, "the request did not arrive in time"));
  }
  const bool of_http =
      error.category() == beast_http::make_error_code(beast_http::error::bad_method).category();
  if (!of_http || error == beast_http::error::end_of_stream ||
      error == beast_http::error::partial_message)
    co_return false;
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow)
    co_return co_await Refuse(
        Problem(431, fmt::format("a request's head may have {} bytes at most, the lines between "
                                 "chunks and after them {}",
                                 limits_.header_bytes, limits_.header_bytes + kFraming)));
  if (error == beast_http::error::body_limit) co_return co_await Refuse(TooLarge());
  co_return co_await Refuse(Problem(400, "this is not HTTP/1.1: " + error.message()));
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::Refuse(Response response) {
  // An unread body would be taken for the next request.
  if (!parser_->is_done()) {
    keep_alive_ = false;
    linger_ = true;
  }
  parser_.reset();
  inflight_.Release();
  co_return co_await WriteResponse(std::move(response));
}

template <typename Stream>
void HttpConnection<Stream>::Dispatch(const Reply& reply) {
  // The log and the headers of the answer need these after the handler has taken the request.
  Request kept;
  kept.method = request_.method;
  kept.path = request_.path;
  kept.peer = request_.peer;
  kept.id = request_.id;
  kept.who = request_.who;
  if (const auto origin = request_.headers.Find("Origin"); origin)
    kept.headers.Add("Origin", std::string(*origin));
  Request request = std::exchange(request_, std::move(kept));
  request.gone = gone_;
  try {
    site_->router->Dispatch(std::move(request), reply);
  } catch (const std::exception& exception) {
    Log(LogLevel::kError, "http handler failed: {} request={}", exception.what(), request_.id);
    reply(Problem(500, "internal error"));
  }
}

template <typename Stream>
Awaitable<void> HttpConnection<Stream>::Wait() {
  wake_.expires_at(TimePoint::max());
  co_await wake_.async_wait(kTuple);
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::Answer() {
  Enter(Phase::kWorking, std::nullopt);
  half_closed_ = TimePoint::max();
  auto sink = std::make_shared<OneReply>([weak = this->weak_from_this()] {
    if (const auto self = weak.lock()) self->wake_.cancel();
  });
  auto slot = std::make_shared<ReplySlot>(loop_.weak_from_this(), sink, request_.id);
  Dispatch([slot = std::move(slot)](Response response) { slot->Deliver(std::move(response)); });
  while (!sink->response().has_value() && !aborted_) co_await Wait();
  if (aborted_) co_return false;
  co_return co_await WriteResponse(*std::move(sink->response()));
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::Upgrade() {
  const Head& head = parser_->get();
  if (head[beast_http::field::sec_websocket_version] != "13") {
    Response response = Problem(426, "only version 13 of the WebSocket protocol is spoken here");
    response.headers.Set("Sec-WebSocket-Version", "13");
    co_return co_await Refuse(std::move(response));
  }
  if (!ws::is_upgrade(head) || !parser_->is_done() || buffer_.size() > 0)
    co_return co_await Refuse(Problem(
        400,
        "this is no WebSocket upgrade: GET with 'Connection: Upgrade', a key, no body, and no "
        "data before the answer"));
  if (site_->shared->draining.load())
    co_return co_await Refuse(Problem(503, "the server is going down"));
  Response refusal;
  const WebSocketFactory* factory = site_->router->FindWebSocket(&request_, &refusal);
  if (factory == nullptr) co_return co_await Refuse(std::move(refusal));
  site_->shared->CountRequest(request_.method, 101, Clock::now() - started_);
  auto upgraded = std::make_shared<WebSocketConnection<Stream>>(loop_, site_, std::move(stream_),
                                                                std::move(place_), peer_);
  upgraded_ = true;
  upgraded->Start(parser_->release(), std::move(request_), factory);
  parser_.reset();
  co_return false;
}

}  // namespace assay::http

// The other half of the definitions.
#include "http/http_connection_write.h"
