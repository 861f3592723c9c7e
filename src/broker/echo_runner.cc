#include "broker/echo_runner.h"

#include <algorithm>
#include <thread>

#include "base/hash.h"

namespace assay {

json::object EchoRunner::Describe() const {
  return {{"kind", "echo"}, {"delay_s", delay_.count()}};
}

Result<json::object> EchoRunner::Run(const JobRequest& request, const Stage& stage,
                                     const CancelFlag& cancelled) {
  stage("check");
  const TimePoint end = DeadlineIn(delay_);
  while (!*cancelled && Clock::now() < end)
    std::this_thread::sleep_until(std::min(end, DeadlineIn(Seconds(0.02))));
  if (*cancelled)
    return UnjudgedVerdict(request, /*cancelled=*/true, "cancelled",
                           "the submission was cancelled");
  // Always the same but for what names the submission: the load is to be the service's, not this.
  static const json::object kSame = [] {
    json::object same =
        UnjudgedVerdict({}, /*cancelled=*/true, "echo",
                        "nothing was judged: this server was started without an engine");
    same.erase("correctness");  // of what was not looked at there is nothing to say
    same.erase("timing");
    return same;
  }();
  json::object verdict = kSame;
  verdict["id"] = request.id;
  verdict["task_id"] = request.task_id;
  verdict["submission_sha256"] = Sha256Hex(request.source);
  return verdict;
}

}  // namespace assay
