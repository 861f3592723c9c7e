#pragma once

#include <map>
#include <string>
#include <tuple>

#include "base/json.h"
#include "base/result.h"
#include "roofline/report.h"

namespace assay {

/// Bounds as `assay roofline --json` writes them, one object a line: what verdicts that are kept
/// are scored by when bounds have been revised.
class BoundsFile {
 public:
  /// kInvalid names the line: it is no bound, or a task's second one for a card.
  static Result<BoundsFile> Load(const std::string& path);

  /// The bound for the task, the version of its source and the card that an `assay.verdict/1`
  /// document names; null where the file has none.
  [[nodiscard]] const RooflineReport* Find(const json::object& verdict) const;

 private:
  /// Task id, sha256 of its source, card; no card: a processor.
  using Key = std::tuple<std::string, std::string, std::string>;

  std::map<Key, RooflineReport> bounds_;
};

}  // namespace assay
