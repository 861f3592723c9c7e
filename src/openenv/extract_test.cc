#include "openenv/extract.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "base/json.h"

namespace assay::openenv {
namespace {

// The same cases test kernel_env's extraction in Python: server and client must not differ.
TEST(Extract, TheCasesThatServerAndClientShare) {
  std::ifstream file(ASSAY_SOURCE_DIR "/tests/e2e/openenv/extraction.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const Result<json::value> cases = ParseJson(text);
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  ASSERT_GT(cases->as_array().size(), 10u);
  for (const json::value& each : cases->as_array()) {
    const json::object& item = each.as_object();
    const Extracted extracted = ExtractCode(GetString(item, "text"));
    EXPECT_EQ(extracted.code, GetString(item, "code")) << GetString(item, "name");
    const std::string problem = GetString(item, "problem");
    EXPECT_EQ(extracted.problem.empty(), problem.empty()) << GetString(item, "name");
    EXPECT_THAT(extracted.problem, ::testing::HasSubstr(problem)) << GetString(item, "name");
  }
}

TEST(Extract, AnyTextIsTakenInLinearTime) {
  std::string hostile;
  for (int i = 0; i < 100'000; ++i) hostile += "```python\n'''\n";
  EXPECT_FALSE(ExtractCode(hostile).problem.empty() && ExtractCode(hostile).code.empty());
}

}  // namespace
}  // namespace assay::openenv
