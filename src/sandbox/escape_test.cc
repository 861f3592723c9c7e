#include <gtest/gtest.h>

#include "sandbox/sandbox.h"
namespace assay {
namespace {
TEST(Probe, X) {
  auto r = ProbeSandbox();
  puts(PrettyJson(r.ToJson()).c_str());
}
}  // namespace
}  // namespace assay
