#include "verdict/scrub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Scrubbed(std::string_view text) { return Scrub(text, 10'000); }

TEST(Scrub, CutsAbsolutePathsToFileNames) {
  EXPECT_EQ(Scrubbed("/tmp/assay-1/ext/cuda.cu:12:3: error"), "cuda.cu:12:3: error");
  EXPECT_EQ(Scrubbed("open '/usr/lib/libx.so' failed"), "open 'libx.so' failed");
  EXPECT_EQ(Scrubbed("g++ -I/usr/include/python3.12 -o/tmp/a/b.o"), "g++ -Ipython3.12 -ob.o");
  EXPECT_EQ(Scrubbed("see ~/.cache/torch/x.log"), "see x.log");
  EXPECT_EQ(Scrubbed("see ../../home/me/x.log"), "see x.log");
  EXPECT_EQ(Scrubbed("glued/tmp/a/b.py"), "gluedb.py");
  EXPECT_EQ(Scrubbed("in /var/cache/dir/"), "in dir");
  EXPECT_EQ(Scrubbed("file:///tmp/a/b.py"), "file:b.py");
  EXPECT_EQ(Scrubbed("PATH=/usr/bin:/usr/sbin"), "PATH=bin:sbin");
  EXPECT_EQ(Scrubbed("/tmp/\xC3\xA9t\xC3\xA9/x.py"), "x.py");
}

TEST(Scrub, LeavesCodeAndUrlsAlone) {
  for (const char* text :
       {"y = a / b", "n // 2", "x/y", "//comment", "a /b", "and/or", "src/kernel.cu line 3",
        "https://pytorch.org/docs/stable", "mask 0xFFFFFFFF", "0x", "1e-5", "int /* a */ b"})
    EXPECT_EQ(Scrubbed(text), text);
}

TEST(Scrub, HidesAddresses) {
  EXPECT_EQ(Scrubbed("<Foo object at 0x7f12ab34cd56>"), "<Foo object at 0x...>");
  EXPECT_EQ(Scrubbed("<function f at 0x1b2c>"), "<function f at 0x...>");
  EXPECT_EQ(Scrubbed("read of 0X7F0000000000,"), "read of 0x...,");
}

TEST(Scrub, DropsFramesOfOtherFiles) {
  EXPECT_EQ(Scrubbed("Traceback (most recent call last):\n"
                     "  File \"/opt/assay/runtime/candidate.py\", line 88, in call\n"
                     "    return module(*inputs)\n"
                     "           ^^^^^^^^^^^^^^^\n"
                     "  File \"/tmp/x/submission.py\", line 12, in forward\n"
                     "    return 1 / 0\n"
                     "           ~~^~~\n"
                     "  File \"/usr/lib/python3/torch/nn.py\", line 1, in f\n"
                     "ZeroDivisionError: division by zero"),
            "File \"submission.py\", line 12, in forward\n"
            "    return 1 / 0\n"
            "           ~~^~~\n"
            "ZeroDivisionError: division by zero");
}

TEST(Scrub, RemovesEscapesAndInvalidBytes) {
  EXPECT_EQ(Scrubbed("\x1b[31mred\x1b[0m\r\n\xff!\0x"), "red\n\xEF\xBF\xBD!");
  EXPECT_EQ(Scrubbed(std::string_view("a\0b", 3)), "ab");
}

TEST(Scrub, SplitBytesCannotHideAPath) {
  // Escapes inside a path are taken out before paths are looked for.
  EXPECT_EQ(Scrubbed("/tm\x1b[0mp/secret/x.py"), "x.py");
}

TEST(Scrub, IsBoundedAndFastOnAnything) {
  std::mt19937_64 random{7};
  constexpr std::string_view kAlphabet = "/0xaf. \n\"File,line-~:\x1b[\xC3\xA9";
  for (int i = 0; i < 500; ++i) {
    std::string text(random() % 3000, ' ');
    for (char& c : text) c = kAlphabet[random() % kAlphabet.size()];
    EXPECT_LE(Scrub(text, 200).size(), 200u);
    EXPECT_LE(ScrubLine(text, 50).size(), 50u);
    EXPECT_THAT(ScrubLine(text, 50), Not(HasSubstr("\n")));
    EXPECT_THAT(CompilerErrors(text, 3).size(), ::testing::Le(3u));
  }
  const std::string huge(50u << 20, '/');
  EXPECT_LE(Scrub(huge, 100).size(), 100u);
}

TEST(ScrubLine, CutsBetweenCharacters) {
  EXPECT_EQ(ScrubLine("a\n\t b", 10), "a b");
  EXPECT_EQ(ScrubLine("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 6), "\xC3\xA9...");
  EXPECT_EQ(ScrubLine("abcdef", 6), "abcdef");
}

TEST(CompilerErrors, ReadsGccClangAndNvcc) {
  EXPECT_THAT(CompilerErrors("In file included from /usr/include/x.h:3:\n"
                             "/tmp/b/main.cpp:17:5: error: 'foo' was not declared in this scope\n"
                             "/tmp/b/main.cpp:18: fatal error: x.h: No such file\n"
                             "/tmp/b/cuda.cu(41): error: identifier \"q\" is undefined\n"
                             "/tmp/b/cuda.cu(43): error #20-D: no such thing\n"
                             "/tmp/b/cuda.cu(44): warning: unused\n"
                             "note: candidate\n",
                             10),
              ElementsAre(Diagnostic{"main.cpp", 17, "'foo' was not declared in this scope"},
                          Diagnostic{"main.cpp", 18, "x.h: No such file"},
                          Diagnostic{"cuda.cu", 41, "identifier \"q\" is undefined"},
                          Diagnostic{"cuda.cu", 43, "no such thing"}));
}

TEST(CompilerErrors, ReadsLinesThatAreTheSubmissionsAlready) {
  EXPECT_THAT(
      CompilerErrors("line 41: identifier \"q\" is undefined\nline x: no\nline 7 is: no\n", 3),
      ElementsAre(Diagnostic{"submission.py", 41, "identifier \"q\" is undefined"}));
}

TEST(CompilerErrors, KeepsTheFirstDifferentOnes) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a.cu(1): error: same\n";
  for (int i = 2; i < 9; ++i) text += "a.cu(" + std::to_string(i) + "): error: other\n";
  EXPECT_THAT(CompilerErrors(text, 3),
              ElementsAre(Diagnostic{"a.cu", 1, "same"}, Diagnostic{"a.cu", 2, "other"},
                          Diagnostic{"a.cu", 3, "other"}));
}

TEST(CompilerErrors, IgnoresWhatOnlyLooksLikeOne) {
  EXPECT_THAT(CompilerErrors("error: no place\n"
                             "ValueError: bad\n"
                             "3 errors detected in the compilation of \"a.cu\".\n"
                             ":12: error: no file\n"
                             "a.cu(99999999999999999999): error: no such line\n"
                             "a.cu(): error: nothing\n",
                             3),
              IsEmpty());
}

}  // namespace
}  // namespace assay
