#include <mutex>

#include "api/handlers.h"
#include "api/submission.h"

namespace assay::api {
namespace {

using http::BodyStream;
using http::Request;
using http::Response;

/// Server-sent events of one submission to one client: "stage" for each change, "done" at the end.
/// A server that stops ends it for what it has not begun.
/// The keep-alive timer holds it; it lets go when the client does or the job is done.
class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  EventStream(const Api& api, std::string id, std::string viewer, bool raw,
              std::shared_ptr<BodyStream> body)
      : api_(api),
        id_(std::move(id)),
        viewer_(std::move(viewer)),
        raw_(raw),
        body_(std::move(body)) {}

  void Start() {
    Result<std::shared_ptr<void>> watch =
        api_->jobs->Watch(id_, [weak = weak_from_this()](const Job& job) {
          if (const std::shared_ptr<EventStream> alive = weak.lock()) alive->Put(job);
        });
    if (!watch.ok()) return body_->End();
    {
      const std::lock_guard guard(mutex_);
      if (!ended_) watch_ = *std::move(watch);
    }
    // What it is now; changes since the watch began may have come already.
    if (const Result<std::shared_ptr<const Job>> job = api_->jobs->Peek(id_); job.ok()) Put(**job);
    KeepAlive();
  }

 private:
  void Put(const Job& job) {
    std::shared_ptr<void> watch;
    std::shared_ptr<void> timer;
    const std::lock_guard guard(mutex_);
    if (ended_) return;
    const bool done = job.state == JobState::kDone;
    // What a server that stops has not begun changes no more; its reader asks the next one.
    const bool kept = job.state == JobState::kQueued && api_->jobs->draining();
    bool written = true;
    if (std::string now = std::string(StateName(job.state)) + "/" + job.stage; now != last_) {
      last_ = std::move(now);
      const std::string data = json::serialize(SubmissionJson(job, viewer_, raw_));
      written = body_->Write(fmt::format("event: {}\ndata: {}\n\n", done ? "done" : "stage", data));
    }
    if (written && !done && !kept) return;
    if (done || kept) body_->End();
    ended_ = true;
    watch.swap(watch_);  // destroyed after the lock
    timer.swap(timer_);
  }

  void KeepAlive() {
    const std::lock_guard guard(mutex_);
    if (ended_) return;
    timer_ = api_->timers->After(Seconds(api_->limits.keep_alive_s), [self = shared_from_this()] {
      {
        std::shared_ptr<void> timer;  // destroyed after the lock
        const std::lock_guard inside(self->mutex_);
        if (self->ended_) return;
        if (!self->body_->Write(": alive\n\n")) {
          self->ended_ = true;
          self->watch_.reset();
          timer.swap(self->timer_);
          return;
        }
      }
      self->KeepAlive();
    });
  }

  const Api api_;
  const std::string id_;
  const std::string viewer_;
  const bool raw_;
  const std::shared_ptr<BodyStream> body_;
  std::mutex mutex_;
  std::string last_;
  bool ended_ = false;
  std::shared_ptr<void> watch_;
  std::shared_ptr<void> timer_;
};

}  // namespace

void StreamEvents(const Api& api, Request request, http::Reply reply) {
  Response response;
  const auto job = FindVisible(request, api->jobs, request.Captured("id"), &response);
  if (!job) return reply(std::move(response));
  response = {};
  response.content_type = "text/event-stream";
  response.headers.Set("Cache-Control", "no-store");
  response.headers.Set("X-Accel-Buffering", "no");
  response.stream = [api, id = job->request->id, viewer = request.who.key_name,
                     raw = request.Query("raw") == "true"](std::shared_ptr<BodyStream> body) {
    std::make_shared<EventStream>(api, id, viewer, raw, std::move(body))->Start();
  };
  reply(std::move(response));
}

}  // namespace assay::api
