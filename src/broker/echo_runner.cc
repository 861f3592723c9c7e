#include "broker/echo_runner.h"

#include <algorithm>
#include <thread>

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
  return UnjudgedVerdict(request, /*cancelled=*/true, "echo",
                         "nothing was judged: this server was started without an engine");
}

}  // namespace assay
