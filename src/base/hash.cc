#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "base/result.h"

namespace assay {
namespace {

void AppendHex(uint8_t byte, std::string* text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  *text += kDigits[byte >> 4];
  *text += kDigits[byte & 0xF];
}

}  // namespace

Digest Sha256(std::string_view data) {
  // EVP_sha256() would look the implementation up in every call, which takes longer than a short
  // text.
  static EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  ASSAY_CHECK(kAlgorithm != nullptr);
  Digest digest{};
  ASSAY_CHECK(EVP_Digest(data.data(), data.size(), digest.data(), nullptr, kAlgorithm, nullptr) ==
              1);
  return digest;
}

Digest HmacSha256(std::string_view key, std::string_view data) {
  Digest digest{};
  unsigned int size = digest.size();
  ASSAY_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                   reinterpret_cast<const unsigned char*>(data.data()), data.size(), digest.data(),
                   &size) != nullptr);
  return digest;
}

std::string Hex(const Digest& digest) {
  std::string text;
  text.reserve(2 * digest.size());
  for (const uint8_t byte : digest) AppendHex(byte, &text);
  return text;
}

std::string Sha256Hex(std::string_view data) { return Hex(Sha256(data)); }

std::string RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::getrandom(bytes.data() + done, size - done, 0);
    ASSAY_CHECK(n > 0);
    done += static_cast<size_t>(n);
  }
  return bytes;
}

std::string NewId(std::string_view prefix) {
  std::string id(prefix);
  for (const char byte : RandomBytes(10)) AppendHex(static_cast<uint8_t>(byte), &id);
  return id;
}

}  // namespace assay
