#pragma once

#include <dlfcn.h>

#include <cstring>

namespace assay {

/// Fills pointers to functions from a library that is open, and keeps the name of the first that is
/// required and missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  /// Null where the library lacks it.
  template <typename Function>
  void Find(Function*& slot, const char* name) {
    void* symbol = ::dlsym(library_, name);
    std::memcpy(&slot, &symbol, sizeof symbol);
  }
  template <typename Function>
  void Require(Function*& slot, const char* name) {
    Find(slot, name);
    if (slot == nullptr && missing_ == nullptr) missing_ = name;
  }

  /// nullptr when everything that is required was found.
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  void* const library_;
  const char* missing_ = nullptr;
};

}  // namespace assay
