#include "openenv/reset_request.h"

#include <gmock/gmock.h>

#include "openenv/action.h"

namespace assay::openenv {
namespace {

using ::testing::HasSubstr;

ResetRequest Parse(std::string_view text, const Settings& settings = {}) {
  const Result<json::object> object = ParseJsonObject(text);
  EXPECT_TRUE(object.ok()) << text;
  return ParseReset(*object, settings);
}

std::string Errors(std::string_view text) { return Summary(Parse(text).errors); }

TEST(ResetRequest, NothingIsRequired) {
  const ResetRequest request = Parse("{}");
  EXPECT_TRUE(request.errors.empty());
  EXPECT_EQ(request.config.max_turns, 4);
  EXPECT_EQ(request.config.max_checks, 8);
  EXPECT_EQ(request.config.reward_mode, "roofline");
  EXPECT_THAT(request.config.episode_id, HasSubstr("ep-"));
  EXPECT_FALSE(request.has_seed);
}

TEST(ResetRequest, ReadsWhatAClientSends) {
  const ResetRequest request = Parse(
      R"({"task_id": "kb/l1/023", "seed": 11, "episode_id": "ep-42", "max_turns": 2,
          "reward_mode": "delta", "stop_on": "correct", "detail": "full", "level": "1", "index": 3.0,
          "backend_hint": "triton", "baseline": "eager", "emit": null})");
  EXPECT_EQ(Summary(request.errors), "");
  EXPECT_EQ(request.choice.task_id, "kb/l1/023");
  EXPECT_EQ(request.choice.seed, "11");
  EXPECT_EQ(request.choice.level, 1);
  EXPECT_EQ(request.choice.index, 3);
  EXPECT_EQ(request.config.episode_id, "ep-42");
  EXPECT_EQ(request.config.emission, Emission::kDelta);
  EXPECT_EQ(request.config.reward_mode, "roofline") << "an emission is no mode";
  EXPECT_TRUE(request.config.full_detail);
}

TEST(ResetRequest, OptionsAreTheSameButSaidLessDirectly) {
  const ResetRequest request =
      Parse(R"({"options": {"task_id": "a/b", "max_turns": 9}, "max_turns": 3})");
  EXPECT_EQ(request.choice.task_id, "a/b");
  EXPECT_EQ(request.config.max_turns, 3);
}

TEST(ResetRequest, JudgingIsHandedOn) {
  const ResetRequest request = Parse(
      R"({"baseline": "compile", "judging": {"cache": "warm"}, "precision": "of a data set"})");
  EXPECT_EQ(Summary(request.errors), "");
  EXPECT_EQ(request.config.judging, (json::object{{"baseline", "compile"}, {"cache", "warm"}}));
}

TEST(ResetRequest, AModeBringsItsOwnParameters) {
  Settings settings;
  settings.reward_parameters = {{"base", 0.5}};
  EXPECT_EQ(Parse("{}", settings).config.reward_parameters.size(), 1u);
  EXPECT_TRUE(Parse(R"({"reward_mode": "speedup"})", settings).config.reward_parameters.empty());
  EXPECT_EQ(Parse(R"({"reward_mode": "speedup"})").config.reward_mode, "speedup");
}

TEST(ResetRequest, TheDeterministicProfileRestsOnNoClock) {
  const ResetRequest request = Parse(R"({"timing": "off", "reward_mode": "speedup"})");
  EXPECT_FALSE(request.config.timing);
  EXPECT_EQ(request.config.reward_mode, "tiers");
  EXPECT_EQ(request.config.reward_parameters, (json::object{{"timing", false}}));
}

TEST(ResetRequest, SeedsOfAnySizeButNoneBelowZero) {
  for (const char* seed : {"-1", "-1.0", "1.5", "1e400", "-1e400", "true"})
    EXPECT_THAT(Errors(R"({"seed": )" + std::string(seed) + "}"), HasSubstr("seed: must be"))
        << seed;
  EXPECT_EQ(Parse(R"({"seed": 3.0})").choice.seed, "3");
  EXPECT_EQ(Parse(R"({"seed": 18446744073709551615})").choice.seed, "18446744073709551615");
  const std::string huge = R"({"seed": 123456789012345678901234567890123456789})";
  EXPECT_EQ(Errors(huge), "");
  EXPECT_EQ(Parse(huge).choice.seed, Parse(huge).choice.seed);
}

TEST(ResetRequest, ARowOfADataSetIsTaken) {
  const ResetRequest request =
      Parse(R"({"task_id": "a/b", "prompt": [{"role": "user", "content": "x"}], "answer": null,
                "problem_id": 19, "extra": {"deep": [1, 2]}})");
  EXPECT_EQ(Summary(request.errors), "");
  EXPECT_EQ(request.choice.task_id, "a/b");
  EXPECT_THAT(request.ignored, ::testing::ElementsAre("prompt", "extra"));
  EXPECT_EQ(Parse(R"({"problem_id": 19})").choice.task_id, "19");
}

// A reset may be kept while a session is waited for.
TEST(ResetRequest, IsSmallHoweverLargeWhatItCameFrom) {
  const std::string large(100'000, 'x');
  for (const char* member : {"task_id", "problem_id", "seed", "episode_id", "resume"})
    EXPECT_NE(Errors(R"({")" + std::string(member) + R"(": ")" + large + "\"}"), "") << member;
  EXPECT_NE(Errors(R"({"problem_id": [1]})"), "");
  for (const char* member : {"reward_parameters", "judging"})
    EXPECT_NE(Errors(R"({")" + std::string(member) + R"(": {"baselines": ")" + large + "\"}}"), "");
}

TEST(ResetRequest, MistakesNameTheMember) {
  EXPECT_THAT(Errors(R"({"max_turns": 0})"), HasSubstr("max_turns: must be a whole number from 1"));
  EXPECT_THAT(Errors(R"({"max_turns": "many"})"), HasSubstr("max_turns"));
  EXPECT_THAT(Errors(R"({"reward_mode": "money"})"), HasSubstr("there is: roofline"));
  EXPECT_THAT(Errors(R"({"baseline": "jit"})"), HasSubstr("eager, compile"));
  EXPECT_THAT(Errors(R"({"judging": {"cache": "hot"}})"), HasSubstr("cold and warm"));
  EXPECT_THAT(Errors(R"({"judging": {"trials": 1}})"), HasSubstr("no member 'trials'"));
  EXPECT_THAT(Errors(R"({"judging": "warm"})"), HasSubstr("must be an object"));
  EXPECT_THAT(Errors(R"({"task_id": 5})"), HasSubstr("task_id: must be a string"));
  EXPECT_THAT(Errors(R"({"timing": "maybe"})"), HasSubstr("timing: must be on or off"));
  EXPECT_THAT(Errors(R"({"seed": [1]})"), HasSubstr("seed: must be an integer"));
  EXPECT_THAT(Errors(R"({"options": {"detail": "huge"}})"), HasSubstr("short or full"));
}

}  // namespace
}  // namespace assay::openenv
