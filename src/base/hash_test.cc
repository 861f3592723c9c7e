#include "base/hash.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(HashTest, Sha256OfKnownText) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(HashTest, HmacOfRfc4231Case2) {
  EXPECT_EQ(Hex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(HashTest, IdsDiffer) {
  EXPECT_NE(NewId("sub-"), NewId("sub-"));
  EXPECT_EQ(NewId("sub-").size(), 24u);
}

}  // namespace
}  // namespace assay
