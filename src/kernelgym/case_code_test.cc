#include "kernelgym/case_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::kernelgym {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Body(const std::string& lines) { return "def get_cases():\n" + lines; }

TEST(CaseCodeTest, CutsOutPlainArithmetic) {
  const std::string source =
      "import os\n"
      "N = 1024\n"
      "EVIL = os.system('true')\n"
      "class ModelNew:\n"
      "    pass\n"
      "def get_cases():\n"
      "    \"\"\"Two cases.\"\"\"\n"
      "    x = torch.randn(N, device='cuda')  # fresh ones\n"
      "    y, z = torch.rand(N, 4), -torch.ones((N,), dtype=torch.float16)\n"
      "    s = (x * 2.5 + z[0] - y.sum(dim=1) / math.pi) @ x\n"
      "    t = torch.nn.functional.relu(x).to('cuda').T\n"
      "    return [{'name': 'a', 'inputs': [x, y], 'outputs': s, 'rtol': 1e-3},\n"
      "            {'inputs': [F.softmax(x, dim=-1)], 'outputs': (t, None)}]\n"
      "print('hello')\n";
  const Result<std::string> cases = ExtractCases(source);
  ASSERT_TRUE(cases.ok()) << cases.error().message;
  EXPECT_THAT(*cases, HasSubstr("N = 1024"));
  EXPECT_THAT(*cases, HasSubstr("fresh ones"));
  EXPECT_THAT(*cases, Not(HasSubstr("EVIL")));
  EXPECT_THAT(*cases, Not(HasSubstr("import os")));
  EXPECT_THAT(*cases, Not(HasSubstr("hello")));
  EXPECT_THAT(*cases, Not(HasSubstr("ModelNew")));
}

TEST(CaseCodeTest, SaysWhenThereAreNone) {
  EXPECT_EQ(ExtractCases("x = 1\n").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ExtractCases("class A:\n    def get_cases(self):\n        return []\n").error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(ExtractCases("").error().code, ErrorCode::kNotFound);
}

TEST(CaseCodeTest, NamesTheLineAndTheWayOut) {
  const Result<std::string> cases =
      ExtractCases("# one\n" + Body("    x = torch.randn(4)\n    return [open('/etc/passwd')]\n"));
  ASSERT_FALSE(cases.ok());
  EXPECT_THAT(cases.error().message, HasSubstr("line 4"));
  EXPECT_THAT(cases.error().message, HasSubstr("cases_code"));
}

/// What is not on a list cannot be said, however it is written.
TEST(CaseCodeTest, RefusesEverythingElse) {
  for (const char* line : {
           "    import os\n",
           "    return __import__('os').system('id')\n",
           "    return ().__class__.__base__.__subclasses__()\n",
           "    return torch.load('/tmp/x')\n",
           "    return torch.ops.aten.add\n",
           "    return torch.utils.cpp_extension\n",
           "    return torch.__dict__\n",
           "    return torch.randn.__globals__\n",
           "    return torch.randn(4).numpy()\n",
           "    return torch.randn(4).__reduce__()\n",
           "    return torch.randn(4).storage()\n",
           "    return torch.randn(4).add_(1)\n",
           "    return math.factorial(9)\n",
           "    return getattr(torch, 'load')\n",
           "    return eval('1')\n",
           "    return F.__loader__\n",
           "    return [x for x in torch.ones(4)]\n",
           "    return list(x for x in torch.ones(4))\n",
           "    return {x for x in torch.ones(4)}\n",
           "    return lambda: 1\n",
           "    return (lambda: 1)()\n",
           "    return f'{torch.load}'\n",
           "    return '{0.__class__}'.format(1)\n",
           "    return [0] * 100000000\n",
           "    return (0,) * 100000000\n",
           "    return 'a' * 100000000\n",
           "    x = [0]\n    return x * 100000000\n",
           "    x, y = [0], [1]\n    return x * 100000000\n",
           "    x = [[0]]\n    return x[0] * 100000000\n",
           "    return 9 ** 9 ** 9\n",
           "    return 1 << 99\n",
           "    return 9999999999999 * 2\n",
           "    return torch.ones(4) if True else 1\n",
           "    return True and torch\n",
           "    return (y := 1)\n",
           "    return torch\n",
           "    return torch.nn\n",
           "    return get_cases()\n",
           "    torch = 1\n    return 1\n",
           "    F = torch\n    return 1\n",
           "    x.y = 1\n",
           "    x[0] = 1\n",
           "    x = 1\n    x += 1\n",
           "    global x\n    x = 1\n",
           "    while True: pass\n",
           "    for i in torch.ones(4): pass\n",
           "    with torch.no_grad(): pass\n",
           "    try:\n        pass\n    except Exception:\n        pass\n",
           "    def inner(): pass\n",
           "    class Inner: pass\n",
           "    raise ValueError\n",
           "    yield 1\n",
           "    return (yield 1)\n",
           "    return await torch\n",
           "    del torch\n",
           "    assert 1\n",
           "    torch.ones(4)\n",
           "    x: torch.load = 1\n    return x\n",
           "    return *torch.ones(4),\n",
           "    return torch.ones(*[4])\n",
           "    return torch.ones(**{'size': 4})\n",
           "    print('x')\n",
           "    return ...\n",
           "    return undefined\n",
           "    return torch.ones(4)\n    # \r    import os\n",
           "    x = torch.ones(4) # \f\n    return x\n",
           "    return 'a\\\n'\n",
           "\treturn 1\n",
           "    return 't\xC3\xA4st'\n",
           "    ｔｏｒｃｈ = 1\n",
       }) {
    const Result<std::string> cases = ExtractCases(Body(line));
    EXPECT_FALSE(cases.ok()) << line << (cases.ok() ? *cases : "");
    if (!cases.ok()) {
      EXPECT_EQ(cases.error().code, ErrorCode::kInvalid) << line;
    }
  }
}

TEST(CaseCodeTest, RefusesOtherSignatures) {
  for (const char* source :
       {"def get_cases(x=open('/tmp/x')):\n    return []\n",
        "def get_cases(*args):\n    return []\n",
        "def get_cases() -> open('/tmp/x'):\n    return []\n",
        "async def get_cases():\n    return []\n", "def get_cases():\n    return [\n",
        "def get_cases(): return torch.load('x')\n"}) {
    EXPECT_FALSE(ExtractCases(source).ok()) << source;
  }
  // A decorator would run; the function below one is not at the top level's own.
  EXPECT_FALSE(ExtractCases("@evil\ndef get_cases():\n    return []\n").ok());
}

TEST(CaseCodeTest, DeepNestingIsRefused) {
  std::string deep = "    return " + std::string(500, '[') + std::string(500, ']') + "\n";
  EXPECT_FALSE(ExtractCases(Body(deep)).ok());
}

TEST(CaseCodeTest, ConstantsAreNumbersOnly) {
  const Result<std::string> cases =
      ExtractCases("N = [0]\ndef get_cases():\n    return [torch.ones(N)]\n");
  EXPECT_FALSE(cases.ok());
}

}  // namespace
}  // namespace assay::kernelgym
