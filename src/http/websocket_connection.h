#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "base/log.h"
#include "base/log_request.h"
#include "base/strings.h"
#include "http/outbox.h"
#include "http/serve.h"
#include "http/wire.h"

namespace assay::http {

namespace ws = boost::beast::websocket;

/// One WebSocket after its upgrade. It reads whatever the session does, so pings are answered and a
/// lost peer is seen, but not ahead of a peer that leaves its answers unread. The session is called
/// on the loop's thread and answers through the Outbox.
template <typename Stream>
class WebSocketConnection final : public Connection,
                                  public std::enable_shared_from_this<WebSocketConnection<Stream>> {
 public:
  WebSocketConnection(Loop& loop, std::shared_ptr<const Site> site, Stream stream, Place place,
                      std::string peer)
      : loop_(loop),
        site_(std::move(site)),
        limits_(site_->shared->limits),
        ws_(std::move(stream)),
        place_(std::move(place)),
        peer_(std::move(peer)),
        inflight_(site_->shared.get()),
        may_read_(loop.executor()),
        key_watch_(site_->keys.get()) {
    site_->shared->websockets.fetch_add(1);
  }
  ~WebSocketConnection() override { site_->shared->websockets.fetch_sub(1); }
  WebSocketConnection(const WebSocketConnection&) = delete;
  WebSocketConnection& operator=(const WebSocketConnection&) = delete;

  /// `factory` belongs to the site's router.
  void Start(Head head, Request request, const WebSocketFactory* factory) {
    loop_.Add(this->shared_from_this());
    asio::co_spawn(loop_.executor(),
                   Run(this->shared_from_this(), std::move(head), std::move(request), factory),
                   asio::detached);
  }

  void Tick(TimePoint now) override;
  void Drain() override {}  // Tick looks whether the session is busy
  void Abort() override {
    aborted_ = true;
    may_read_.cancel();
    ErrorCodeOf ignored;
    boost::beast::get_lowest_layer(ws_).close(ignored);
  }

 private:
  Awaitable<void> Run(std::shared_ptr<WebSocketConnection> self, Head head, Request request,
                      const WebSocketFactory* factory);
  Awaitable<bool> Accept(const Head& head);
  Awaitable<void> ReadMessages();
  Awaitable<void> AwaitReadingPeer();
  Awaitable<void> AwaitQuota();
  void Configure();
  void Open(Request request, const WebSocketFactory& factory);
  void Deliver();
  void Flush();
  void Write(std::string text);
  void PeerCloses();
  void EndSession();
  void StartClose(int code, std::string_view reason);
  void Ping();
  void Drop(const char* reason);
  /// Runs a call into the session; an exception closes the connection.
  template <typename Call>
  void Guard(Call call);

  /// Requests are read until this much of their answers is unread.
  static constexpr size_t kUnreadAnswers = 256u << 10;

  Loop& loop_;
  const std::shared_ptr<const Site> site_;
  const Limits& limits_;
  ws::stream<Stream> ws_;
  Place place_;
  const std::string peer_;
  Identity who_;
  std::string request_id_;
  InflightBytes inflight_;
  boost::beast::flat_buffer buffer_;
  Timer may_read_;  ///< cancelled when it is to be looked whether reading may go on
  std::shared_ptr<Outbox> outbox_;
  std::unique_ptr<WebSocketSession> session_;
  std::string writing_;  ///< the message that is being written
  TimePoint write_deadline_ = TimePoint::max();
  TimePoint ping_deadline_ = TimePoint::max();  ///< of a ping that is being written
  TimePoint close_deadline_ = TimePoint::max();
  TimePoint message_deadline_ = TimePoint::max();  ///< of one that has come in part
  TimePoint next_ping_ = TimePoint::max();
  TimePoint last_heard_ = Clock::now();
  KeyWatch key_watch_;
  bool is_writing_ = false;
  bool is_closing_ = false;
  bool aborted_ = false;
};

template <typename Stream>
void WebSocketConnection<Stream>::Configure() {
  ws_.set_option(ws::stream_base::timeout{ws::stream_base::none(), ws::stream_base::none(), false});
  ws_.set_option(ws::stream_base::decorator(
      [](ws::response_type& response) { response.set(beast_http::field::server, "assay"); }));
  ws_.auto_fragment(false);
  ws_.read_message_max(0);  // ReadMessages counts, so that the close frame says what the limit is
  ws_.control_callback([this](ws::frame_type kind, boost::beast::string_view) {
    last_heard_ = Clock::now();
    if (kind == ws::frame_type::close) PeerCloses();
  });
}

/// The session ends with the peer's close frame; the peer need not hang up for that.
template <typename Stream>
void WebSocketConnection<Stream>::PeerCloses() {
  close_deadline_ = std::min(close_deadline_, DeadlineIn(limits_.linger));
  asio::post(loop_.executor(), [self = this->shared_from_this()] { self->EndSession(); });
}

template <typename Stream>
void WebSocketConnection<Stream>::EndSession() {
  if (session_ == nullptr) return;
  outbox_->Shut();
  Guard([&] { session_->OnClose(); });
  session_.reset();
  const LogRequest of(request_id_);
  Log(LogLevel::kInfo, "websocket closed peer={} key={}", peer_,
      who_.key_name.empty() ? "-" : who_.key_name);
}

template <typename Stream>
Awaitable<bool> WebSocketConnection<Stream>::Accept(const Head& head) {
  const auto [error] = co_await ws_.async_accept(head, kTuple);
  co_return !error;
}

template <typename Stream>
Awaitable<void> WebSocketConnection<Stream>::Run(
    [[maybe_unused]] std::shared_ptr<WebSocketConnection> self, Head head, Request request,
    const WebSocketFactory* factory) {
  Configure();
  close_deadline_ = DeadlineIn(limits_.head);  // of the handshake
  // NOLINTNEXTLINE(bugprone-use-after-move): co_await is no loop
  const bool accepted = co_await Accept(head);
  close_deadline_ = TimePoint::max();
  if (accepted && !aborted_) {
    Open(std::move(request), *factory);
    co_await ReadMessages();
    EndSession();
  }
  Abort();
  loop_.Remove(this);
}

template <typename Stream>
void WebSocketConnection<Stream>::Open(Request request, const WebSocketFactory& factory) {
  who_ = request.who;
  request_id_ = request.id;
  key_watch_.Begin();
  next_ping_ = DeadlineIn(limits_.ping);
  last_heard_ = Clock::now();
  outbox_ = std::make_shared<Outbox>(
      limits_.write_queue_bytes, [loop = loop_.weak_from_this(), weak = this->weak_from_this()] {
        const std::shared_ptr<Loop> alive = loop.lock();
        if (alive == nullptr) return;
        asio::dispatch(alive->executor(), [weak] {
          if (const auto self = weak.lock()) self->Flush();
        });
      });
  const LogRequest of(request_id_);
  Log(LogLevel::kInfo, "websocket open path={} peer={} key={}", LoggedPath(request.path), peer_,
      who_.key_name.empty() ? "-" : who_.key_name);
  Guard([&] {
    session_ = factory(std::move(request), outbox_);
    if (session_ == nullptr) {
      StartClose(1011, "the session could not be made");
    } else {
      session_->OnOpen();
    }
  });
}

template <typename Stream>
template <typename Call>
void WebSocketConnection<Stream>::Guard(Call call) {
  try {
    call();
  } catch (const std::exception& exception) {
    const LogRequest of(request_id_);
    Log(LogLevel::kError, "websocket session failed: {}", exception.what());
    StartClose(1011, "internal error");
  }
}

template <typename Stream>
Awaitable<void> WebSocketConnection<Stream>::ReadMessages() {
  for (;;) {
    co_await AwaitReadingPeer();
    if (aborted_) co_return;  // what was read in part must not be read on
    const size_t room = limits_.message_bytes + 1 - buffer_.size();
    const auto [error, size] = co_await ws_.async_read_some(buffer_, room, kTuple);
    if (error) co_return;
    last_heard_ = Clock::now();
    if (is_closing_) {
      buffer_.clear();  // reads on only to find the peer's close frame
    } else if (buffer_.size() > limits_.message_bytes) {
      buffer_ = {};
      StartClose(1009, fmt::format("a message may have {} bytes at most", limits_.message_bytes));
    } else if (!inflight_.Hold(buffer_.size(), site_->Holder(who_, peer_))) {
      buffer_ = {};
      StartClose(1013, "too many large messages at once; try again later");
    } else if (ws_.is_message_done()) {
      Deliver();
      co_await AwaitQuota();
    } else if (message_deadline_ == TimePoint::max()) {
      message_deadline_ = DeadlineIn(limits_.body);
    }
  }
}

template <typename Stream>
Awaitable<void> WebSocketConnection<Stream>::AwaitReadingPeer() {
  // While it closes, async_close() reads by itself. A read beside it that finds the peer's close
  // frame (they crossed) holds what the other waits for, and neither ever ends.
  while (!aborted_ && (is_closing_ || outbox_->bytes() > kUnreadAnswers)) {
    may_read_.expires_at(TimePoint::max());
    co_await may_read_.async_wait(kTuple);
  }
}

/// A message counts like a request. Where its key has none left nothing is read until it has: the
/// client waits for its socket, and loses nothing.
template <typename Stream>
Awaitable<void> WebSocketConnection<Stream>::AwaitQuota() {
  if (site_->keys == nullptr || who_.key_name.empty()) co_return;
  while (!aborted_ && !is_closing_) {
    const double wait_s = site_->keys->Admit(who_.key_name);
    if (wait_s <= 0) co_return;
    may_read_.expires_at(DeadlineIn(Seconds(wait_s)));
    co_await may_read_.async_wait(kTuple);
  }
}

template <typename Stream>
void WebSocketConnection<Stream>::Deliver() {
  std::string text = boost::beast::buffers_to_string(buffer_.data());
  // Ten thousand idle sessions shall not keep the memory of their largest message.
  if (buffer_.capacity() > 4096) {
    buffer_ = {};
  } else {
    buffer_.clear();
  }
  inflight_.Release();
  message_deadline_ = TimePoint::max();
  if (ws_.got_binary()) text = CleanText(text);
  if (session_ != nullptr) Guard([&] { session_->OnMessage(std::move(text)); });
}

template <typename Stream>
void WebSocketConnection<Stream>::Flush() {
  if (outbox_->overflowed()) {
    Drop("slow_reader");
    return;
  }
  if (is_writing_ || is_closing_ || aborted_) return;
  if (std::optional<std::string> text = outbox_->Next(); text) {
    Write(*std::move(text));
  } else if (const std::optional<Outbox::Closing> closing = outbox_->NextClose(); closing) {
    StartClose(closing->code, closing->reason);
  }
}

template <typename Stream>
void WebSocketConnection<Stream>::Write(std::string text) {
  is_writing_ = true;
  writing_ = std::move(text);
  write_deadline_ = DeadlineIn(limits_.write);
  ws_.text(true);
  ws_.async_write(asio::buffer(writing_),
                  [self = this->shared_from_this()](const ErrorCodeOf& error, size_t) {
                    self->is_writing_ = false;
                    self->write_deadline_ = TimePoint::max();
                    self->writing_ = std::string();
                    self->may_read_.cancel();
                    if (error) {
                      self->Abort();
                    } else {
                      self->Flush();
                    }
                  });
}

template <typename Stream>
void WebSocketConnection<Stream>::StartClose(int code, std::string_view reason) {
  if (is_closing_ || aborted_) return;
  is_closing_ = true;
  may_read_.cancel();
  close_deadline_ = DeadlineIn(limits_.close);
  const std::string_view fits = reason.substr(0, 120);  // a control frame holds 125 bytes
  ws_.async_close(ws::close_reason(static_cast<ws::close_code>(code),
                                   boost::beast::string_view(fits.data(), fits.size())),
                  [self = this->shared_from_this()](const ErrorCodeOf&) { self->Abort(); });
}

template <typename Stream>
void WebSocketConnection<Stream>::Ping() {
  ping_deadline_ = DeadlineIn(limits_.write);
  ws_.async_ping({}, [self = this->shared_from_this()](const ErrorCodeOf& error) {
    self->ping_deadline_ = TimePoint::max();
    self->next_ping_ = DeadlineIn(self->limits_.ping);
    if (error) self->Abort();
  });
}

template <typename Stream>
void WebSocketConnection<Stream>::Drop(const char* reason) {
  if (aborted_) return;
  site_->shared->CountDrop(reason);
  const LogRequest of(request_id_);
  LogWarn("websocket dropped reason={} peer={}", reason, peer_);
  Abort();
}

template <typename Stream>
void WebSocketConnection<Stream>::Tick(TimePoint now) {
  if (aborted_) return;
  if (now >= write_deadline_ || now >= ping_deadline_) {
    Drop("slow_reader");
  } else if (now >= message_deadline_) {
    Drop("slow_sender");
  } else if (now >= close_deadline_) {
    if (is_closing_) Drop("no_close");
    Abort();
  } else if (is_closing_ || session_ == nullptr) {
    return;
  } else if (now - last_heard_ > limits_.silence) {
    site_->shared->CountDrop("silent");
    StartClose(1001, "no sign of life");
  } else if (site_->shared->draining.load() && !is_writing_ && outbox_->bytes() == 0 &&
             !session_->Busy()) {
    StartClose(1012, "the server is restarting");
  } else if (key_watch_.Withdrawn(who_)) {
    StartClose(1008, "the key was withdrawn");
  } else if (now >= next_ping_) {
    next_ping_ = TimePoint::max();
    Ping();
  }
}

}  // namespace assay::http
