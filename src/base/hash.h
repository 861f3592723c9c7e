#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

using Digest = std::array<uint8_t, 32>;

Digest Sha256(std::string_view data);
Digest HmacSha256(std::string_view key, std::string_view data);
std::string Hex(const Digest& digest);
std::string Sha256Hex(std::string_view data);

/// `size` bytes from the kernel's generator.
std::string RandomBytes(size_t size);

/// A fresh identifier, `prefix` + 20 hexadecimal digits (80 random bits).
std::string NewId(std::string_view prefix);

}  // namespace assay
