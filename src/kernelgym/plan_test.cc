#include "kernelgym/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernelgym/fakes.h"
#include "kernelgym/harness.h"

namespace assay::kernelgym {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

EvaluationRequest Request(const json::object& more = {}) {
  json::object body = test::EvaluationBody();
  for (const auto& [key, value] : more) body[key] = value;
  std::vector<Issue> issues;
  EvaluationRequest request = ReadEvaluation(body, {"body"}, &issues);
  EXPECT_TRUE(issues.empty());
  return request;
}

std::string Refusal(const json::object& more) { return MakePlan(Request(more), {}).refusal; }

TEST(PlanTest, KernelBench) {
  const Plan plan = MakePlan(Request({{"num_correct_trials", 7},
                                      {"timeout", 60},
                                      {"priority", "high"},
                                      {"run_performance", false}}),
                             {});
  EXPECT_THAT(plan.refusal, IsEmpty());
  EXPECT_EQ(plan.job.task_source, test::kReference);
  EXPECT_EQ(plan.job.source, test::kKernel);
  EXPECT_EQ(plan.job.entry, "Model");
  EXPECT_EQ(plan.job.submission_entry, "ModelNew");
  EXPECT_EQ(plan.job.priority, 1);
  EXPECT_EQ(plan.job.timeout_s, 60);
  EXPECT_EQ(json::serialize(plan.job.options), R"({"trials":7,"time":false,"profile":true})");
  EXPECT_EQ(MakePlan(Request({{"priority", "low"}}), {}).job.priority, -1);
}

TEST(PlanTest, KernelBenchRefusals) {
  EXPECT_EQ(Refusal({{"entry_point", "Net"}}),
            "Reference code validation failed: Code must contain a 'Net' class");
  EXPECT_EQ(Refusal({{"kernel_code", "class Other:\n    pass\n"}}),
            "Kernel code validation failed: Code must contain a 'ModelNew' class");
  EXPECT_EQ(Refusal({{"kernel_code", "# class ModelNew would be nice here\n"}}),
            "Kernel code validation failed: Code must contain a 'ModelNew' class")
      << "a comment is no class";
  EXPECT_THAT(Refusal({{"reference_code", "class Model:\n    pass\n"}}),
              HasSubstr("Reference code validation failed: not a task: no get_inputs()"));
  EXPECT_THAT(Refusal({{"entry_point", "M()\nimport os"}}), HasSubstr("not the name of a class"));
  EXPECT_EQ(Refusal({{"use_reference_cache", true}}), "use_reference_cache needs a uuid");
  EXPECT_THAT(Refusal({{"use_reference_cache", true}, {"uuid", "u"}}), IsEmpty());
  EXPECT_THAT(Refusal({{"resources", {{"gpus", 0}}}}), HasSubstr("at least 1"));
  EXPECT_THAT(Refusal({{"resources", {{"gpus", "two"}}}}), HasSubstr("integer"));
  EXPECT_THAT(Refusal({{"resources", {{"gpus", 2}}}}), HasSubstr("one GPU"));
  EXPECT_THAT(Refusal({{"resources", {{"gpus", 1}, {"memory", "lots"}}}}), IsEmpty());
}

TEST(PlanTest, NotesSayWhatWasNotFollowed) {
  EXPECT_THAT(MakePlan(Request(), {}).notes, IsEmpty());
  EXPECT_THAT(MakePlan(Request({{"run_correctness", false}}), {}).notes,
              HasSubstr("run_correctness"));
  PlanOptions options;
  options.devices = {"cuda:0"};
  EXPECT_THAT(MakePlan(Request({{"device_preference", "cuda:0"}}), options).notes, IsEmpty());
  EXPECT_THAT(MakePlan(Request({{"device_preference", "cuda:7"}}), options).notes,
              HasSubstr("cuda:7"));
  options.devices = {"cuda:0", "cuda:1"};
  EXPECT_THAT(MakePlan(Request({{"device_preference", "cuda:0"}}), options).notes,
              HasSubstr("was not followed"));
}

TEST(PlanTest, CompiledReference) {
  for (const char* name : {"compile", "torch_compile", "TORCH-COMPILE"}) {
    const Plan plan = MakePlan(Request({{"reference_backend", name}}), {});
    EXPECT_THAT(plan.job.task_source, StartsWith(test::kReference));
    EXPECT_THAT(plan.job.task_source, HasSubstr("_assay_torch.compile(Model.forward)"));
    EXPECT_EQ(GetDouble(plan.job.options, "call_timeout_s"), 180);
  }
  EXPECT_EQ(MakePlan(Request({{"reference_backend", "pytorch"}}), {}).job.task_source,
            test::kReference);
}

TEST(PlanTest, CudaMayMeanTheCpu) {
  const std::string reference = std::string(test::kReference) + "# device='cuda'\n";
  const Plan plan = MakePlan(Request({{"reference_code", reference}}), {});
  EXPECT_THAT(plan.job.task_source, StartsWith(reference));
  EXPECT_THAT(plan.job.task_source, HasSubstr("_AssayDevice"));
  EXPECT_EQ(MakePlan(Request(), {}).job.task_source, test::kReference);
}

json::object Simple(const json::object& more) {
  json::object body = {{"workflow", "kernel_simple"}, {"reference_code", nullptr}};
  for (const auto& [key, value] : more) body[key] = value;
  return body;
}

TEST(PlanTest, InlineCases) {
  const json::array cases = {{{"inputs", {{1.0, 2.0}}}, {"outputs", {2.0, 4.0}}}};
  const Plan plan = MakePlan(Request(Simple({{"cases", cases}})), {});
  EXPECT_THAT(plan.refusal, IsEmpty());
  EXPECT_EQ(plan.cases_source, "inline");
  EXPECT_EQ(plan.num_cases, 1);
  EXPECT_EQ(plan.job.entry, kCasesReference);
  EXPECT_EQ(plan.job.submission_entry, "ModelNew");
  EXPECT_THAT(plan.job.source, StartsWith(test::kKernel));
  EXPECT_THAT(plan.job.source, HasSubstr("ModelNew.forward = _assay_all"));
  EXPECT_THAT(plan.notes, HasSubstr("same in every call"));
  EXPECT_THAT(Refusal(Simple({{"cases", json::array()}})), HasSubstr("`cases` is empty"));
  EXPECT_THAT(Refusal(Simple({{"cases", {5}}})), HasSubstr("case 0 has no outputs"));
  EXPECT_THAT(Refusal(Simple({{"cases", {{{"inputs", 1}}}}})), HasSubstr("no `outputs`"));
  EXPECT_THAT(Refusal(Simple({{"cases", {{{"outputs", 1}}}}})), HasSubstr("no `inputs`"));
  const json::array tolerant = {{{"input", 1}, {"output", 1}, {"rtol", 0.1}}};
  EXPECT_THAT(MakePlan(Request(Simple({{"cases", tolerant}})), {}).notes,
              HasSubstr("numeric rule"));
}

TEST(PlanTest, InlineCasesCannotLeaveTheirString) {
  const json::array cases = {
      {{"input", "'''\"\"\"\\\nimport os\r\n\\N{BULLET}\\u0022);os.system('id')#"}, {"output", 1}}};
  const Plan plan = MakePlan(Request(Simple({{"cases", cases}})), {});
  EXPECT_THAT(plan.job.task_source, Not(HasSubstr("\nimport os")));
  EXPECT_THAT(plan.job.task_source,
              HasSubstr(R"(CASES = json.loads("[{\"input\":\"'''\\\"\\\"\\\"\\\\\\nimport os)"));
}

TEST(PlanTest, CasesCode) {
  const std::string code = "def get_cases():\n    return [{'input': 1, 'output': 2}]\n";
  const Plan plan = MakePlan(Request(Simple({{"cases_code", code}})), {});
  EXPECT_THAT(plan.refusal, IsEmpty());
  EXPECT_EQ(plan.cases_source, "cases_code");
  EXPECT_THAT(plan.job.task_source, StartsWith(code));
  EXPECT_THAT(plan.job.task_source, Not(HasSubstr("meta")));
  EXPECT_THAT(plan.job.source, Not(HasSubstr("_assay_own_init")));
  const std::string no_cases = "def get_inputs():\n    return [1]\n";
  EXPECT_THAT(Refusal(Simple({{"cases_code", no_cases}})), HasSubstr("needs expected outputs"));
}

TEST(PlanTest, CasesOfTheSubmissionAreCutOutAndBounded) {
  const std::string code = std::string(test::kKernel) +
                           "def get_cases():\n"
                           "    x = torch.randn(8)\n"
                           "    return [{'inputs': [x], 'outputs': torch.softmax(x, dim=-1)}]\n";
  const Plan plan = MakePlan(Request(Simple({{"kernel_code", code}})), {});
  EXPECT_THAT(plan.refusal, IsEmpty());
  EXPECT_EQ(plan.cases_source, "kernel_code");
  EXPECT_THAT(plan.job.task_source, Not(HasSubstr("ModelNew")));
  EXPECT_THAT(plan.job.task_source, HasSubstr("meta"));
  EXPECT_THAT(plan.notes, HasSubstr("agrees with itself"));
  EXPECT_THAT(plan.job.source, HasSubstr("_assay_own_init"));

  const std::string hostile =
      std::string(test::kKernel) +
      "def get_cases():\n"
      "    return [{'inputs': [1], 'outputs': open('/etc/passwd').read()}]\n";
  EXPECT_THAT(Refusal(Simple({{"kernel_code", hostile}})), HasSubstr("send the cases as"));
  EXPECT_THAT(Refusal(Simple({})), HasSubstr("needs expected outputs"));
}

TEST(PlanTest, EntryOfSimple) {
  const auto entry = [](const char* code, const char* name) {
    return EntryOfSimple(Request(Simple({{"kernel_code", code}, {"entry_point", name}})));
  };
  EXPECT_EQ(entry("class ModelNew: pass", "Model"), "ModelNew");
  EXPECT_EQ(entry("class Model: pass # only", "Model"), "Model");
  EXPECT_EQ(entry("class ModelNew: pass", "Fast"), "Fast");
  EXPECT_EQ(Refusal(Simple({{"entry_point", "Fast"}})),
            "Kernel code validation failed: Code must contain a 'Fast' class");
}

}  // namespace
}  // namespace assay::kernelgym
