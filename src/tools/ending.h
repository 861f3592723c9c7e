#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Of what a program that failed wrote to standard error, the line that says why, in at most
/// `most` bytes and without addresses: the last one of the form "SomeError: ...", or else the last
/// that is no frame of a stack. Text of an untrusted process.
std::string ReasonOf(std::string_view text, size_t most);

}  // namespace assay
