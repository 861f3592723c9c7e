#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::test {

/// One launch as the fakes act it out: the call begins, asks the driver for the same if `nested`,
/// makes a graph's node if `node` is not null, and ends.
struct FakeLaunch {
  uint32_t domain = 0;
  uint32_t id = 0;
  const void* parameters = nullptr;
  uint32_t correlation = 0;
  uint32_t nested_correlation = 0;
  bool nested = false;
  void* node = nullptr;
};

using FakeCallback = void (*)(uint32_t domain, uint32_t id, const void* data);
using FakeRuntime = void (*)(FakeCallback callback, const FakeLaunch* launch);
using FakeCaller = void (*)(FakeRuntime runtime, FakeCallback callback, const FakeLaunch* launch);

/// How the fake CUPTI is to behave; its symbol `fake_cupti`.
struct FakeCupti {
  uint32_t version = 130001;
  int subscribe_result = 0;
  int enable_result = 0;
  int flush_result = 0;
  uint32_t unknown_callback = 0;  ///< an id that it does not know
  int subscribers = 0;
  int callbacks_enabled = 0;
  int buffers_out = 0;             ///< handed to it and not given back
  size_t buffer_limit = SIZE_MAX;  ///< bytes of a buffer that it fills
};

}  // namespace assay::test
