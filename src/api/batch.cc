#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "api/handlers.h"
#include "api/submission.h"
#include "base/strings.h"

namespace assay::api {
namespace {

using http::BodyStream;
using http::Request;
using http::Response;

/// Between two looks for room in the queue, at most: one also sees that the server stops.
constexpr Seconds kLongestNap{2};

/// One batch: a window of its lines is in the queue, verdicts go out as they come, and each makes
/// room for the next line. What was accepted is judged even if the client goes, or the server stops
/// before: it can ask for it by its ids, or send the batch again with the same ids.
class Batch : public std::enable_shared_from_this<Batch> {
 public:
  Batch(const Api& api, std::vector<JobRequest> lines, bool raw)
      : api_(api),
        lines_(std::make_move_iterator(lines.begin()), std::make_move_iterator(lines.end())),
        raw_(raw) {
    for (size_t i = 0; i < lines_.size(); ++i) waiting_.push_back(i);
  }

  void Start(std::shared_ptr<BodyStream> body) {
    body_ = std::move(body);
    if (lines_.empty()) return body_->End();
    Fill();
  }

 private:
  /// Submits lines until the window is full.
  void Fill() {
    for (;;) {
      size_t index = 0;
      {
        const std::lock_guard guard(mutex_);
        if (gone_ || waiting_.empty() || open_ >= api_->limits.batch_window || retry_) return;
        index = waiting_.front();
        waiting_.pop_front();
        ++open_;
      }
      api_->jobs->SubmitThen(lines_[index],
                             [self = shared_from_this(), index](const Result<SharedJob>& job) {
                               self->Kept(index, job);
                             });
    }
  }

  void Kept(size_t index, const Result<SharedJob>& job) {
    if (!job.ok()) {
      if (job.error().code == ErrorCode::kUnavailable && !api_->jobs->draining())
        return TryLater(index);
      const SharedRequest line = std::exchange(lines_[index], {});
      const std::string id = line->id.substr(0, line->id.find('@'));
      const bool invalid = job.error().code == ErrorCode::kInvalid;
      const bool unknown = job.error().code == ErrorCode::kNotFound;
      return Put(index, {{"id", id},
                         {"error",
                          {{"code", invalid   ? "invalid"
                                    : unknown ? "not_found"
                                              : "unavailable"},
                           {"message", job.error().message}}}});
    }
    lines_[index] = {};  // the job has it now
    Result<std::shared_ptr<void>> watch = api_->jobs->WhenDoneOrKept(
        (*job)->request->id, [self = weak_from_this(), index](const Job& now) {
          if (const std::shared_ptr<Batch> alive = self.lock()) alive->Settled(index, now);
        });
    if (!watch.ok())
      return Put(index, {{"id", VisibleId(**job, (*job)->request->owner)},
                         {"error", {{"code", "unavailable"}, {"message", watch.error().message}}}});
    const std::lock_guard guard(mutex_);
    if (gone_) return;
    // It holds this batch while it waits for verdicts; broken with the last one.
    if (!done_.contains(index)) watches_.emplace(index, *std::move(watch));
    self_ = shared_from_this();
  }

  void Settled(size_t index, const Job& job) {
    const std::string id = VisibleId(job, job.request->owner);
    if (job.state == JobState::kDone)
      return Put(index, {{"id", id}, {"verdict", raw_ ? job.verdict : BriefVerdict(job.verdict)}});
    Put(index, {{"id", id},
                {"error",
                 {{"code", "unavailable"},
                  {"message",
                   "the server stops; the submission is kept and will be judged after "
                   "the next start: ask for it by its id"}}}});
  }

  /// The queue is full: this line and the next ones wait until there should be room.
  void TryLater(size_t index) {
    const std::lock_guard guard(mutex_);
    waiting_.push_front(index);
    --open_;
    if (retry_ || gone_) return;
    retry_ = api_->timers->After(
        std::min(kLongestNap, Seconds(std::max(1.0, api_->jobs->retry_after_s()))),
        [self = shared_from_this()] {
          {
            const std::lock_guard inside(self->mutex_);
            self->retry_.reset();
          }
          self->Fill();
        });
  }

  void Put(size_t index, const json::object& result) {
    json::object line{{"index", index}};
    for (const auto& [key, value] : result) line[key] = value;
    std::shared_ptr<Batch> last;
    {
      const std::lock_guard guard(mutex_);
      if (gone_ || !done_.emplace(index, true).second) return;
      --open_;
      watches_.erase(index);
      const bool written = body_->Write(json::serialize(line) + "\n");
      if (written && done_.size() < lines_.size()) {
        // More to come.
      } else {
        if (written) body_->End();
        gone_ = true;
        watches_.clear();
        retry_.reset();
        last.swap(self_);
        return;
      }
    }
    Fill();
  }

  const Api api_;
  std::vector<SharedRequest>
      lines_;  ///< each until it is accepted; by whom it was taken from waiting_
  const bool raw_;
  std::shared_ptr<BodyStream> body_;
  std::mutex mutex_;
  std::deque<size_t> waiting_;
  size_t open_ = 0;  ///< lines that are submitted and not answered
  std::map<size_t, bool> done_;
  std::map<size_t, std::shared_ptr<void>> watches_;
  std::shared_ptr<void> retry_;
  std::shared_ptr<Batch> self_;
  bool gone_ = false;
};

Result<std::vector<JobRequest>> ParseBatch(const Api& api, const Request& request) {
  std::vector<JobRequest> lines;
  size_t number = 0;
  for (std::string_view rest = request.body; !rest.empty();) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    ++number;
    if (Trim(text).empty()) continue;
    if (lines.size() == api->limits.max_batch)
      return Err(ErrorCode::kInvalid, "more than {} lines; send several batches",
                 api->limits.max_batch);
    const auto at_line = [&](const Error& error) {
      return Err(ErrorCode::kInvalid, "line {}: {}", number, error.message);
    };
    Result<json::object> object = ParseJsonObject(text);
    if (!object.ok()) return at_line(object.error());
    Result<JobRequest> line = ParseSubmission(*object);
    if (!line.ok()) return at_line(line.error());
    SetOwner(request, &*line);
    lines.push_back(*std::move(line));
  }
  if (lines.empty())
    return Err(ErrorCode::kInvalid, "the batch is empty; send one JSON object a line");
  return lines;
}

}  // namespace

void CreateBatch(const Api& api, Request request, http::Reply reply) {
  // Nothing is queued unless every line can be read.
  Result<std::vector<JobRequest>> lines = ParseBatch(api, request);
  if (!lines.ok()) return reply(BadRequest(request, lines.error()));
  Response response;
  response.content_type = "application/x-ndjson";
  response.headers.Set("Cache-Control", "no-store");
  auto batch = std::make_shared<Batch>(api, *std::move(lines), request.Query("raw") == "true");
  response.stream = [batch](std::shared_ptr<BodyStream> body) { batch->Start(std::move(body)); };
  reply(std::move(response));
}

}  // namespace assay::api
