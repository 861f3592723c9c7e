#pragma once

#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <memory>

#include "base/log.h"
#include "base/log_request.h"
#include "http/loop.h"
#include "http/message.h"

namespace assay::http {

/// Where an answer goes, on the loop's thread.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void OnReply(Response response) = 0;
};

/// What the copies of one Reply share. It may outlive its connection and its server.
class ReplySlot {
 public:
  ReplySlot(std::weak_ptr<Loop> loop, std::weak_ptr<ReplySink> sink, std::string request_id)
      : loop_(std::move(loop)), sink_(std::move(sink)), request_id_(std::move(request_id)) {}
  ReplySlot(const ReplySlot&) = delete;
  ReplySlot& operator=(const ReplySlot&) = delete;
  ~ReplySlot() {
    if (answered_.load()) return;
    const LogRequest of(request_id_);
    Log(LogLevel::kError, "http request was dropped without an answer");
    Request request;
    request.id = request_id_;
    Deliver(Response::Problem(request, 500, "internal", "the request was not answered"));
  }

  /// The first call counts.
  void Deliver(Response response) {
    if (answered_.exchange(true)) return;
    const std::shared_ptr<Loop> loop = loop_.lock();
    if (loop == nullptr) return;
    asio::dispatch(loop->executor(), [sink = sink_, answer = std::move(response)]() mutable {
      if (const auto alive = sink.lock()) alive->OnReply(std::move(answer));
    });
  }

 private:
  const std::weak_ptr<Loop> loop_;
  const std::weak_ptr<ReplySink> sink_;
  const std::string request_id_;
  std::atomic<bool> answered_{false};
};

/// One request's sink: its connection may be at a later request when a late answer comes.
class OneReply final : public ReplySink {
 public:
  explicit OneReply(std::function<void()> ready) : ready_(std::move(ready)) {}
  void OnReply(Response response) override {
    response_ = std::move(response);
    ready_();
  }
  [[nodiscard]] std::optional<Response>& response() { return response_; }

 private:
  const std::function<void()> ready_;
  std::optional<Response> response_;
};

}  // namespace assay::http
