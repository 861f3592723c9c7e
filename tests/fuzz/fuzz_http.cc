// Bytes on a fresh connection: heads, bodies, chunks, pipelined requests, upgrades.

#include "connection_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 4096) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  assay::http::ServeInput("", input, data[0] == 0 ? input.size() + 1 : data[0]);
  return 0;
}
