#pragma once

#include <string>
#include <string_view>

namespace assay::openenv {

/// What a model's text holds.
struct Extracted {
  std::string code;
  std::string problem;  ///< why there is no code; empty when there is
};

/// The Python module in `text`, which is either the module itself or a reply that holds it in a
/// fenced block: then the last complete block marked python (or py), else the last complete one
/// without a mark. A block that is not closed is a problem, never half a module: the reply was cut
/// off. Backticks inside a Python string do not make a module a reply.
Extracted ExtractCode(std::string_view text);

}  // namespace assay::openenv
