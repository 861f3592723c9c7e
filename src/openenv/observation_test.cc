#include "openenv/observation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "openenv/task_parts.h"
#include "openenv/testing.h"

namespace assay::openenv {
namespace {

TEST(Observation, IsItsMembersJson) {
  EXPECT_TRUE(Observation().empty());
  EXPECT_EQ(Observation().text(), "{}");
  const json::object members{{"a", 1e-7}, {"b", {{"c", "\xc3\xa9\n"}}}, {"metadata", {{"n", 17}}}};
  const Observation observation(members);
  EXPECT_EQ(observation.text(), json::serialize(members));
  EXPECT_EQ(observation.metadata(), R"({"n":17})");
  EXPECT_EQ(observation.Members(), members);
  const Observation shared = observation;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(shared.text().data(), observation.text().data());
}

TEST(Observation, ItsMembersOutliveIt) {
  json::object members;
  {
    const Observation observation(json::object{{"feedback", std::string(200, 'x')}});
    members = observation.Members();
    // Not in the observation's own memory, nor does a copy of the copy go there.
    const json::object again = observation.Members();
    EXPECT_TRUE(*again.storage() == *json::storage_ptr());
    EXPECT_TRUE(*again.at("feedback").storage() == *json::storage_ptr());
  }
  EXPECT_EQ(GetString(members, "feedback"), std::string(200, 'x'));
}

TEST(Observation, HasNoNumberThatIsNotFinite) {
  const Observation observation(
      json::object{{"a", std::nan("")}, {"b", {{"c", json::array{HUGE_VAL, 1}}}}});
  EXPECT_EQ(observation.text(), R"({"a":null,"b":{"c":[null,1]}})");
  EXPECT_EQ(ToText({.observation = observation, .reward = std::nan("")}),
            R"({"observation":{"a":null,"b":{"c":[null,1]}},"reward":null,"done":false})");
}

TEST(Observation, ItsEnvelopeIsTheSameAsTextAndAsJson) {
  for (const json::object& metadata : {json::object(), json::object{{"sample", "x"}}})
    for (const std::optional<double> reward : {std::optional<double>(), std::optional(0.3)}) {
      const Envelope envelope{
          .observation = Observation(json::object{{"status", "correct"}, {"metadata", metadata}}),
          .reward = reward,
          .done = reward.has_value()};
      EXPECT_EQ(ToText(envelope), json::serialize(ToJson(envelope)));
      EXPECT_EQ(ToJson(envelope).contains("metadata"), !metadata.empty());
    }
}

class ReadyTest : public ::testing::Test {
 protected:
  /// The observation of a reset, and that it is what it would be in one piece.
  Observation Ready(EpisodeConfig config) {
    config.task_id = task_->id;
    const Episode episode(std::move(config));
    ObservationContext context{
        .episode = &episode, .task = task_.get(), .hardware = &hardware_, .token = "ept_1"};
    const auto members = [&](json::storage_ptr storage) {
      context.storage = std::move(storage);
      return ReadyMembers(context);
    };
    Observation ready = Observation::Make(members, parts_.Get(context));
    context.storage = {};
    const json::object whole = ReadyObservation(context);
    EXPECT_EQ(ready.text(), json::serialize(whole));
    EXPECT_EQ(ready.Members(), whole);
    return ready;
  }

  const testing::World world_;
  const std::shared_ptr<const Task> task_ = world_.tasks->tasks().front();
  json::object hardware_{{"name", "H200"}, {"clock", 1.5}};
  TaskParts parts_;
};

TEST_F(ReadyTest, IsTheSameInTwoParts) {
  const Observation ready = Ready({});
  EXPECT_NE(GetString(ready.Members(), "prompt").find("Machine: name H200"), std::string::npos);
  EpisodeConfig full;
  full.full_detail = true;
  Ready(full);
}

TEST_F(ReadyTest, WhatDiffersIsNotMixedUp) {
  std::set<std::string> texts{std::string(Ready({}).text())};
  EXPECT_FALSE(texts.insert(std::string(Ready({}).text())).second);
  for (const auto& change : std::vector<std::function<void(EpisodeConfig*)>>{
           [](EpisodeConfig* c) { c->max_turns = 9; }, [](EpisodeConfig* c) { c->timing = false; },
           [](EpisodeConfig* c) { c->backend_hint = "cuda"; },
           [](EpisodeConfig* c) {
             c->judging = {{"baseline", "compile"}};
           },
           [](EpisodeConfig* c) { c->reward_mode = "tiers"; },
           [](EpisodeConfig* c) { c->emission = Emission::kBest; }}) {
    EpisodeConfig config;
    change(&config);
    EXPECT_TRUE(texts.insert(std::string(Ready(config).text())).second);
  }
  hardware_["name"] = "H100";
  EXPECT_TRUE(texts.insert(std::string(Ready({}).text())).second);
}

}  // namespace
}  // namespace assay::openenv
