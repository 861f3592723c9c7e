#include "http/url.h"

#include <gtest/gtest.h>

namespace assay::http {
namespace {

TEST(Url, DecodesPathsAndQueries) {
  const Result<Target> target = ParseTarget("/v1/a%20b/%C3%BC?x=1&y=a+b%26c&flag&x=2");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->path, "/v1/a b/\xC3\xBC");
  ASSERT_EQ(target->query.size(), 4u);
  EXPECT_EQ(target->query[1], (std::pair<std::string, std::string>("y", "a b&c")));
  EXPECT_EQ(target->query[2], (std::pair<std::string, std::string>("flag", "")));
  EXPECT_EQ(target->query[3].second, "2");
}

TEST(Url, PlusIsOnlyASpaceInQueries) { EXPECT_EQ(ParseTarget("/a+b")->path, "/a+b"); }

TEST(Url, TakesTheAbsoluteForm) {
  EXPECT_EQ(ParseTarget("http://host:8000/ws?x=1")->path, "/ws");
  EXPECT_EQ(ParseTarget("http://host")->path, "/");
  EXPECT_EQ(ParseTarget("/a#fragment")->path, "/a");
}

TEST(Url, RefusesWhatIsNoUrl) {
  for (const char* bad : {"",
                          "*",
                          "x",
                          "host:80",
                          "/%",
                          "/%4",
                          "/%zz",
                          "/%00",
                          "/%0a",
                          "/a\tb",
                          "/%ff",
                          "/%c0%af",
                          "/%ed%a0%80",
                          "/%f4%90%80%80",
                          "/../etc/passwd",
                          "/a/%2e%2e/b",
                          "/a/./b",
                          "/ok?x=%",
                          "/ok?%ff=1",
                          "/ok?x=%00"}) {
    const Result<Target> target = ParseTarget(bad);
    ASSERT_FALSE(target.ok()) << bad;
    EXPECT_FALSE(target.error().message.empty());
  }
}

TEST(Url, Utf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80"));
  for (const char* bad :
       {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "a\xE2\x82"})
    EXPECT_FALSE(IsUtf8(bad));
}

}  // namespace
}  // namespace assay::http
