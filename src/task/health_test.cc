#include "task/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

constexpr const char* kLine =
    R"({"id":"kb/l2/9","sha256":"aa","device":"cuda","size":"gpu","schema":"assay.task_health/1",)"
    R"("families":["native","signed"],"findings":[{"family":"native","program":"zeros","rules":["assay","kernelbench"]},)"
    R"({"family":"signed","program":"zeros","rules":["assay","kernelbench"]},)"
    R"({"family":"native","program":"input[0]","rules":["kernelbench"]}],)"
    R"("void":"zeros","void_kernelbench":"zeros","unused_inputs":[1]})";

json::object Example() { return *ParseJsonObject(kLine); }

TEST(TaskHealth, IsReadAndDescribed) {
  const Result<TaskHealth> health = ReadTaskHealth(Example());
  ASSERT_TRUE(health.ok()) << health.error().message;
  EXPECT_EQ(health->id, "kb/l2/9");
  EXPECT_EQ(health->findings.size(), 3u);
  EXPECT_EQ(VoidReason(*health), "zeros pass");
  EXPECT_EQ(Describe(*health), "void: zeros pass; input 1 is not used");
}

TEST(TaskHealth, WhatPassesInSomeFamiliesOnlyVoidsNothing) {
  json::object document = Example();
  document["void"] = "";
  document["void_kernelbench"] = "input[0]";
  document["unused_inputs"] = json::array{};
  const Result<TaskHealth> health = ReadTaskHealth(document);
  ASSERT_TRUE(health.ok());
  EXPECT_EQ(VoidReason(*health), "");
  EXPECT_EQ(Describe(*health), "native, signed: zeros pass; void for KernelBench: input[0] passes");
  document["findings"] = json::array{};
  document["void_kernelbench"] = "";
  EXPECT_EQ(Describe(*ReadTaskHealth(document)), "ok");
}

TEST(TaskHealth, WhatCouldNotBeScreenedSaysWhy) {
  const Result<TaskHealth> health = ReadTaskHealth({{"id", "a/b"}, {"error", "OutOfTime: 60 s"}});
  ASSERT_TRUE(health.ok());
  EXPECT_EQ(Describe(*health), "OutOfTime: 60 s");
  EXPECT_EQ(VoidReason(*health), "");
}

TEST(TaskHealth, RefusesOtherDocuments) {
  for (const char* member : {"schema", "families"}) {
    json::object document = Example();
    document.erase(member);
    EXPECT_FALSE(ReadTaskHealth(document).ok()) << member;
  }
  json::object document = Example();
  document["findings"] = json::array{"zeros"};
  EXPECT_FALSE(ReadTaskHealth(document).ok());
}

TEST(TaskHealthFile, NamesTheLineThatIsWrong) {
  const Result<std::vector<TaskHealth>> good =
      ReadTaskHealthFile(std::string(kLine) + "\n\n" + kLine);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->size(), 2u);
  for (const char* bad : {"{", "[]", "{\"schema\": \"other\"}"}) {
    const Result<std::vector<TaskHealth>> read =
        ReadTaskHealthFile(std::string(kLine) + "\n" + bad + "\n");
    ASSERT_FALSE(read.ok());
    EXPECT_THAT(read.error().message, HasSubstr("line 2"));
  }
}

TEST(KnownHealth, KnowsNothingOfAnUnheardOfTask) {
  EXPECT_EQ(KnownHealth(std::string(64, '0'), "gpu"), nullptr);
}

}  // namespace
}  // namespace assay
