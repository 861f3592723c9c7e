#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::lint {

struct CppToken {
  enum class Type : uint8_t { kIdentifier, kNumber, kString, kPunctuation, kHeader };
  Type type = Type::kPunctuation;
  std::string_view text;  ///< of a string without its quotes, of an #include without its brackets
  uint32_t offset = 0;
};

/// Splits C++ or CUDA source into tokens. Comments vanish; the bodies of preprocessor directives
/// are tokens like any other (a macro can hide a call), the name of an included file is one
/// kHeader.
std::vector<CppToken> TokenizeCpp(std::string_view source);

/// Something that C++ source does and should not, or that a reader wants to know.
struct CppFinding {
  std::string rule;
  std::string what;  ///< the offending name
  std::string reason;
  uint32_t offset = 0;
};

struct CppReport {
  std::vector<CppFinding> findings;
  bool has_kernel = false;    ///< __global__
  bool has_loop = false;      ///< a for or while: computes something itself
  bool uses_streams = false;  ///< creates streams or graphs
};

/// Applies the S9 rules to the text of one C++ or CUDA source.
CppReport ScanCpp(std::string_view source);

/// Whether a string looks like C++ or CUDA (and not like prose that mentions it).
bool LooksLikeCpp(std::string_view text);

}  // namespace assay::lint
