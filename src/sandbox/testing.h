#pragma once

#include <functional>
#include <string>

#include "sandbox/sandbox.h"

namespace assay::sandbox {

/// In which of the three situations of a worker a candidate is started.
enum class Start {
  kRoot,       ///< root with CAP_SYS_ADMIN
  kUser,       ///< an ordinary user who may create user namespaces
  kContainer,  ///< root of a plain container: no CAP_SYS_ADMIN, no namespaces
};
std::string_view ToString(Start start);

struct Outcome {
  SandboxReport report;
  bool confined = false;  ///< Confine() succeeded
  std::string text;       ///< what the body returned, or the error of Confine()
  [[nodiscard]] std::string Missing() const;
};

/// What runs inside; returns what went wrong, or "".
using Body = std::function<std::string(const SandboxReport&)>;

/// Starts a candidate as the worker does (adopter, stem, candidate), runs `body` in it and waits
/// for the end of all of them. Needs root for kRoot and kContainer.
Outcome RunInside(Start start, const SandboxSpec& spec, const Body& body);

/// A spec with which the test binary's own code and /bin/sh run.
SandboxSpec TestSpec();

/// "" if `result` (of a system call) failed with one of the errors, else a sentence.
std::string MustFail(const char* what, long result, std::initializer_list<int> errors);

}  // namespace assay::sandbox
