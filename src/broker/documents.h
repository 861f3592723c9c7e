#pragma once

#include <functional>
#include <string>
#include <utility>
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
  /// As Put, for threads that must not wait for the disk: calls `done` once, on any thread; it must
  /// not block.
  virtual void PutThen(const std::string& kind, const std::string& id, json::object document,
                       std::function<void(const Status&)> done) {
    const std::function<void(const Status&)> answer = std::move(done);
    const json::object given = std::move(document);
    answer(Put(kind, id, given));
  }
  /// As PutThen, with the JSON text of the object: for who has it already.
  virtual void PutTextThen(const std::string& kind, const std::string& id, std::string text,
                           std::function<void(const Status&)> done) {
    const std::string given = std::move(text);
    Result<json::object> document = ParseJsonObject(given);
    if (document.ok()) return PutThen(kind, id, *std::move(document), std::move(done));
    const std::function<void(const Status&)> answer = std::move(done);
    answer(document.error());
  }
  virtual Result<json::object> Get(const std::string& kind, const std::string& id) = 0;
  virtual Status Delete(const std::string& kind, const std::string& id) = 0;
  /// Ids of a kind in the order of their last change, newest first.
  virtual std::vector<std::string> List(const std::string& kind, size_t limit) = 0;
};

}  // namespace assay
