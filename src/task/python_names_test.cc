#include "task/python_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::set<std::string, std::less<>> Names(std::string_view source) {
  const auto scanned = ScanPythonNames(source);
  EXPECT_TRUE(scanned.ok()) << scanned.error().message;
  return scanned->names;
}

std::string ErrorOf(std::string_view source) {
  const auto scanned = ScanPythonNames(source);
  return scanned.ok() ? "no error" : scanned.error().message;
}

TEST(PythonNames, RefusesWhatCannotBePython) {
  EXPECT_THAT(ErrorOf("a = 1\nb = \0\n"s), HasSubstr("line 2: a NUL byte"));
  EXPECT_THAT(ErrorOf("a = '\0'\n"s), HasSubstr("line 1: a NUL byte"));
  EXPECT_THAT(ErrorOf("a = 1\n# \xff\n"), HasSubstr("line 2: not UTF-8"));
  EXPECT_THAT(ErrorOf("a = 1\nb = '''x\ny\n"), HasSubstr("line 2: a triple-quoted string"));
}

TEST(PythonNames, WhatStandsInStringsCommentsAndInnerBlocksIsNotDefined) {
  EXPECT_THAT(Names("'''\nclass Model: pass\n'''\n# class Other: pass\n"), ElementsAre());
  EXPECT_THAT(Names("class A:\n    def get_inputs(self): pass\n"), ElementsAre("A"));
  EXPECT_THAT(Names("def f():\n    class Model: pass\n"), ElementsAre("f"));
  EXPECT_THAT(Names("f(\nModel=1,\n)\n"), ElementsAre());
  EXPECT_THAT(Names("s = 'it\\'s'\nx = \"\"\"a\\\"\"\"\ndef no(): pass\n\"\"\"\n"),
              ElementsAre("s", "x"));
}

TEST(PythonNames, FindsDefinitionsImportsAndAssignments) {
  EXPECT_THAT(Names("class Model(nn.Module):\n    pass\ndef get_inputs(): return []\n"),
              ElementsAre("Model", "get_inputs"));
  EXPECT_THAT(Names("import torch.nn as nn, os\nfrom m import (a,\n  b as c,\n)\n"),
              ElementsAre("a", "c", "nn", "os"));
  EXPECT_THAT(Names("a, b = 1, 2\nc = d = 3\ne: int = 4\ng = lambda x: x == 1\n"),
              ElementsAre("a", "b", "c", "d", "e", "g"));
  EXPECT_THAT(Names("if x:\n    class Model: pass\nelse:\n    Model = None\n"),
              ElementsAre("Model"));
  EXPECT_THAT(Names("a = \\\n    1\r\nb = 2\r\n"), ElementsAre("a", "b"));
}

TEST(PythonNames, AStarImportMayBindAnything) {
  EXPECT_TRUE(ScanPythonNames("from m import *\n")->Binds("Model"));
  EXPECT_FALSE(ScanPythonNames("import m\n")->Binds("Model"));
}

TEST(PythonNames, OddQuotesInAnFStringDoNotSwallowTheFile) {
  EXPECT_THAT(Names("a = f\"{d[\"(\"]}\"\ndef get_inputs(): pass\n"),
              ElementsAre("a", "get_inputs"));
}

TEST(PythonNames, AnyBeginningAndAnyDamageIsReadOrRefused) {
  const std::string source =
      "\"\"\"text\"\"\"\nfrom m import (a, b as c)\nclass Model(x['y']):\n    s = 'it\\'s' # end\n"
      "d, e = f(1, \\\n  2)\ndef get_inputs(): return [{1: (2)}]\n";
  ASSERT_THAT(Names(source), ElementsAre("Model", "a", "c", "d", "e", "get_inputs"));
  for (size_t size = 0; size <= source.size(); ++size) {
    const auto scanned = ScanPythonNames(source.substr(0, size));
    if (scanned.ok()) continue;
    EXPECT_EQ(scanned.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(scanned.error().message, HasSubstr("line 1: a triple-quoted string"));
  }
  for (size_t at = 0; at < source.size(); ++at) {
    for (const char c : "\"'\\\n#([)=,.\r\t\x80"s) {
      std::string damaged = source;
      damaged[at] = c;
      const auto scanned = ScanPythonNames(damaged);
      if (scanned.ok()) continue;
      EXPECT_THAT(scanned.error().message, HasSubstr("line "));
    }
  }
}

}  // namespace
}  // namespace assay
