#include "openenv/action.h"

#include <gmock/gmock.h>

namespace assay::openenv {
namespace {

using ::testing::HasSubstr;

ParsedAction Parse(std::string_view text) {
  const Result<json::value> value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << text;
  return ParseAction(*value);
}

std::string Errors(std::string_view text) { return Summary(Parse(text).errors); }

TEST(Action, CodeIsTheOnlyRequiredMember) {
  const ParsedAction parsed = Parse(R"({"code": "x = 1"})");
  EXPECT_TRUE(parsed.errors.empty());
  EXPECT_EQ(parsed.action.code, "x = 1");
  EXPECT_EQ(parsed.action.op, Action::Op::kSubmit);
  EXPECT_EQ(parsed.action.entry_point, "ModelNew");
  EXPECT_THAT(Errors("{}"), HasSubstr("code: required"));
  EXPECT_THAT(Errors(R"({"code": null})"), HasSubstr("code: required"));
}

TEST(Action, SourceIsAnotherNameOfCode) {
  EXPECT_EQ(Parse(R"({"source": "y"})").action.code, "y");
  EXPECT_THAT(Errors(R"({"source": "y", "code": "x"})"), HasSubstr("source: another name"));
}

TEST(Action, PollAndCancelNeedNoCode) {
  EXPECT_EQ(Errors(R"({"op": "poll"})"), "");
  EXPECT_EQ(Errors(R"({"op": "cancel", "code": "", "ticket": "t"})"), "");
  EXPECT_EQ(Parse(R"({"op": "cancel", "ticket": "t"})").action.ticket, "t");
}

TEST(Action, DefaultsThatPydanticSpellsOutAreTaken) {
  EXPECT_EQ(Errors(R"({"code": "x", "op": "check", "language": "cuda", "entry_point": "Model",
                       "task_id": null, "ticket": null, "defer": false, "metadata": {}})"),
            "");
}

TEST(Action, WrongTypesAndNames) {
  EXPECT_THAT(Errors(R"({"code": 3})"), HasSubstr("code: must be a string"));
  EXPECT_THAT(Errors(R"({"code": "x", "op": "dance"})"), HasSubstr("op: must be one of submit"));
  EXPECT_THAT(Errors(R"({"code": "x", "op": 1})"), HasSubstr("op: must be a string"));
  EXPECT_THAT(Errors(R"({"code": "x", "defer": "yes"})"),
              HasSubstr("defer: must be true or false"));
  EXPECT_THAT(Errors(R"({"code": "x", "entry_point": "a b"})"), HasSubstr("entry_point"));
  EXPECT_THAT(Errors(R"({"code": "x", "metadata": []})"), HasSubstr("metadata: must be an object"));
  EXPECT_THAT(Errors(R"({"code": "x", "lang": "triton"})"), HasSubstr("lang: no member"));
  EXPECT_THAT(Errors("[]"), HasSubstr("must be an object"));
}

TEST(Action, ErrorsHaveThePydanticForm) {
  const ParsedAction parsed = Parse(R"({"lang": 1})");
  ASSERT_EQ(parsed.errors.size(), 2u);
  for (const json::value& error : parsed.errors) {
    EXPECT_TRUE(error.as_object().at("type").is_string());
    EXPECT_TRUE(error.as_object().at("loc").is_array());
    EXPECT_TRUE(error.as_object().at("msg").is_string());
  }
}

TEST(Action, ManyUnknownMembersAndHugeInputsStaySmall) {
  json::object action{{"code", "x"}};
  for (int i = 0; i < 10'000; ++i) action["k" + std::to_string(i)] = std::string(1000, 'v');
  const ParsedAction parsed = ParseAction(action);
  EXPECT_EQ(parsed.errors.size(), 16u);
  EXPECT_LT(json::serialize(parsed.errors).size(), 16'000u);
  EXPECT_LT(Summary(parsed.errors).size(), 1000u);
}

TEST(Action, LargeMetadataIsNotEchoed) {
  json::object action{{"code", "x"}, {"metadata", {{"blob", std::string(10'000, 'b')}}}};
  EXPECT_TRUE(ParseAction(action).errors.empty());
  EXPECT_TRUE(ParseAction(action).action.metadata.empty());
}

}  // namespace
}  // namespace assay::openenv
