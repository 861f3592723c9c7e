#pragma once

#include <string>

#include "kernelgym/request.h"

namespace assay::kernelgym {

/// Python text that is appended to what clients send, so that KernelGYM's forms become a task and a
/// submission in KernelBench's format. Appended, never put in front: line numbers stay the
/// client's, and `from __future__` stays legal.

/// A reference module as a task's source. `compiled`: it is timed under torch.compile. Where it is
/// judged on the CPU, "cuda" in its get_inputs() means the CPU; so it is below too.
std::string ReferenceSource(std::string reference_code, const std::string& entry, bool compiled);

/// Class that CasesSource() defines as the reference.
inline constexpr const char* kCasesReference = "AssayReference";
/// A task from Python that defines get_cases(). `bounded`: the text was written by the submission's
/// author, so its size is measured on the meta device before anything is computed.
std::string CasesSource(std::string cases_code, bool bounded);

/// get_cases() for cases that came as JSON.
std::string CasesFromJson(const json::array& cases);

/// The submission with its class changed so that one call runs every case. `own_init`: it is
/// constructed with its own get_init_inputs(), if it has one, instead of the task's.
std::string CasesSubmission(std::string kernel_code, const std::string& entry, bool own_init);

}  // namespace assay::kernelgym
