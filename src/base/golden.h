#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/fd.h"

namespace assay::test {

/// Compares `actual` with the file `in_src` below src/ byte for byte. With ASSAY_UPDATE_GOLDEN set
/// it rewrites the file instead, and fails so that the change is looked at.
inline void ExpectGolden(const std::string& in_src, const std::string& actual) {
  const std::string path = ASSAY_SOURCE_DIR "/src/" + in_src;
  if (std::getenv("ASSAY_UPDATE_GOLDEN") != nullptr) {
    const Status written = WriteFileAtomically(path, actual);
    ASSERT_TRUE(written.ok()) << written.error().message;
    ADD_FAILURE() << "rewrote " << path << "; look at the difference and run again";
    return;
  }
  Result<std::string> expected = ReadFile(path);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  EXPECT_EQ(*expected, actual) << "set ASSAY_UPDATE_GOLDEN=1 to rewrite " << path;
}

}  // namespace assay::test
