// Every route and every shape of error, on fakes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "kernelgym/fakes.h"

namespace assay::kernelgym {
namespace {

using test::EvaluationBody;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace samples = assay::test;

std::string Header(const http::Response& response, std::string_view name) {
  const auto value = response.headers.Find(name);
  return value ? std::string(*value) : "";
}

json::object Verdict(const Records& records) { return ToJson(Decide(records), true); }

class RoutesTest : public test::ProtocolTest {};

TEST_F(RoutesTest, EvaluateAnswersWhenTheJobEnds) {
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  EXPECT_FALSE(answer->has_value());
  ASSERT_EQ(jobs.order.size(), 1u);
  EXPECT_EQ(jobs.request("job-1").owner, "alice");
  jobs.Finish("job-1", Correct());
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->status, 200);
  const json::object body = Body(**answer);
  EXPECT_EQ(GetString(body, "task_id"), "t-1");
  EXPECT_EQ(GetString(body, "status"), "completed");
  EXPECT_TRUE(GetBool(body, "correctness"));
  EXPECT_GT(GetDouble(body, "speedup"), 2);
  EXPECT_EQ(GetDouble(body, "processing_time"), 2.5);
}

TEST_F(RoutesTest, TheSameTaskAgainIsTheSameJob) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  Post("/evaluate", EvaluationBody());
  Post("/evaluate", EvaluationBody());
  EXPECT_EQ(jobs.order.size(), 1u);
  json::object other = EvaluationBody();
  other["kernel_code"] = fmt::format("{}# changed\n", test::kKernel);
  Post("/evaluate", other);
  EXPECT_EQ(jobs.order.size(), 2u) << "a result belongs to the code that was sent";
  other["force_refresh"] = true;
  Post("/evaluate", other);
  EXPECT_EQ(jobs.order.size(), 3u);
}

TEST_F(RoutesTest, TwoWaitForOneJob) {
  const Pending first = Start("POST", "/evaluate", EvaluationBody());
  json::object again = EvaluationBody();
  again["force_refresh"] = true;  // there is nothing finished to refresh
  const Pending second = Start("POST", "/evaluate", again);
  EXPECT_EQ(jobs.order.size(), 1u);
  jobs.Finish("job-1", Correct());
  EXPECT_TRUE(first->has_value());
  EXPECT_TRUE(second->has_value());
}

TEST_F(RoutesTest, InfrastructureFaultIs503AndJudgedAgain) {
  jobs.judge = [](const JobRequest&) { return Verdict(samples::InfraRecords()); };
  const http::Response response = Post("/evaluate", EvaluationBody());
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(Header(response, "X-Error-Code"), "SYSTEM_ERROR");
  EXPECT_EQ(Header(response, "Retry-After"), "3");
  const json::object body = Body(response);
  EXPECT_EQ(GetString(body, "error_origin"), "infrastructure");
  EXPECT_THAT(GetString(body, "detail"), HasSubstr("infrastructure fault"));
  EXPECT_TRUE(body.at("correctness").is_null());
  EXPECT_TRUE(body.at("speedup").is_null());
  EXPECT_EQ(GetString(Body(Call("GET", "/status/t-1")), "error_origin"), "infrastructure");
  EXPECT_EQ(Call("GET", "/results/t-1").status, 503);
  jobs.judge = [](const JobRequest&) { return Correct(); };
  EXPECT_EQ(Post("/evaluate", EvaluationBody()).status, 200);
  EXPECT_EQ(jobs.order.size(), 2u);
}

TEST_F(RoutesTest, ALongerTimeLimitIsJudgedAnewWhereAShorterOnePassed) {
  jobs.judge = [](const JobRequest&) {
    return Verdict(
        samples::FailedRecords(FailureKind::kDeadline, Stage::kCheck, "deadline", "too long"));
  };
  json::object body = EvaluationBody();
  body["timeout"] = 30;
  EXPECT_EQ(GetString(Body(Post("/evaluate", body)), "error_code"), "TIMEOUT_ERROR");
  Post("/evaluate", body);
  EXPECT_EQ(jobs.order.size(), 1u) << "the same limit passes again";
  jobs.judge = [](const JobRequest&) { return Correct(); };
  body["timeout"] = 300;
  EXPECT_TRUE(GetBool(Body(Post("/evaluate", body)), "correctness"));
  EXPECT_EQ(jobs.order.size(), 2u);
  body["timeout"] = 600;
  Post("/evaluate", body);
  EXPECT_EQ(jobs.order.size(), 2u) << "no limit passed: the result stands";
}

// The record is lost, as by a crash, or not there yet, as beside another post.
TEST_F(RoutesTest, OneKeyNamesOneTimeLimit) {
  json::object body = EvaluationBody();
  body["timeout"] = 30;
  documents.broken = true;
  Post("/evaluate", body);
  documents.broken = false;
  body["timeout"] = 300;
  const Pending answer = Start("POST", "/evaluate", body);
  ASSERT_EQ(jobs.order.size(), 2u);
  EXPECT_EQ(jobs.request("job-2").timeout_s, 300);
}

TEST_F(RoutesTest, FullQueueIs429) {
  jobs.capacity = 0;
  for (const char* path : {"/evaluate", "/evaluate/batch", "/workflow/submit"}) {
    const json::object body = std::string(path) == "/evaluate/batch"
                                  ? json::object{{"batch_id", "b"}, {"tasks", {EvaluationBody()}}}
                              : std::string(path) == "/workflow/submit"
                                  ? json::object{{"payload", EvaluationBody()}}
                                  : EvaluationBody();
    const http::Response response = Post(path, body);
    EXPECT_EQ(response.status, 429) << path;
    EXPECT_EQ(Header(response, "Retry-After"), "3") << path;
    EXPECT_EQ(Header(response, "X-Error-Code"), "RESOURCE_ERROR") << path;
    EXPECT_THAT(GetString(Body(response), "detail"), HasSubstr("full")) << path;
  }
  EXPECT_EQ(Call("GET", "/status/t-1").status, 404) << "what was refused is not a task";
}

TEST_F(RoutesTest, AServerThatStopsIs503) {
  jobs.capacity = 0;
  jobs.stopping = true;
  const http::Response response = Post("/evaluate", EvaluationBody());
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(Header(response, "Retry-After"), "3");
}

TEST_F(RoutesTest, OtherFailuresToSubmit) {
  jobs.refuse = {ErrorCode::kIo, "the disk is full"};
  http::Response response = Post("/evaluate", EvaluationBody());
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(GetString(Body(response), "detail"), "Failed to submit task: the disk is full");
  EXPECT_EQ(Header(response, "X-Error-Code"), "SYSTEM_ERROR");
  jobs.refuse = {ErrorCode::kInvalid, "the source has too many bytes"};
  response = Post("/evaluate", EvaluationBody());
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(GetString(Body(response), "error_code"), "VALIDATION_ERROR");
  jobs.refuse.message.clear();
  documents.broken = true;
  EXPECT_EQ(Post("/evaluate", EvaluationBody("t-2")).status, 503);
}

TEST_F(RoutesTest, InvalidBodies) {
  for (const char* path : {"/evaluate", "/evaluate/batch", "/workflow/submit", "/debug/validate"}) {
    for (const char* body : {"", "{", "[]", "null", "{\"task_id\": \"a\"} x", "\"\xff\""}) {
      const http::Response response = Call("POST", path, body);
      EXPECT_EQ(response.status, 400) << path << " " << body;
      EXPECT_EQ(Header(response, "X-Error-Code"), "VALIDATION_ERROR");
      const json::object answer = Body(response);
      EXPECT_EQ(GetString(answer, "error"), "RequestValidationError");
      EXPECT_THAT(GetString(answer, "message"), StartsWith("Request validation failed: [{"));
      EXPECT_EQ(GetString(answer, "error_code"), "VALIDATION_ERROR");
      EXPECT_TRUE(answer.at("task_id").is_null());
      EXPECT_THAT(GetString(answer, "timestamp"), ::testing::EndsWith("Z"));
      EXPECT_FALSE(GetArray(answer, "errors").empty());
    }
  }
  EXPECT_EQ(
      GetString(Body(Call("POST", "/evaluate", "{}")), "message"),
      "Request validation failed: [{'type': 'missing', 'loc': ('body', 'task_id'), 'msg': 'Field "
      "required'}, {'type': 'missing', 'loc': ('body', 'kernel_code'), 'msg': 'Field required'}, "
      "{'type': 'value_error', 'loc': ('body', 'reference_code'), 'msg': 'reference_code is "
      "required by the workflow kernelbench'}]");
}

TEST_F(RoutesTest, UnknownNamesAre400) {
  for (const char* key : {"workflow", "toolkit", "backend_adapter"}) {
    json::object body = EvaluationBody();
    body[key] = "nonesuch";
    const http::Response response = Post("/evaluate", body);
    EXPECT_EQ(response.status, 400) << key;
    EXPECT_THAT(GetString(Body(response), "detail"), StartsWith("'Registry missing ")) << key;
  }
  EXPECT_EQ(Post("/workflow/submit", {{"workflow", "x"}, {"task_id", "a"}}).status, 400);
}

TEST_F(RoutesTest, RefusalsAreFailedTasks) {
  json::object body = EvaluationBody();
  body["entry_point"] = "Net";
  const json::object answer = Body(Post("/evaluate", body));
  EXPECT_EQ(GetString(answer, "status"), "failed");
  EXPECT_EQ(GetString(answer, "error_code"), "VALIDATION_ERROR");
  EXPECT_EQ(GetString(answer, "error_message"),
            "Reference code validation failed: Code must contain a 'Net' class");
  EXPECT_EQ(GetDouble(answer, "kernel_runtime"), -1);
  EXPECT_TRUE(jobs.order.empty());
  EXPECT_EQ(GetString(Body(Call("GET", "/status/t-1")), "status"), "failed");
  EXPECT_EQ(GetString(Body(Call("GET", "/status/t-1")), "error_message"),
            GetString(answer, "error_message"));
  EXPECT_EQ(GetString(Body(Call("GET", "/results/t-1")), "status"), "failed");
}

TEST_F(RoutesTest, StatusThroughATasksLife) {
  EXPECT_EQ(Call("GET", "/status/t-1").status, 404);
  EXPECT_EQ(GetString(Body(Call("GET", "/status/t-1")), "detail"), "Task t-1 not found");
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  json::object status = Body(Call("GET", "/status/t-1"));
  EXPECT_EQ(GetString(status, "status"), "pending");
  EXPECT_THAT(GetString(status, "estimated_completion"), HasSubstr("T"));
  EXPECT_EQ(Call("GET", "/results/t-1").status, 404) << "not before it is finished";
  jobs.Start("job-1", "check");
  status = Body(Call("GET", "/status/t-1"));
  EXPECT_EQ(GetString(status, "status"), "processing");
  EXPECT_EQ(GetDouble(status, "progress"), 0.5);
  EXPECT_EQ(GetString(status, "assigned_device"), "cuda:0");
  EXPECT_EQ(GetString(Body(Call("GET", "/status/t-1_kernel")), "status"), "processing");
  EXPECT_EQ(Call("GET", "/status/t-1_ref").status, 404);
  jobs.Finish("job-1", Verdict(samples::CompileErrorRecords()));
  status = Body(Call("GET", "/status/t-1"));
  EXPECT_EQ(GetString(status, "status"), "failed");
  EXPECT_THAT(GetString(status, "error_message"), StartsWith("Kernel compilation failed: "));
  EXPECT_EQ(GetString(status, "error_code"), "COMPILATION_ERROR");
  EXPECT_EQ(GetString(status, "error_origin"), "submission");
}

TEST_F(RoutesTest, HalvesOfATask) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  Post("/evaluate", EvaluationBody());
  json::object kernel = Body(Call("GET", "/workflow/results/t-1_kernel"));
  EXPECT_EQ(GetString(kernel, "task_id"), "t-1_kernel");
  EXPECT_EQ(GetString(GetObject(kernel, "result"), "base_task_id"), "t-1");
  EXPECT_GT(GetDouble(GetObject(kernel, "result"), "kernel_runtime"), 0);
  EXPECT_FALSE(GetObject(kernel, "result").contains("reference_runtime"));
  const json::object reference = Body(Call("GET", "/workflow/results/t-1_ref"));
  EXPECT_GT(GetDouble(GetObject(reference, "result"), "reference_runtime"), 0);
  EXPECT_FALSE(GetObject(reference, "result").contains("compiled"));
  EXPECT_TRUE(Body(Call("GET", "/results/t-1_ref")).at("kernel_runtime").is_null());
  EXPECT_EQ(GetString(Body(Call("GET", "/status/t-1_ref")), "status"), "completed");
}

TEST_F(RoutesTest, AClientsOwnIdMayLookLikeAHalf) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  Post("/evaluate", EvaluationBody("x_kernel"));
  EXPECT_EQ(GetString(Body(Call("GET", "/results/x_kernel")), "task_id"), "x_kernel");
  EXPECT_EQ(Call("GET", "/results/x").status, 404);
}

TEST_F(RoutesTest, IdsMayHoldSlashes) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  Post("/evaluate", EvaluationBody("run/7/ä"));
  EXPECT_EQ(GetString(Body(Call("GET", "/results/run/7/ä")), "task_id"), "run/7/ä");
}

TEST_F(RoutesTest, KeysDoNotSeeEachOthersTasks) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  Post("/evaluate", EvaluationBody());
  who.key_name = "bob";
  EXPECT_EQ(Call("GET", "/results/t-1").status, 404);
  EXPECT_EQ(Call("DELETE", "/tasks/t-1").status, 404);
  Post("/evaluate", EvaluationBody());
  EXPECT_EQ(jobs.order.size(), 2u);
}

TEST_F(RoutesTest, CancelReallyCancels) {
  EXPECT_EQ(Call("DELETE", "/tasks/t-1").status, 404);
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  jobs.Start("job-1", "check");
  const http::Response response = Call("DELETE", "/tasks/t-1");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(GetString(Body(response), "message"), "Task t-1 cancelled successfully");
  EXPECT_EQ(jobs.cancelled.count("job-1"), 1u);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->status, 200);
  EXPECT_EQ(GetString(Body(**answer), "status"), "failed");
  EXPECT_EQ(GetString(Body(**answer), "error_message"), "Task cancelled");
  EXPECT_TRUE(Body(**answer).at("correctness").is_null());
  EXPECT_EQ(Call("DELETE", "/tasks/t-1").status, 404) << "it is over";
  EXPECT_THAT(GetString(Body(Call("DELETE", "/tasks/t-1")), "detail"),
              HasSubstr("not found or cannot be cancelled"));
}

TEST_F(RoutesTest, CancelByTheNameOfAHalf) {
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  EXPECT_EQ(Call("DELETE", "/tasks/t-1_kernel").status, 200);
  EXPECT_TRUE(answer->has_value());
}

TEST_F(RoutesTest, ADrainAnswersWhoWaitsForWhatWaits) {
  const Pending running = Start("POST", "/evaluate", EvaluationBody("running"));
  const Pending queued = Start("POST", "/evaluate", EvaluationBody("queued"));
  jobs.Start("job-1", "check");
  jobs.Drain();
  ASSERT_TRUE(queued->has_value());
  EXPECT_EQ((*queued)->status, 503);
  EXPECT_EQ(Header(**queued, "Retry-After"), "3");
  EXPECT_THAT(GetString(Body(**queued), "detail"), HasSubstr("kept"));
  EXPECT_THAT(GetString(Body(**queued), "detail"), HasSubstr("/status/queued"));
  EXPECT_EQ(GetString(Body(Call("GET", "/status/queued")), "status"), "pending");
  EXPECT_FALSE(running->has_value()) << "what is judged is awaited";
  jobs.Finish("job-1", Correct());
  ASSERT_TRUE(running->has_value());
  EXPECT_EQ((*running)->status, 200);
}

TEST_F(RoutesTest, AnyIdThatIsTakenCanBeJudged) {
  std::string longest;
  for (int i = 0; i < 100; ++i) longest += "ж";
  for (const std::string& id :
       {std::string("задача-1"), longest, std::string(100, 'a'), std::string(":x")}) {
    const size_t before = jobs.order.size();
    const Pending answer = Start("POST", "/evaluate", EvaluationBody(id));
    ASSERT_EQ(jobs.order.size(), before + 1) << id;
    const std::string& key = jobs.request(jobs.order.back()).idempotency;
    EXPECT_LE(key.size(), 255u);
    EXPECT_TRUE(std::all_of(key.begin(), key.end(), [](char c) { return c >= 0x20 && c < 0x7f; }));
    jobs.Finish(jobs.order.back(), Correct());
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ(GetString(Body(**answer), "task_id"), id);
  }
  EXPECT_EQ(Post("/evaluate", EvaluationBody("tab\tid")).status, 400);
}

TEST_F(RoutesTest, ABodyOfTooManyValuesIsNotParsed) {
  json::object body = EvaluationBody();
  std::string text = json::serialize(body);
  text.back() = ',';
  std::string zeros = "[0";
  for (int i = 0; i < 1'000'000; ++i) zeros += ",0";
  const http::Response response = Call("POST", "/evaluate", text + "\"cases\":" + zeros + "]}");
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body, HasSubstr("at most 1000000 JSON values"));
}

TEST_F(RoutesTest, NoRequestWaitsForEver) {
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  timers.Advance(1699);
  EXPECT_FALSE(answer->has_value());
  timers.Advance(2);
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ((*answer)->status, 503);
  EXPECT_THAT(GetString(Body(**answer), "detail"), HasSubstr("/status/t-1"));
  const Pending again = Start("POST", "/evaluate", EvaluationBody());
  EXPECT_EQ(jobs.order.size(), 1u) << "the same job, waited for again";
  jobs.Finish("job-1", Correct());
  EXPECT_EQ((*again)->status, 200);
}

TEST_F(RoutesTest, TasksSurviveARestart) {
  const Pending lost = Start("POST", "/evaluate", EvaluationBody());
  Restart();
  EXPECT_EQ(GetString(Body(Call("GET", "/status/t-1")), "status"), "pending");
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  EXPECT_EQ(jobs.order.size(), 1u);
  jobs.Finish("job-1", Correct());
  EXPECT_EQ((*answer)->status, 200);
  Restart();
  EXPECT_EQ(Call("GET", "/results/t-1").status, 200);
}

TEST_F(RoutesTest, ARecordLostInACrashIsFoundByItsKey) {
  documents.broken = true;
  EXPECT_EQ(Post("/evaluate", EvaluationBody()).status, 503);
  documents.broken = false;
  const Pending answer = Start("POST", "/evaluate", EvaluationBody());
  EXPECT_EQ(jobs.order.size(), 1u);
}

TEST_F(RoutesTest, AForgottenJobIsJudgedAgain) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  Post("/evaluate", EvaluationBody());
  jobs.Forget("job-1");
  EXPECT_EQ(Call("GET", "/results/t-1").status, 404);
}

TEST_F(RoutesTest, WorkflowSubmit) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  EXPECT_EQ(GetString(Body(Post("/workflow/submit", {{"payload", json::object()}})), "detail"),
            "task_id is required");
  const http::Response response =
      Post("/workflow/submit", {{"task_id", "w"}, {"payload", EvaluationBody("inner")}});
  EXPECT_EQ(response.status, 200);
  const json::object body = Body(response);
  EXPECT_EQ(GetString(body, "task_id"), "w");
  EXPECT_EQ(GetString(body, "status"), "completed");
  const json::object& result = GetObject(body, "result");
  EXPECT_TRUE(GetBool(result, "compiled"));
  EXPECT_GT(GetDouble(result, "speedup"), 2);
  EXPECT_FALSE(result.contains("status"));
  EXPECT_EQ(json::serialize(Body(Call("GET", "/workflow/results/w"))), response.body);
  EXPECT_EQ(Call("GET", "/workflow/results/none").status, 404);
}

TEST_F(RoutesTest, KernelSimple) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  json::object payload = {{"kernel_code", test::kKernel},
                          {"cases", {{{"inputs", {{1.0, 2.0}}}, {"outputs", {1.0, 2.0}}}}}};
  const json::object body = Body(Post(
      "/workflow/submit", {{"workflow", "kernel_simple"}, {"task_id", "s"}, {"payload", payload}}));
  const json::object& result = GetObject(body, "result");
  EXPECT_TRUE(GetBool(result, "correctness"));
  EXPECT_FALSE(result.contains("speedup"));
  EXPECT_EQ(GetString(GetObject(result, "metadata"), "cases_source"), "inline");
  EXPECT_EQ(GetInt(GetObject(result, "metadata"), "num_cases"), 1);
  EXPECT_EQ(Call("GET", "/status/s_kernel").status, 404);
  // The same through /evaluate, whose default toolkit is another.
  payload["task_id"] = "s2";
  payload["workflow"] = "kernel_simple";
  EXPECT_EQ(GetString(Body(Post("/evaluate", payload)), "status"), "completed");
}

TEST_F(RoutesTest, DebugValidate) {
  json::object report = Body(Post("/debug/validate", EvaluationBody()));
  EXPECT_TRUE(GetBool(report, "valid"));
  EXPECT_TRUE(GetBool(GetObject(report, "reference"), "valid"));
  EXPECT_EQ(GetString(GetObject(report, "kernel"), "entry_point"), "ModelNew");
  EXPECT_EQ(GetInt(GetObject(report, "request_info"), "timeout"), 300);
  json::object bad = EvaluationBody();
  bad["kernel_code"] = "class Nothing: pass";
  report = Body(Post("/debug/validate", bad));
  EXPECT_FALSE(GetBool(report, "valid"));
  EXPECT_EQ(GetArray(report, "errors").size(), 1u);
  EXPECT_TRUE(GetBool(GetObject(report, "reference"), "valid"));
  EXPECT_FALSE(GetBool(GetObject(report, "kernel"), "valid"));
  EXPECT_TRUE(jobs.order.empty()) << "a dry run";
}

TEST_F(RoutesTest, ScopesAndUnknownPathsAnswerInTheProtocolsShape) {
  EXPECT_EQ(Call("GET", "/nonesuch").status, 404);
  EXPECT_TRUE(Body(Call("GET", "/nonesuch")).contains("detail"));
  EXPECT_EQ(Call("GET", "/evaluate").status, 405);
  who.scope = http::Scope::kRead;
  EXPECT_EQ(Post("/evaluate", EvaluationBody()).status, 403);
  who.scope = http::Scope::kSubmit;
  EXPECT_EQ(Call("POST", "/worker/register?worker_id=w&device=d").status, 403);
  who.scope = http::Scope::kNone;
  EXPECT_EQ(Call("GET", "/health").status, 200);
  EXPECT_TRUE(Body(Call("GET", "/status/x")).contains("detail"));
}

class PrefixTest : public test::ProtocolTest {
 protected:
  PrefixTest() {
    configure = [](KernelGymContext* context) {
      context->prefix = "/kernelgym";
      context->own_port = false;
    };
    Restart();
  }
};

TEST_F(PrefixTest, AllRoutesMoveBelowIt) {
  jobs.judge = [](const JobRequest&) { return Correct(); };
  EXPECT_EQ(Call("GET", "/kernelgym/health").status, 200);
  EXPECT_EQ(Post("/kernelgym/evaluate", EvaluationBody()).status, 200);
  EXPECT_EQ(Call("GET", "/kernelgym/results/t-1").status, 200);
  EXPECT_EQ(Call("GET", "/health").status, 404);
}

}  // namespace
}  // namespace assay::kernelgym
