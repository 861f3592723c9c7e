#include "lint/python_lexer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace assay::lint {
namespace {

/// The tokens' texts, with names for those that have none.
std::string Texts(std::string_view source) {
  std::string text;
  for (const Token& token : TokenizePython(source)) {
    if (!text.empty()) text += ' ';
    switch (token.type) {
      case TokenType::kEnd:
        text += "END";
        break;
      case TokenType::kNewline:
        text += "NEWLINE";
        break;
      case TokenType::kIndent:
        text += "INDENT";
        break;
      case TokenType::kDedent:
        text += "DEDENT";
        break;
      case TokenType::kBadIndent:
        text += "BAD-INDENT";
        break;
      case TokenType::kBad:
        text += "BAD:";
        [[fallthrough]];
      default:
        text += source.substr(token.start, token.end - token.start);
    }
  }
  return text;
}

size_t Count(std::string_view source, TokenType type) {
  const auto tokens = TokenizePython(source);
  return static_cast<size_t>(
      std::count_if(tokens.begin(), tokens.end(), [&](const Token& t) { return t.type == type; }));
}

TEST(PythonLexerTest, LinesAndIndentation) {
  EXPECT_EQ(Texts(""), "END");
  EXPECT_EQ(Texts("\n  # c\n\f\n"), "END");
  EXPECT_EQ(Texts("a"), "a NEWLINE END");
  EXPECT_EQ(Texts("\xEF\xBB\xBFif a:\r\n\tb\r\n\r\n  # c\r\nd"),
            "if a : NEWLINE INDENT b NEWLINE DEDENT d NEWLINE END");
  EXPECT_EQ(Texts("(a,\n  b)\nc \\\n  d\re"), "( a , b ) NEWLINE c d NEWLINE e NEWLINE END");
  EXPECT_EQ(Texts("a\n   b\n  c\n  d\ne\n"),
            "a NEWLINE INDENT b NEWLINE BAD-INDENT c NEWLINE d NEWLINE DEDENT e NEWLINE END");
  EXPECT_EQ(Texts("if a:\n        b\n\tc\n"),
            "if a : NEWLINE INDENT b NEWLINE BAD-INDENT c NEWLINE DEDENT END");
}

TEST(PythonLexerTest, NumbersAndOperators) {
  EXPECT_EQ(Texts("1_0.5e-3j 0xFf 0b1 .5 1.real"), "1_0.5e-3j 0xFf 0b1 .5 BAD:1.real NEWLINE END");
  EXPECT_EQ(Texts("1if x else 2or 3"), "1 if x else 2 or 3 NEWLINE END");
  EXPECT_EQ(Texts("a**=b//c->d:=e...f!=g<<=h@=i"),
            "a **= b // c -> d := e ... f != g <<= h @= i NEWLINE END");
  EXPECT_EQ(Texts("a $ b \xE2\x80\x9C"
                  "c ! d"),
            "a BAD:$ b BAD:\xE2\x80\x9C"
            "c BAD:! d NEWLINE END");
  EXPECT_EQ(Texts("\xC3\xA9t\xC3\xA9 = 1"), "\xC3\xA9t\xC3\xA9 = 1 NEWLINE END");
}

TEST(PythonLexerTest, Strings) {
  EXPECT_EQ(Texts(R"(Rb'\' "' u"" '''a'b
''c''' )"),
            R"(Rb'\' "' u"" '''a'b
''c''' NEWLINE END)");
  EXPECT_EQ(Texts("'a\nb"), "BAD:'a NEWLINE b NEWLINE END");
  EXPECT_EQ(Texts("ub'a'"), "ub 'a' NEWLINE END");
  EXPECT_EQ(Texts("'''a\nb\n"), "BAD:'''a\nb\n NEWLINE END");
}

TEST(PythonLexerTest, FormatStrings) {
  EXPECT_EQ(Texts(R"(f"a{x!r:>{w}.2}b{{}}" c)"),
            R"(f" a { x ! r : > { w } .2 } b{{}} " c NEWLINE END)");
  EXPECT_EQ(Texts(R"(f'{d['k']}{(lambda: 1)}{x:=4}\N{DASH}')"),
            R"(f' { d [ 'k' ] } { ( lambda : 1 ) } { x : =4 } \N{DASH} ' NEWLINE END)");
  EXPECT_EQ(Texts("f'{f\"{f''}\"}'"), "f' { f\" { f' ' } \" } ' NEWLINE END");
  EXPECT_EQ(Texts("rf'\\{x}' t'}'"), "rf' \\ { x } ' t' BAD:} ' NEWLINE END");
  EXPECT_EQ(Texts("f'a{b\nc"), "f' a { b c NEWLINE END");
  EXPECT_EQ(Texts("f'a\nb"), "f' BAD:a NEWLINE b NEWLINE END");
}

TEST(PythonLexerTest, DamagedBracketsEndWhereAStatementBegins) {
  EXPECT_EQ(Texts("f(a, [b\n  def g(): pass"),
            "f ( a , [ b NEWLINE INDENT def g ( ) : pass NEWLINE DEDENT END");
  EXPECT_EQ(Texts("x = (1]\ny"), "x = ( 1 BAD:] y NEWLINE END");
  EXPECT_EQ(Texts("(a[1)\ny"), "( a [ 1 ) NEWLINE y NEWLINE END");
  EXPECT_EQ(Texts(")"), "BAD:) NEWLINE END");
}

TEST(PythonLexerTest, NestingIsBounded) {
  const std::string deep(1000, '(');
  EXPECT_EQ(Count(deep, TokenType::kLeftParen), 200);
  std::string fields;
  for (int i = 0; i < 1000; ++i) fields += "f'{";
  EXPECT_LE(Count(fields, TokenType::kFieldOpen), 200);
  std::string indents;
  for (size_t depth = 0; depth < 300; ++depth) indents += std::string(depth, ' ') + "if a:\n";
  EXPECT_EQ(Count(indents, TokenType::kIndent), 99);
  EXPECT_EQ(Count(indents, TokenType::kDedent), 99);
}

}  // namespace
}  // namespace assay::lint
