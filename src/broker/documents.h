#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// Small durable documents of the protocols (episodes, keys' counters, KernelGYM's parent tasks),
/// in the same database as the jobs. A `kind` is one protocol's name for its documents.
/// Thread-safe.
class DocumentStore {
 public:
  virtual ~DocumentStore() = default;
  virtual Status Put(const std::string& kind, const std::string& id,
                     const json::object& document) = 0;
  virtual Result<json::object> Get(const std::string& kind, const std::string& id) = 0;
  virtual Status Delete(const std::string& kind, const std::string& id) = 0;
  /// Ids of a kind in the order of their last change, newest first.
  virtual std::vector<std::string> List(const std::string& kind, size_t limit) = 0;
};

}  // namespace assay
