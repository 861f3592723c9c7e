#include "broker/evaluation_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string Problem(const json::object& options) {
  const Result<EvaluationOptions> parsed = ParseEvaluationOptions(options);
  return parsed.ok() ? "none" : parsed.error().message;
}

TEST(EvaluationOptions, NoneIsTheServersOwn) {
  const Result<EvaluationOptions> parsed = ParseEvaluationOptions({});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE((*parsed).time);
  EXPECT_FALSE((*parsed).profile || (*parsed).ghost);
  EXPECT_FALSE((*parsed).trials || (*parsed).load_s || (*parsed).compile_s || (*parsed).call_s);
}

TEST(EvaluationOptions, All) {
  const Result<EvaluationOptions> parsed = ParseEvaluationOptions({{"time", false},
                                                                   {"profile", true},
                                                                   {"ghost", true},
                                                                   {"ncu", true},
                                                                   {"sanitize", "racecheck"},
                                                                   {"trials", 3},
                                                                   {"load_timeout_s", 1.5},
                                                                   {"compile_timeout_s", 900},
                                                                   {"call_timeout_s", 0.5},
                                                                   {"baseline", "compile"}});
  ASSERT_TRUE(parsed.ok());
  EXPECT_FALSE((*parsed).time);
  EXPECT_TRUE((*parsed).profile);
  EXPECT_TRUE((*parsed).ghost);
  EXPECT_TRUE((*parsed).ncu);
  EXPECT_EQ((*parsed).sanitize, "racecheck");
  EXPECT_EQ((*parsed).trials, 3);
  EXPECT_EQ((*parsed).load_s, 1.5);
  EXPECT_EQ((*parsed).compile_s, 900);
  EXPECT_EQ((*parsed).call_s, 0.5);
  EXPECT_EQ((*parsed).modes.baseline, "compile");
}

TEST(EvaluationOptions, WrongOnesAreNamed) {
  EXPECT_THAT(Problem({{"trails", 3}}), HasSubstr("there is no option 'trails'; there are time"));
  EXPECT_THAT(Problem({{"cache", "hot"}}), HasSubstr("cold and warm"));
  EXPECT_THAT(Problem({{"time", 1}}), HasSubstr("'time' must be true or false"));
  EXPECT_THAT(Problem({{"profile", "yes"}}), HasSubstr("'profile' must be true or false"));
  EXPECT_THAT(Problem({{"ncu", 1}}), HasSubstr("'ncu' must be true or false"));
  EXPECT_THAT(Problem({{"sanitize", true}}), HasSubstr("'sanitize'"));
  EXPECT_THAT(Problem({{"sanitize", "leakcheck"}}), HasSubstr("use memcheck, racecheck"));
  EXPECT_THAT(Problem({{"trials", 0}}), HasSubstr("from 1 to 100"));
  EXPECT_THAT(Problem({{"trials", 101}}), HasSubstr("from 1 to 100"));
  EXPECT_THAT(Problem({{"trials", 2.5}}), HasSubstr("a whole number"));
  EXPECT_THAT(Problem({{"trials", "5"}}), HasSubstr("from 1 to 100"));
  EXPECT_THAT(Problem({{"trials", nullptr}}), HasSubstr("from 1 to 100"));
  EXPECT_THAT(Problem({{"load_timeout_s", 1e9}}), HasSubstr("from 0.1 to 600"));
  EXPECT_THAT(Problem({{"compile_timeout_s", -1}}), HasSubstr("from 0.1 to 1800"));
  EXPECT_THAT(Problem({{"call_timeout_s", json::array()}}), HasSubstr("from 0.1 to 600"));
  EXPECT_LT(Problem({{std::string(100'000, 'x'), 1}}).size(), 300U);
}

TEST(EvaluationOptions, TheSchemaHasWhatTheParserTakes) {
  const json::object schema = EvaluationOptionsSchema();
  EXPECT_EQ(schema.at("additionalProperties"), false);
  for (const auto& [name, property] : schema.at("properties").get_object()) {
    json::object low;
    const json::object& schema_of = property.get_object();
    low[name] = schema_of.contains("minimum") ? schema_of.at("minimum")
                : schema_of.contains("enum")  ? schema_of.at("enum").at(0)
                : schema_of.contains("items") ? json::value(json::array{"compile"})
                                              : json::value(false);
    EXPECT_EQ(Problem(low), "none") << std::string_view(name);
  }
}

}  // namespace
}  // namespace assay
