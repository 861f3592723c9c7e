// assay_test_store PATH [VERDICT.json …]: a store with one job for each verdict, and a queued one.

#include <fmt/format.h>

#include "base/fd.h"
#include "broker/broker.h"

namespace assay {
namespace {

Status Make(const std::string& path, const std::vector<std::string>& verdicts) {
  BrokerOptions options;
  options.path = path;
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<Broker> broker, Broker::Open(std::move(options)));
  for (size_t i = 0; i <= verdicts.size(); ++i) {
    JobRequest request;
    request.id = fmt::format("job-{}", i);
    request.owner = i % 2 == 0 ? "alice" : "bob";
    request.task_id = "assay/relu";
    request.source = fmt::format("# {}\nclass ModelNew: pass\n", i);
    request.options = {{"time", false}};
    ASSAY_ASSIGN_OR_RETURN(const Job job, broker->Submit(std::move(request)));
    if (i == verdicts.size()) break;
    ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(verdicts[i]));
    ASSAY_ASSIGN_OR_RETURN(json::object verdict, ParseJsonObject(text));
    ASSAY_ASSIGN_OR_RETURN(const std::optional<Delivery> delivery,
                           broker->Lease("test", Seconds(5), Seconds(0)));
    if (!delivery) return Err(ErrorCode::kInternal, "the job was not delivered");
    ASSAY_RETURN_IF_ERROR(broker->Complete(*delivery, std::move(verdict)));
  }
  return {};
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: assay_test_store PATH [VERDICT.json ...]\n");
    return 2;
  }
  const assay::Status made = assay::Make(argv[1], {argv + 2, argv + argc});
  if (!made.ok()) fmt::print(stderr, "assay_test_store: {}\n", made.error().message);
  return made.ok() ? 0 : 1;
}
