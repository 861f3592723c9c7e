#pragma once

#include "http/http_connection.h"

namespace assay::http {

// How a connection answers and ends. Included by http_connection.h only.

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::WriteResponse(Response response) {
  AddCors(*site_, request_, &response);
  if (site_->shared->draining.load()) keep_alive_ = false;
  if (response.stream) co_return co_await WriteStream(std::move(response));
  const std::string head = SerializeHead(
      response, {keep_alive_, http_1_0_, /*chunked=*/false, loop_.date(), request_.id});
  const bool has_body =
      request_.method != "HEAD" && response.status != 204 && response.status != 304;
  const std::array<asio::const_buffer, 2> buffers = {
      asio::buffer(head), has_body ? asio::buffer(response.body) : asio::const_buffer()};
  Enter(Phase::kWriting, limits_.write);
  const auto [error, size] = co_await asio::async_write(stream_, buffers, kTuple);
  Finished(response.status, size);
  co_return !error && keep_alive_;
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::WritePiece(std::vector<std::string> pieces) {
  std::string framed;
  for (const std::string& piece : pieces)
    framed += http_1_0_ ? piece : fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
  Enter(Phase::kWriting, limits_.write);
  const auto [error, size] = co_await asio::async_write(stream_, asio::buffer(framed), kTuple);
  co_return !error;
}

template <typename Stream>
Awaitable<bool> HttpConnection<Stream>::WriteStream(Response response) {
  if (http_1_0_) keep_alive_ = false;
  const std::string head = SerializeHead(
      response, {keep_alive_, http_1_0_, /*chunked=*/!http_1_0_, loop_.date(), request_.id});
  Enter(Phase::kWriting, limits_.write);
  const auto [error, size] = co_await asio::async_write(stream_, asio::buffer(head), kTuple);
  if (error || request_.method == "HEAD") {
    Finished(response.status, size);
    co_return !error && keep_alive_;
  }
  auto queue = std::make_shared<PieceQueue>(
      limits_.stream_queue_bytes, [loop = loop_.weak_from_this(), weak = this->weak_from_this()] {
        if (const auto alive = loop.lock())
          asio::post(alive->executor(), [weak] {
            if (const auto self = weak.lock()) self->wake_.cancel();
          });
      });
  response.stream(PieceQueue::Writer(queue));
  response.stream = nullptr;
  size_t bytes = size;
  bool intact = true;
  for (;;) {
    std::vector<std::string> pieces;
    const PieceQueue::State state = queue->Take(&pieces);
    if (state == PieceQueue::State::kOverflowed) {
      site_->shared->CountDrop("slow_reader");
      intact = false;
      break;
    }
    for (const std::string& piece : pieces) bytes += piece.size();
    if (!pieces.empty()) {
      intact = co_await WritePiece(std::move(pieces));
      if (!intact) break;
    } else if (state != PieceQueue::State::kOpen) {
      intact = state == PieceQueue::State::kEnded;
      break;
    } else {
      Enter(Phase::kStreaming, std::nullopt);
      co_await Wait();
      if (aborted_) {
        intact = false;
        break;
      }
    }
  }
  queue->Close();
  if (intact && !http_1_0_) {
    const auto [last_error, last] =
        co_await asio::async_write(stream_, asio::buffer(std::string_view("0\r\n\r\n")), kTuple);
    intact = !last_error;
  }
  Finished(response.status, bytes);
  if (!intact) Abort();  // a message without its end: the client must not take it as whole
  co_return intact&& keep_alive_;
}

template <typename Stream>
void HttpConnection<Stream>::Finished(int status, size_t bytes) {
  const Duration took = Clock::now() - started_;
  site_->shared->CountRequest(request_.method, status, took);
  if (status == 429 && request_.who.retry_after_s > 0) site_->shared->CountThrottled("wrong_keys");
  if (site_->shared->access_log) LogAccess(request_, status, bytes, took);
}

template <typename Stream>
Awaitable<void> HttpConnection<Stream>::Finish() {
  if (!aborted_) {
    Enter(Phase::kLinger, limits_.linger);
    if constexpr (kTls) {
      // So that the client can tell an end from a cut.
      if (!linger_) co_await stream_.async_shutdown(kTuple);
    }
    ErrorCodeOf error;
    Socket& socket = boost::beast::get_lowest_layer(stream_);
    socket.shutdown(asio::socket_base::shutdown_send, error);
    std::array<char, 4096> rest;
    while (linger_ && !error) {
      const auto [read_error, size] = co_await socket.async_read_some(asio::buffer(rest), kTuple);
      error = read_error;
    }
  }
  Abort();
}

}  // namespace assay::http
