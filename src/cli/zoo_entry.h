#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verdict/verdict.h"

namespace assay {

/// Which of the two collections: hostile submissions that must not be paid, or honest ones (some of
/// them broken) that must be judged right.
enum class Collection { kZoo, kHonest };

/// One submission of a collection: a Python module whose docstring says, in `Key: value` lines,
/// what it is and which verdict is right. docs/zoo.md lists the keys.
struct ZooEntry {
  std::string name;  ///< the file's name without ".py"
  std::string path;
  std::string source;
  std::string title;                          ///< first line of the docstring
  std::map<std::string, std::string> header;  ///< by key; a key may end in "-cpu" or "-cuda"

  /// The value for the device: `Key-cuda` before `Key`. Empty when neither is given.
  [[nodiscard]] std::string Get(const std::string& key, bool cuda) const;
};

/// Reads one file. kInvalid names the file, what is wrong with its header, and the keys there are.
Result<ZooEntry> ParseZooEntry(std::string path, std::string source, Collection collection);

/// Reads every `*.py` of a folder, in order of their names; files that begin with `test_`,
/// `conftest` or `_` are the tests' own. kInvalid on the first bad header, on a twin that does not
/// exist, and when there is none at all.
Result<std::vector<ZooEntry>> ReadZoo(const std::string& folder, Collection collection);

/// What became of one entry.
enum class ZooOutcome {
  kRight,
  kWrong,
  kKnown,    ///< wrong, and the header says that and why (`Known:`)
  kMended,   ///< right although the header says it is known to be wrong: the line must go
  kSkipped,  ///< needs what this machine lacks
};

std::string_view ToString(ZooOutcome outcome);

struct ZooRow {
  const ZooEntry* entry = nullptr;
  ZooOutcome outcome = ZooOutcome::kSkipped;
  std::string why;                 ///< of a skip, or of a wrong verdict; empty when right
  std::optional<Verdict> verdict;  ///< none when skipped
  double seconds = 0;              ///< that the evaluation took, waiting included
};

/// Whether the verdict is right. `twin`: the verdict of the entry's `Twin:`, null without one.
///
/// Only a status that `Expect:` lists is right. A hostile submission that is `correct` must not
/// have gained by it: its speedup may not exceed `MaxSpeedup:`, nor its twin's by more than noise.
/// Sets outcome and why of a row that has a verdict.
void JudgeRow(ZooRow* row, const Verdict* twin, bool cuda);

}  // namespace assay
