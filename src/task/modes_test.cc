#include "task/modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Modes Chosen(const std::vector<std::string>& measured, std::string_view chosen) {
  Modes modes;
  const Status status = ChooseBaselines(measured, chosen, &modes);
  EXPECT_TRUE(status.ok());
  return modes;
}

std::string Problem(const std::vector<std::string>& measured, std::string_view chosen) {
  Modes modes;
  const Status status = ChooseBaselines(measured, chosen, &modes);
  return status.ok() ? "none" : status.error().message;
}

TEST(Modes, EagerIsAlwaysThere) {
  EXPECT_THAT(Chosen({}, "eager").baselines, IsEmpty());
  EXPECT_THAT(Chosen({"eager"}, "eager").baselines, IsEmpty());
  EXPECT_EQ(Modes{}.baseline, "eager");
}

TEST(Modes, TheChosenBaselineIsMeasuredToo) {
  const Modes modes = Chosen({"eager-tf32"}, "compile");
  EXPECT_THAT(modes.baselines, ElementsAre("compile", "eager-tf32"));
  EXPECT_EQ(modes.baseline, "compile");
}

TEST(Modes, AllAndTwiceTheSame) {
  EXPECT_THAT(Chosen({"all", "compile"}, "eager").baselines,
              ElementsAre("compile", "compile-max-autotune", "eager-tf32"));
}

TEST(Modes, UnknownWordsAreNamed) {
  EXPECT_THAT(Problem({"jit"}, "eager"),
              HasSubstr("no baseline 'jit'; there are all, eager, compile"));
  EXPECT_THAT(Problem({}, "all"), HasSubstr("no baseline 'all'"));
  EXPECT_THAT(ParseShapeJitter("on").error().message, HasSubstr("off, report and require"));
  EXPECT_THAT(ParsePrecision("fp8").error().message, HasSubstr("default, ieee and tf32"));
  EXPECT_THAT(ParseCache("hot").error().message, HasSubstr("cold and warm"));
  EXPECT_LT(ParseCache(std::string(100'000, 'x')).error().message.size(), 300U);
}

TEST(Modes, WordsThatThereAre) {
  EXPECT_EQ(*ParseShapeJitter("off"), ShapeJitter::kOff);
  EXPECT_EQ(*ParseShapeJitter("require"), ShapeJitter::kRequire);
  EXPECT_EQ(*ParsePrecision("ieee"), "ieee");
  EXPECT_TRUE(*ParseCache("warm"));
  EXPECT_FALSE(*ParseCache("cold"));
}

std::string JsonProblem(const json::object& options) {
  const Result<Modes> modes = ReadModes(options);
  return modes.ok() ? "none" : modes.error().message;
}

TEST(Modes, OptionsOfARequest) {
  const Result<Modes> modes = ReadModes({{"time", true},
                                         {"shape_jitter", "require"},
                                         {"precision", "tf32"},
                                         {"cache", "warm"},
                                         {"baselines", json::array{"compile"}},
                                         {"baseline", "eager-tf32"},
                                         {"processes", 5}});
  ASSERT_TRUE(modes.ok());
  EXPECT_EQ(modes->shape_jitter, ShapeJitter::kRequire);
  EXPECT_EQ(modes->precision, "tf32");
  EXPECT_TRUE(modes->warm_cache);
  EXPECT_THAT(modes->baselines, ElementsAre("compile", "eager-tf32"));
  EXPECT_EQ(modes->baseline, "eager-tf32");
  EXPECT_EQ(modes->processes, 5);
}

TEST(Modes, WrongOptionsOfARequest) {
  EXPECT_EQ(JsonProblem({}), "none");
  EXPECT_EQ(JsonProblem({{"baselines", "all"}}), "none");
  EXPECT_THAT(JsonProblem({{"baselines", 3}}), HasSubstr("array of names"));
  EXPECT_THAT(JsonProblem({{"baselines", json::array{3}}}), HasSubstr("names of baselines"));
  EXPECT_THAT(JsonProblem({{"baseline", json::array()}}), HasSubstr("'baseline' must be a string"));
  EXPECT_THAT(JsonProblem({{"cache", true}}), HasSubstr("'cache' must be a string"));
  for (const json::value& wrong :
       {json::value(0), json::value(17), json::value(2.5), json::value("2")})
    EXPECT_THAT(JsonProblem({{"processes", wrong}}), HasSubstr("integer from 1 to 16"));
  EXPECT_THAT(JsonProblem({{"precision", ""}}), HasSubstr("there is no precision ''"));
}

TEST(Modes, EachOptionHasASchema) {
  const json::object schema = ModesSchema();
  EXPECT_EQ(schema.size(), 6U);
  for (const auto& [name, property] : schema) EXPECT_TRUE(IsMode(name)) << std::string_view(name);
  EXPECT_FALSE(IsMode("time"));
}

TEST(Modes, Recipes) {
  EXPECT_EQ(RecipeOf("compile").compile, "default");
  EXPECT_EQ(RecipeOf("compile-max-autotune").compile, "max-autotune-no-cudagraphs");
  EXPECT_EQ(RecipeOf("eager-tf32").precision, "tf32");
  EXPECT_EQ(RecipeOf("eager").compile + RecipeOf("eager").precision, "");
}

}  // namespace
}  // namespace assay
