#include "base/strings.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(StringsTest, TruncateMiddleKeepsBothEndsAndBounds) {
  const std::string text(1000, 'a');
  const std::string cut = TruncateMiddle("HEAD" + text + "TAIL", 200);
  EXPECT_LE(cut.size(), 200u);
  EXPECT_EQ(cut.substr(0, 4), "HEAD");
  EXPECT_EQ(cut.substr(cut.size() - 4), "TAIL");
  EXPECT_EQ(TruncateMiddle("short", 200), "short");
}

TEST(StringsTest, TruncateMiddleNeverSplitsACharacter) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "\u20ac";
  for (size_t size = 60; size < 90; ++size) {
    const std::string cut = TruncateMiddle(text, size);
    EXPECT_EQ(CleanText(cut), cut) << size;
  }
}

TEST(StringsTest, CleanTextMakesHostileBytesHarmless) {
  EXPECT_EQ(CleanText("\x1b[31mred\x1b[0m\r\n\x07ok\t\xff\xc0\x80"),
            "red\nok\t\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(CleanText("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
  EXPECT_EQ(CleanText("caf\u00e9"), "caf\u00e9");
  // U+009B begins a terminal sequence as ESC [ does; U+00A0 is a space.
  EXPECT_EQ(CleanText("a\u009B[2Jb\u00A0"), "a[2Jb\u00A0");
  // NOLINTNEXTLINE(misc-misleading-bidirectional)
  EXPECT_EQ(CleanText("a\u202Eb\u2066c\u2069d\u2029e"), "abcd\u2029e");
}

TEST(StringsTest, EditDistance) {
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(EditDistance("", "abc"), 3u);
}

}  // namespace
}  // namespace assay
