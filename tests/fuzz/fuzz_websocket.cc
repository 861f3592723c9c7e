// Bytes after a valid upgrade: frames, fragments, control frames, closes. The handshake is read
// before the first frame is sent, as the protocol demands.

#include "connection_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 8192) return 0;
  const std::string_view frames(reinterpret_cast<const char*>(data) + 1, size - 1);
  assay::http::ServeInput(assay::http::UpgradeHead(), frames,
                          data[0] == 0 ? frames.size() + 1 : data[0]);
  return 0;
}
