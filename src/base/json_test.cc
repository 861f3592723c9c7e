#include "base/json.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(JsonTest, RefusesDeepBrokenAndLongText) {
  EXPECT_FALSE(ParseJson(std::string(100, '[')).ok());
  EXPECT_FALSE(ParseJson("{\"a\": 1} x").ok());
  EXPECT_FALSE(ParseJson("\"\xff\"").ok());
  EXPECT_FALSE(ParseJson("[1, 2, 3]", 4).ok());
  EXPECT_FALSE(ParseJsonObject("[]").ok());
}

TEST(JsonTest, TypedReadsNeverThrow) {
  const json::object object =
      *ParseJsonObject(R"({"s": "x", "n": 3, "d": 1.5, "b": true, "o": {"k": []}})");
  EXPECT_EQ(GetString(object, "s"), "x");
  EXPECT_EQ(GetString(object, "n", "fallback"), "fallback");
  EXPECT_EQ(GetInt(object, "n"), 3);
  EXPECT_EQ(GetInt(object, "d", -1), -1);
  EXPECT_DOUBLE_EQ(GetDouble(object, "n"), 3.0);
  EXPECT_DOUBLE_EQ(GetDouble(object, "d"), 1.5);
  EXPECT_TRUE(GetBool(object, "b"));
  EXPECT_TRUE(GetObject(object, "s").empty());
  EXPECT_TRUE(GetArray(GetObject(object, "o"), "k").empty());
}

TEST(JsonTest, PrettyKeepsOrder) {
  EXPECT_EQ(PrettyJson(*ParseJson(R"({"b":[1,2],"a":{},"c":"x"})")),
            "{\n  \"b\": [\n    1,\n    2\n  ],\n  \"a\": {},\n  \"c\": \"x\"\n}");
}

}  // namespace
}  // namespace assay
