#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace assay {

/// One member in which two verdicts of the same submission differ.
struct Difference {
  std::string member;
  json::value before;
  json::value after;
  /// It changes what the submission is worth (status, error, task); else it is a measurement, which
  /// other seeds, another device or another moment explain.
  bool decisive = false;
};

/// Compares the verdict of a replay with the one that is kept. Times are compared by whether their
/// intervals meet; ids, phases and texts are not compared.
std::vector<Difference> CompareVerdicts(const json::object& before, const json::object& after);

}  // namespace assay
