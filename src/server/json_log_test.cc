#include "server/json_log.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace assay {
namespace {

TEST(JsonLog, OneObjectALineWhateverTheMessage) {
  const std::string line = JsonLogLine("t", "info", "a \"quoted\"\nline \x1b[31m \xff");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Result<json::object> object = ParseJsonObject(line);
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(GetString(*object, "level"), "info");
  EXPECT_TRUE(GetString(*object, "message").starts_with("a \"quoted\"\nline "));
  EXPECT_FALSE(object->contains("request"));
  EXPECT_EQ(GetString(*ParseJsonObject(JsonLogLine("t", "info", "a line", "r-1")), "request"),
            "r-1");
}

TEST(JsonLog, RefusesUnknownLevels) { EXPECT_FALSE(SetUpJsonLogging("loud")); }

}  // namespace
}  // namespace assay
