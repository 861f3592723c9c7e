#include "kernelgym/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernelgym/fakes.h"

namespace assay::kernelgym {
namespace {

using test::EvaluationBody;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Types(const std::vector<Issue>& issues) {
  std::vector<std::string> types;
  types.reserve(issues.size());
  for (const Issue& issue : issues)
    types.push_back(issue.type + " " + json::serialize(issue.place));
  return types;
}

std::vector<std::string> Wrong(const json::object& body) {
  std::vector<Issue> issues;
  ReadEvaluation(body, {"body"}, &issues);
  return Types(issues);
}

std::vector<std::string> WrongWith(const std::string& key, const json::value& value) {
  json::object body = EvaluationBody();
  body[key] = value;
  return Wrong(body);
}

EvaluationRequest Read(const std::string& key, const json::value& value) {
  json::object body = EvaluationBody();
  body[key] = value;
  std::vector<Issue> issues;
  EvaluationRequest request = ReadEvaluation(body, {"body"}, &issues);
  EXPECT_THAT(Types(issues), IsEmpty()) << key << " " << json::serialize(value);
  return request;
}

TEST(RequestTest, Defaults) {
  const EvaluationRequest request = Read("extra", {{"ignored", true}});
  EXPECT_EQ(request.toolkit, "kernelbench");
  EXPECT_EQ(request.backend_adapter, "kernelbench");
  EXPECT_EQ(request.backend, "triton");
  EXPECT_EQ(request.num_correct_trials, 5);
  EXPECT_EQ(request.num_perf_trials, 100);
  EXPECT_EQ(request.num_warmup, 3);
  EXPECT_EQ(request.timeout, 300);
  EXPECT_EQ(request.priority, "normal");
  EXPECT_EQ(request.entry_point, "Model");
  EXPECT_EQ(request.workflow, "kernelbench");
  EXPECT_FALSE(request.force_refresh);
  EXPECT_TRUE(request.wants_time());
  EXPECT_TRUE(request.wants_decoy_check());
}

TEST(RequestTest, EveryLimit) {
  struct Limit {
    const char* name;
    int low;
    int high;
  };
  for (const Limit& limit : {Limit{"num_correct_trials", 1, 20}, Limit{"num_perf_trials", 1, 1000},
                             Limit{"num_warmup", 0, 100}, Limit{"timeout", 10, 3600}}) {
    const std::string place = std::string(" [\"body\",\"") + limit.name + "\"]";
    EXPECT_THAT(WrongWith(limit.name, limit.low), IsEmpty());
    EXPECT_THAT(WrongWith(limit.name, limit.high), IsEmpty());
    EXPECT_THAT(WrongWith(limit.name, limit.low - 1), ElementsAre("greater_than_equal" + place));
    EXPECT_THAT(WrongWith(limit.name, limit.high + 1), ElementsAre("less_than_equal" + place));
    EXPECT_THAT(WrongWith(limit.name, 18446744073709551615U),
                ElementsAre("less_than_equal" + place));
    EXPECT_THAT(WrongWith(limit.name, nullptr), ElementsAre("int_type" + place));
    EXPECT_THAT(WrongWith(limit.name, "x"), ElementsAre("int_parsing" + place));
    EXPECT_THAT(WrongWith(limit.name, 5.5), ElementsAre("int_from_float" + place));
  }
}

TEST(RequestTest, LaxConversions) {
  EXPECT_EQ(Read("num_warmup", "5").num_warmup, 5);
  EXPECT_EQ(Read("num_warmup", " 5 ").num_warmup, 5);
  EXPECT_EQ(Read("num_warmup", 5.0).num_warmup, 5);
  EXPECT_EQ(Read("num_warmup", true).num_warmup, 1);
  for (const json::value& yes : {json::value(true), json::value("true"), json::value("YES"),
                                 json::value(1), json::value(1.0), json::value("on")})
    EXPECT_TRUE(Read("force_refresh", yes).force_refresh);
  for (const json::value& no : {json::value(false), json::value("off"), json::value(0)})
    EXPECT_FALSE(Read("force_refresh", no).force_refresh);
  EXPECT_THAT(WrongWith("force_refresh", "maybe"), SizeIs(1));
  EXPECT_THAT(WrongWith("force_refresh", 2), SizeIs(1));
  EXPECT_THAT(WrongWith("force_refresh", json::array()), SizeIs(1));
  EXPECT_THAT(WrongWith("task_id", 5), ElementsAre(R"(string_type ["body","task_id"])"));
}

TEST(RequestTest, TaskIds) {
  EXPECT_THAT(WrongWith("task_id", ""), ElementsAre(R"(string_too_short ["body","task_id"])"));
  EXPECT_THAT(WrongWith("task_id", json::string(100, 'a')), IsEmpty());
  EXPECT_THAT(WrongWith("task_id", json::string(101, 'a')),
              ElementsAre(R"(string_too_long ["body","task_id"])"));
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ü";
  EXPECT_THAT(WrongWith("task_id", json::string(umlauts)), IsEmpty())
      << "characters count, not bytes";
  EXPECT_THAT(WrongWith("task_id", "a\nb"), SizeIs(1));
  EXPECT_THAT(WrongWith("task_id", "a\tb"), SizeIs(1));
  EXPECT_THAT(WrongWith("task_id", json::string("a\0b", 3)), SizeIs(1));
}

TEST(RequestTest, WhatIsKeptWithTheTaskIsBounded) {
  for (const char* name : {"uuid", "device_preference", "reference_backend", "entry_point"}) {
    EXPECT_THAT(WrongWith(name, json::string(1000, 'x')), IsEmpty());
    EXPECT_THAT(WrongWith(name, json::string(1001, 'x')),
                ElementsAre(fmt::format(R"(string_too_long ["body","{}"])", name)));
  }
  EXPECT_THAT(WrongWith("resources", json::object{{"x", json::array(9000, 0)}}),
              ElementsAre(R"(too_long ["body","resources"])"));
}

TEST(RequestTest, CountsValues) {
  EXPECT_EQ(CountValues(R"([1,{"a":"x,[{\",","b":[]}])"), 6u);  // never too few
  EXPECT_EQ(CountValues(""), 1u);
}

TEST(RequestTest, Code) {
  for (const char* key : {"kernel_code", "reference_code"}) {
    EXPECT_THAT(WrongWith(key, "  short   \n   "), SizeIs(1));
    EXPECT_THAT(WrongWith(key, json::string(100'000, 'x')), IsEmpty());
    EXPECT_THAT(WrongWith(key, json::string(100'001, 'x')), SizeIs(1));
  }
  json::object body = EvaluationBody();
  body.erase("reference_code");
  EXPECT_THAT(Wrong(body), ElementsAre(R"(value_error ["body","reference_code"])"));
  body["workflow"] = nullptr;
  EXPECT_THAT(Wrong(body), SizeIs(1));
  body["workflow"] = " Kernel_Simple ";
  EXPECT_THAT(Wrong(body), IsEmpty());
  EXPECT_THAT(Wrong({}),
              ElementsAre(R"(missing ["body","task_id"])", R"(missing ["body","kernel_code"])",
                          R"(value_error ["body","reference_code"])"));
}

TEST(RequestTest, Choices) {
  EXPECT_EQ(Read("backend", "cuda").backend, "cuda");
  EXPECT_THAT(WrongWith("backend", "tilelang"), ElementsAre(R"(enum ["body","backend"])"));
  EXPECT_THAT(WrongWith("backend", 7), SizeIs(1));
  EXPECT_THAT(WrongWith("priority", "urgent"), SizeIs(1));
  EXPECT_THAT(WrongWith("cases", "[]"), ElementsAre(R"(list_type ["body","cases"])"));
  EXPECT_THAT(WrongWith("resources", 2), ElementsAre(R"(dict_type ["body","resources"])"));
}

TEST(RequestTest, FallbacksOfFlags) {
  EXPECT_FALSE(Read("measure_performance", false).wants_time());
  EXPECT_FALSE(Read("run_performance", false).wants_time());
  EXPECT_FALSE(Read("enable_triton_detection", false).wants_decoy_check());
  EXPECT_FALSE(Read("run_triton_detection", false).wants_decoy_check());
  EXPECT_FALSE(Read("backend", "cuda").wants_decoy_check());
  json::object body = EvaluationBody();
  body["backend"] = "cuda";
  body["run_triton_detection"] = false;
  body["detect_decoy_kernel"] = true;
  std::vector<Issue> issues;
  EXPECT_TRUE(ReadEvaluation(body, {"body"}, &issues).wants_decoy_check());
}

TEST(RequestTest, Batch) {
  std::vector<Issue> issues;
  ReadBatch({{"batch_id", "b"}, {"tasks", json::array()}}, &issues);
  EXPECT_THAT(Types(issues), ElementsAre(R"(too_short ["body","tasks"])"));
  issues.clear();
  ReadBatch({{"batch_id", "b"}, {"tasks", json::array(101, EvaluationBody())}}, &issues);
  EXPECT_THAT(Types(issues), ElementsAre(R"(too_long ["body","tasks"])"));
  issues.clear();
  json::object bad = EvaluationBody();
  bad["timeout"] = 1;
  ReadBatch({{"tasks", {EvaluationBody(), bad, 7}}}, &issues);
  EXPECT_THAT(Types(issues), ElementsAre(R"(missing ["body","batch_id"])",
                                         R"(greater_than_equal ["body","tasks",1,"timeout"])",
                                         R"(model_attributes_type ["body","tasks",2])"));
}

TEST(RequestTest, WorkflowPayloadIsHeldToTheLimits) {
  std::vector<Issue> issues;
  json::object payload = EvaluationBody("inner");
  payload["timeout"] = 5;
  ReadWorkflow({{"payload", payload}}, &issues);
  EXPECT_THAT(Types(issues), ElementsAre(R"(greater_than_equal ["body","payload","timeout"])"));
  issues.clear();
  payload["timeout"] = 50;
  const EvaluationRequest read = ReadWorkflow({{"task_id", "outer"},
                                               {"force_refresh", true},
                                               {"resources", {{"gpus", 1}}},
                                               {"payload", payload}},
                                              &issues);
  EXPECT_THAT(Types(issues), IsEmpty());
  EXPECT_EQ(read.task_id, "outer");
  EXPECT_TRUE(read.force_refresh);
  EXPECT_TRUE(read.resources.has_value());
}

TEST(RequestTest, AnythingButAnObjectIsRefused) {
  for (const json::value& body : {json::value(nullptr), json::value(5), json::value("x"),
                                  json::value(json::array()), json::value(true)}) {
    std::vector<Issue> issues;
    ReadEvaluation(body, {"body"}, &issues);
    ReadBatch(body, &issues);
    ReadWorkflow(body, &issues);
    EXPECT_THAT(issues, SizeIs(3)) << json::serialize(body);
  }
}

}  // namespace
}  // namespace assay::kernelgym
