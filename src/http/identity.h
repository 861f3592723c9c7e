#pragma once

#include <string>

namespace assay::http {

/// What a key may do; each includes the ones before it.
enum class Scope { kNone, kRead, kSubmit, kAdmin };

/// Who sent a request.
struct Identity {
  std::string key_name;  ///< from the key file; "local" where no keys are needed
  Scope scope = Scope::kNone;
};

}  // namespace assay::http
