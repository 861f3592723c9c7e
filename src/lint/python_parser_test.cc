#include "lint/python_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lint/python_lexer.h"
#include "lint/tree_names.h"

namespace assay::lint {
namespace {

/// A tree as `kind(child child)`; identifiers and other leaves as their text.
std::string Show(const ParseTree& tree, NodeId id) {
  const bool leaf = tree.FirstChild(id) == kNoNode;
  const Kind kind = tree.kind(id);
  if (leaf && (kind == Kind::kIdentifier || kind == Kind::kOther || kind == Kind::kStringContent))
    return std::string(tree.Text(id));
  std::string text(NameOf(kind));
  if (leaf) return text;
  text += '(';
  for (NodeId child = tree.FirstChild(id); child != kNoNode; child = tree.NextSibling(child)) {
    if (text.back() != '(') text += ' ';
    text += Show(tree, child);
  }
  return text + ')';
}

/// The statements of a module.
std::string Parse(std::string_view source) {
  const ParseTree tree = ParseTree::Parse(source);
  std::string text;
  for (NodeId id = tree.FirstChild(0); id != kNoNode; id = tree.NextSibling(id))
    text += (text.empty() ? "" : " ") + Show(tree, id);
  return text;
}

/// The one expression of a module.
std::string Expression(std::string_view source) {
  const std::string text = Parse(source);
  const std::string_view statement = "expression_statement(";
  EXPECT_EQ(text.substr(0, statement.size()), statement) << source;
  return text.substr(statement.size(), text.size() - statement.size() - 1);
}

struct Case {
  const char* source;
  const char* tree;
};

TEST(PythonParserTest, Operators) {
  for (const Case& c : {
           Case{"a + b * c - d", "binary_operator(binary_operator(a binary_operator(b c)) d)"},
           Case{"a @ b", "binary_operator(a at b)"},
           Case{"a | b ^ c & d", "binary_operator(a binary_operator(b binary_operator(c d)))"},
           Case{"-a ** -b ** c", "other(binary_operator(a other(binary_operator(b c))))"},
           Case{"not a < b not in c and d or e",
                "boolean_operator(boolean_operator(other(other(a b c)) d) e)"},
           Case{"await a ** b", "binary_operator(await(a) b)"},
           Case{"a if b else c if d else e", "conditional(a b conditional(c d e))"},
           Case{"lambda: lambda a, /, *b, c=1, **d: a",
                "lambda(lambda(lambda_parameters(a positional_separator list_splat_pattern(b) "
                "default_parameter(c 1) dict_splat_pattern(d)) a))"},
           Case{"(a := b)", "parenthesized(named_expression(a b))"},
       })
    EXPECT_EQ(Expression(c.source), c.tree) << c.source;
}

TEST(PythonParserTest, PrimariesAndBrackets) {
  for (const Case& c : {
           Case{"a.b[c](d)", "call(subscript(attribute(a b) c) argument_list(d))"},
           Case{"f(a, *b, c=1, **d)",
                "call(f argument_list(a list_splat(b) keyword_argument(c 1) dict_splat(d)))"},
           Case{"f(a for a in b)", "call(f other(a for_in_clause(a b)))"},
           Case{"a[b:c, ::d, :]", "subscript(a other(b c) other(d) :)"},
           Case{"()", "tuple"},
           Case{"(a)", "parenthesized(a)"},
           Case{"(a,)", "tuple(a)"},
           Case{"[a, *b]", "list(a list_splat(b))"},
           Case{"{}", "dictionary"},
           Case{"{a: b, **c}", "dictionary(pair(a b) dict_splat(c))"},
           Case{"{a, b}", "other(a b)"},
           Case{"[a async for b, *c in d if e]",
                "other(a for_in_clause(pattern_list(b list_splat_pattern(c)) d) other(e))"},
           Case{"a, b", "a b"},
       })
    EXPECT_EQ(Expression(c.source), c.tree) << c.source;
}

TEST(PythonParserTest, Strings) {
  for (const Case& c : {
           Case{"'a\\n\\q\\x41'", "string(string_start string_content(escape escape) string_end)"},
           Case{"r'\\n'", "string(string_start \\n string_end)"},
           Case{"b'\\u0041'", "string(string_start \\u0041 string_end)"},
           Case{"''", "string(string_start string_end)"},
           Case{"'a' \"b\"",
                "concatenated_string(string(string_start a string_end) string(string_start b "
                "string_end))"},
           Case{"f'a{b!r:>{c}}d'",
                "string(string_start a interpolation(b !r other(other(c))) d string_end)"},
           Case{"f'{a, b}{c=}{{'",
                "string(string_start interpolation(expression_list(a b)) interpolation(c) "
                "string_content({{) string_end)"},
       })
    EXPECT_EQ(Expression(c.source), c.tree) << c.source;
}

TEST(PythonParserTest, SimpleStatements) {
  for (const Case& c : {
           Case{"a = b, c = d, e",
                "expression_statement(assignment(a assignment(pattern_list(b c) "
                "expression_list(d e))))"},
           Case{"(a), [b, *c] = d",
                "expression_statement(assignment(pattern_list(tuple_pattern(a) list_pattern(b "
                "list_splat_pattern(c))) d))"},
           Case{"a: b[c] = d", "expression_statement(assignment(a type(subscript(b c)) d))"},
           Case{"a @= yield b", "expression_statement(augmented_assignment(a at other(b)))"},
           Case{"import a.b as c, d", "import(aliased_import(dotted_name(a b) c) dotted_name(d))"},
           Case{"from ..a import (b as c, d,)",
                "import_from(relative_import(.. dotted_name(a)) aliased_import(dotted_name(b) c) "
                "dotted_name(d))"},
           Case{"from a import *", "import_from(dotted_name(a) wildcard_import)"},
           Case{"from __future__ import a", "future_import(dotted_name(a))"},
           Case{"del a, b; global c; nonlocal d",
                "delete(expression_list(a b)) global(c) nonlocal(d)"},
           Case{"return a, b", "return(expression_list(a b))"},
           Case{"raise a from b", "raise(a b)"},
           Case{"type A[B: c, *D] = e",
                "other(type(other(A other(type(other(type(B) type(c))) type(other(D))))) type(e))"},
           Case{"type(a).b = c",
                "expression_statement(assignment(attribute(call(type argument_list(a)) b) c))"},
           Case{"match[a] = print = case",
                "expression_statement(assignment(subscript(match a) assignment(print case)))"},
       })
    EXPECT_EQ(Parse(c.source), c.tree) << c.source;
}

TEST(PythonParserTest, CompoundStatements) {
  for (const Case& c : {
           Case{"if a:\n  pass\nelif b: pass\nelse: pass",
                "if(a block(pass) other(b block(pass)) other(block(pass)))"},
           Case{"for a, in b: pass", "for(pattern_list(a) b block(pass))"},
           Case{"try: pass\nexcept* (a, b) as c: pass\nfinally: pass",
                "try(block(pass) except_clause(as_pattern(tuple(a b) as_pattern_target(c)) "
                "block(pass)) finally_clause(block(pass)))"},
           Case{"with (a as b, c,): pass",
                "other(other(with_item(as_pattern(a as_pattern_target(b))) with_item(c)) "
                "block(pass))"},
           Case{"with (a, b) as c: pass",
                "other(other(with_item(as_pattern(tuple(a b) as_pattern_target(c)))) block(pass))"},
           Case{"with (a): pass", "other(other(with_item(parenthesized(a))) block(pass))"},
           Case{"@a\n@b.c(d)\nasync def f[T](x, y: int, z: int = 1, *, w) -> v: pass",
                "decorated(decorator(at a) decorator(at call(attribute(b c) argument_list(d))) "
                "function(f other(type(T)) parameters(x typed_parameter(y type(int)) "
                "typed_default_parameter(z type(int) 1) keyword_separator w) type(v) "
                "block(pass)))"},
           Case{"class A(B, metaclass=M): 'doc'",
                "class(A argument_list(B keyword_argument(metaclass M)) "
                "block(expression_statement(string(string_start doc string_end))))"},
       })
    EXPECT_EQ(Parse(c.source), c.tree) << c.source;
}

TEST(PythonParserTest, Patterns) {
  const auto pattern = [](std::string_view text) {
    return Parse("match x:\n  case " + std::string(text) + ": pass\n");
  };
  const auto match = [](const std::string& patterns) {
    return "other(x block(other(" + patterns + " block(pass))))";
  };
  for (const Case& c : {
           Case{"a", "case_pattern(dotted_name(a))"},
           Case{"a.b | -1 | None", "case_pattern(other(dotted_name(a b) 1 none))"},
           Case{"[a, *_]",
                "case_pattern(list_pattern(case_pattern(dotted_name(a)) case_pattern(*_)))"},
           Case{"a, b if c", "case_pattern(dotted_name(a)) case_pattern(dotted_name(b)) other(c)"},
           Case{"A(b, c=d) as e",
                "case_pattern(as_pattern(case_pattern(other(dotted_name(A) "
                "case_pattern(dotted_name(b)) case_pattern(other(c dotted_name(d))))) e))"},
           Case{"{1: a, **b}", "case_pattern(other(1 case_pattern(dotted_name(a)) other(b)))"},
       })
    EXPECT_EQ(pattern(c.source), match(c.tree)) << c.source;
  EXPECT_EQ(pattern("_"), "other(x block(other(case_pattern block(pass))))");
}

TEST(PythonParserTest, WhatCPythonAcceptsHasNoError) {
  for (const char* source : {
           "",
           "#",
           "\n",
           "a;",
           "x = 1 \\\n  + 2",
           "def f(): pass\n\f\ndef g(): pass",
           "with (yield): pass",
           "with (a, b).c: pass",
           "with (a for a in b): pass",
           "with (lambda a, b: 0): pass",
           "with (a, *b): pass",
           "f'{x!r:^{w}.{p}}'",
           "f'''{\na\n}'''",
           "print >>a, b",
           "async def f(): [x async for x in y]",
           "try: pass\nexcept a, b: pass",
           "match = case = type = _ = 1",
           "match (a):\n case _: b",
           "match(a, b)",
           "match -a:\n  case -1-2j: b",
           "lambda *, a=(yield): a",
           "x = *a, *b",
           "for x in *a, b: pass",
           "a[b:=1, *c]",
           "@(yield)\ndef f(): pass",
           "class A[T = int, *U = *V, **W = []]: pass",
           "if a: pass; pass",
           "x: (yield) = 1",
       })
    EXPECT_FALSE(ParseTree::Parse(source).has_error()) << source << "\n" << Parse(source);
}

TEST(PythonParserTest, ErrorsHaveCPythonsLine) {
  struct Error {
    const char* source;
    int line;
  };
  for (const Error& c : {
           Error{"a\nx = (1,\ny = 2\n", 2},
           Error{"a\nx = [1, 2\ndef f(): pass\n", 2},
           Error{"a\nx = 1)\n", 2},
           Error{"a\nx = 'abc\n", 2},
           Error{"a\nx = '''abc\n\n\n", 2},
           Error{"a\nprint x\n", 2},
           Error{"a\nexec 'b'\n", 2},
           Error{"if a\n  b\n", 1},
           Error{"if a:\nb\n", 2},
           Error{"a\n  b\n", 2},
           Error{"if a:\n    b\n  c\n", 3},
           Error{"a = = b\n", 1},
           Error{"f() = 1\n", 1},
           Error{"a\nelse: b\n", 2},
           Error{"try: a\nb\n", 2},
           Error{"def f(a b): pass\n", 1},
           Error{"x = \xE2\x80\x9C"
                 "a\xE2\x80\x9D\n",
                 1},
           Error{"a = 1 +\n", 1},
           Error{"a = b c\n", 1},
           Error{"class A\n  pass\n", 1},
           Error{"f'{a'\n", 1},
           Error{"f'{a b}'\n", 1},
           Error{"f'{}'\n", 1},
           Error{"1 + not a\n", 1},
           Error{"match a:\n  case b\n    c\n", 2},
       }) {
    const ParseTree tree = ParseTree::Parse(c.source);
    ASSERT_TRUE(tree.has_error()) << c.source;
    EXPECT_EQ(tree.Line(tree.first_error()), c.line) << c.source;
  }
}

TEST(PythonParserTest, TheRestIsParsed) {
  EXPECT_EQ(Parse("a b\nc"), "expression_statement(a) error expression_statement(c)");
  EXPECT_EQ(Parse("def f(a)\n  b\nc"),
            "function(f parameters(a) error block(expression_statement(b))) "
            "expression_statement(c)");
  EXPECT_EQ(Parse("f(a,\ndef g(): pass"),
            "expression_statement(call(f argument_list(a))) error function(g parameters "
            "block(pass))");
  EXPECT_EQ(Parse("  a\nb"), "error expression_statement(a) expression_statement(b)");
  EXPECT_EQ(Parse("@a\nb"), "decorated(decorator(at a) error) expression_statement(b)");
}

std::string Repeat(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += unit;
  return text;
}

// Time is proportional to the tokens and nodes that are made: nothing is read or made twice.
TEST(PythonParserTest, NodesAreLinearInTheText) {
  constexpr size_t kBytes = 200000;
  for (const std::string_view unit : {"(",       "[",          "{",     ")",       "\"",
                                      "'",       "\"\"\"",     "\\",    "\\\n",    "f\"{",
                                      "a.",      "not ",       "-",     "lambda:", "lambda a=",
                                      "x if ",   "a**",        "a<",    "a=",      "1 if a else ",
                                      "f(",      "()",         "[0]",   "@",       "@a\n",
                                      "#\n",     "\n",         "a;",    "a,",      "*",
                                      "for ",    "match x:\n", "case ", "with (",  "a:=(",
                                      "if x:\n", " a\na\n",    "f'{a:", "{a:",     "$"}) {
    for (const std::string_view head : {"", "x = "}) {
      const std::string source = std::string(head) + Repeat(unit, kBytes);
      EXPECT_LE(TokenizePython(source).size(), 2 * source.size()) << unit;
      EXPECT_LE(ParsePython(source).nodes.size(), 2 * source.size()) << unit;
    }
  }
}

TEST(PythonParserTest, DepthIsBounded) {
  const auto nested = [](size_t depth) {
    return "x = " + std::string(depth, '(') + "1" + std::string(depth, ')') + "\n";
  };
  EXPECT_FALSE(ParseTree::Parse(nested(200)).has_error());
  EXPECT_TRUE(ParseTree::Parse(nested(201)).has_error());
  // What needs no recursion has no bound.
  for (const std::string_view unit :
       {"not ", "- ", "lambda: ", "1 if a else ", "a ** ", "a + ", "a = ", "a < "}) {
    const std::string source = Repeat(unit, 100000) + "a\n";
    EXPECT_FALSE(ParseTree::Parse(source).has_error()) << unit;
  }
  EXPECT_TRUE(ParseTree::Parse("x = " + Repeat("lambda a=", 100000) + "1\n").has_error());
}

}  // namespace
}  // namespace assay::lint
