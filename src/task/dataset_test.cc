#include <cstdlib>

#include "base/json.h"
#include "base/process.h"
#include "task/task_testing.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Line(const json::object& row) { return json::serialize(row) + "\n"; }

json::object DrKernelRow(const std::string& uuid, const std::string& mark,
                         const std::string& entry) {
  return {
      {"data_source", "cuda_llm"},
      {"prompt", json::array{json::object{{"role", "user"}, {"content", "write a kernel"}}}},
      {"ability", "kernel_optimization"},
      {"reward_model", json::object{{"style", "rule"}, {"ground_truth", TaskSource(mark, entry)}}},
      {"extra_info", json::object{{"entry_point", entry},
                                  {"level", 2},
                                  {"module_name", "gated_unit"},
                                  {"ops", json::array{"mul"}},
                                  {"uuid", uuid}}}};
}

class DatasetTest : public FolderTest {
 protected:
  TaskRegistry registry_;
};

TEST_F(DatasetTest, BrokenJsonIsAnErrorWithItsLine) {
  const std::string good = Line({{"id", "a"}, {"code", TaskSource()}});
  EXPECT_THAT(MessageOf(registry_.Add(Write("cut.jsonl", good + "{\"id\": \"b\", \"co"))),
              HasSubstr("cut.jsonl:2: not valid JSON"));
  EXPECT_THAT(MessageOf(registry_.Add(Write("list.jsonl", "[1]\n"))),
              HasSubstr("list.jsonl:1: expected a JSON object"));
  const std::string deep = "{\"a\":" + std::string(100'000, '[');
  EXPECT_THAT(MessageOf(registry_.Add(Write("deep.jsonl", deep))), HasSubstr("deep.jsonl:1"));
  EXPECT_THAT(MessageOf(registry_.Add(Write("empty.jsonl", ""))), HasSubstr("holds no tasks"));
  EXPECT_THAT(registry_.tasks(), IsEmpty());
}

TEST_F(DatasetTest, RowsThatAreNoTasksAreLeftOutAndTold) {
  const std::string path =
      Write("mixed.jsonl", Line({{"question", "?"}, {"answer", 1}}) + "\n" +
                               Line({{"id", "half"}, {"code", "class Model: pass"}}) +
                               Line({{"id", "bad id"}, {"code", TaskSource()}}) +
                               Line({{"problem_id", -1}, {"level", 1}, {"code", TaskSource()}}) +
                               Line({{"id", 7}, {"code", 8}}) + Line({{"reward_model", "none"}}) +
                               Line({{"id", "good"}, {"source", TaskSource()}}));
  ASSERT_EQ(MessageOf(registry_.Add(path)), "no error");
  EXPECT_THAT(Ids(registry_), ElementsAre("good"));
  const std::vector<std::pair<int, std::string>> expected = {
      {1, "question, answer"},  {3, "no get_inputs()"}, {4, "characters other than"},
      {5, "positive integers"}, {6, "no class Model"},  {7, "no class Model"}};
  ASSERT_EQ(registry_.problems().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(registry_.problems()[i].origin, path + ":" + std::to_string(expected[i].first));
    EXPECT_THAT(registry_.problems()[i].message, HasSubstr(expected[i].second));
  }
}

TEST_F(DatasetTest, PlainRows) {
  const std::string path = Write("my tasks.jsonl", Line({{"id", "team/gelu"},
                                                         {"code", TaskSource("1", "Gelu")},
                                                         {"entry", "Gelu"},
                                                         {"name", "GELU"},
                                                         {"level", 1},
                                                         {"family", "elementwise"}}) +
                                                       Line({{"source", TaskSource("2")}}));
  ASSERT_EQ(MessageOf(registry_.Add(path)), "no error");
  EXPECT_THAT(Ids(registry_), ElementsAre("team/gelu", "my-tasks/2"));
  const Task& task = *registry_.tasks()[0];
  EXPECT_EQ(task.entry, "Gelu");
  EXPECT_EQ(task.name, "GELU");
  EXPECT_EQ(task.level, 1);
  EXPECT_EQ(task.family, "elementwise");
  EXPECT_EQ(task.origin, path + ":1");
}

TEST_F(DatasetTest, TwoPlainRowsWithOneIdAreRefusedByLine) {
  const std::string path = Write("twice.jsonl", Line({{"id", "a"}, {"code", TaskSource("1")}}) +
                                                    Line({{"id", "a"}, {"code", TaskSource("2")}}));
  EXPECT_THAT(MessageOf(registry_.Add(path)),
              AllOf(HasSubstr("twice.jsonl:1"), HasSubstr("twice.jsonl:2")));
}

TEST_F(DatasetTest, KernelBenchFromTheHubHasTheIdsOfACheckout) {
  const std::string path = Write(
      "kb.jsonl",
      Line({{"code", TaskSource("19")}, {"level", 1}, {"name", "19_ReLU"}, {"problem_id", 19}}));
  ASSERT_EQ(MessageOf(registry_.Add(path)), "no error");
  for (const char* name : {"kb/l1/19", "level1/19_ReLU", "19_ReLU.py"})
    EXPECT_EQ(Found(registry_, name), "kb/l1/19");
  Write("KernelBench/level1/19_ReLU.py", TaskSource("19"));
  ASSERT_EQ(MessageOf(registry_.Add("kernelbench:" + Path())), "no error");
  EXPECT_EQ(registry_.tasks().size(), 1U);
}

TEST_F(DatasetTest, DrKernelRowsHaveTheirOwnEntryAndUuid) {
  const std::string path = Write(
      "rl.jsonl",
      Line(DrKernelRow("u-1", "1", "GatedUnit")) + Line(DrKernelRow("u-1", "2", "GatedUnit")) +
          Line(DrKernelRow("u-1", "1", "GatedUnit")) + Line(DrKernelRow("", "3", "Model")) +
          Line({{"ground_truth", TaskSource("4")}, {"uuid", "u-2"}}));
  ASSERT_EQ(MessageOf(registry_.Add(path)), "no error");
  ASSERT_EQ(registry_.tasks().size(), 4U);
  const Task& task = *registry_.tasks()[0];
  EXPECT_EQ(task.id, "drkernel/u-1");
  EXPECT_EQ(task.entry, "GatedUnit");
  EXPECT_EQ(task.name, "gated_unit");
  EXPECT_EQ(task.level, 2);
  const Task& second = *registry_.tasks()[1];
  EXPECT_EQ(second.id, "drkernel/u-1~" + second.sha256.substr(0, 8));
  EXPECT_EQ(registry_.tasks()[2]->id, "rl/4");
  EXPECT_EQ(Found(registry_, "u-2"), "drkernel/u-2");
  EXPECT_THAT(Found(registry_, "u-1"), HasSubstr("fits several tasks"));
}

/// Parquet through a stand-in for the interpreter, so that these run on any machine.
class ParquetTest : public DatasetTest {
 protected:
  std::string Interpreter(const std::string& script) {
    std::string path = Write("bin/python", "#!/bin/sh\n" + script);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
};

TEST_F(ParquetTest, AMissingInterpreterIsNamed) {
  TaskRegistry registry("/no/such/python");
  EXPECT_THAT(MessageOf(registry.Add(Write("a.parquet", "PAR1"))), HasSubstr("/no/such/python"));
}

TEST_F(ParquetTest, WhatTheReaderSaysIsTold) {
  TaskRegistry registry(Interpreter("echo 'install it with: pip install pyarrow' >&2; exit 2\n"));
  const auto status = registry.Add(Write("a.parquet", "PAR1"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("a.parquet"), HasSubstr("pip install")));
  TaskRegistry crashing(Interpreter("kill -SEGV $$\n"));
  EXPECT_THAT(MessageOf(crashing.Add(Path("a.parquet"))), HasSubstr("signal 11"));
}

TEST_F(ParquetTest, RowsOfTheReaderAreRowsOfTheFile) {
  const std::string rows = Write("rows", Line(DrKernelRow("u-1", "1", "Net")));
  TaskRegistry registry(Interpreter("cat " + rows + "\n"));
  const std::string path = Write("a.parquet", "PAR1");
  ASSERT_EQ(MessageOf(registry.Add(path)), "no error");
  EXPECT_THAT(Ids(registry), ElementsAre("drkernel/u-1"));
  EXPECT_EQ(registry.tasks()[0]->origin, path + ":1");
}

}  // namespace
}  // namespace assay
