// Acts as libcupti: calls back and delivers the records that a test gives it.

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "native/cupti_abi.h"
#include "native/testing/fakes.h"

namespace cupti = assay::cupti;

extern "C" {
assay::test::FakeCupti fake_cupti;  // NOLINT
}

namespace {

// NOLINTBEGIN: the state of a C library
cupti::Callback callback;
void* callback_user;
cupti::BufferRequested requested;
cupti::BufferCompleted completed;
std::set<std::pair<uint32_t, uint32_t>> enabled_callbacks;
std::set<uint32_t> enabled_kinds;
std::vector<std::vector<uint8_t>> pending;
std::map<const uint8_t*, size_t> read_until;
// NOLINTEND

size_t SizeAt(const uint8_t* at) {
  uint64_t size = 0;
  std::memcpy(&size, at, sizeof size);
  return size;
}

}  // namespace

extern "C" {

int cuptiGetResultString(int code, const char** text) {
  *text = code == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR_UNKNOWN";
  return code == 77 ? 1 : 0;
}
int cuptiGetVersion(uint32_t* version) {
  *version = fake_cupti.version;
  return 0;
}
int cuptiSubscribe(void** subscriber, cupti::Callback function, void* user) {
  if (fake_cupti.subscribe_result != 0) return fake_cupti.subscribe_result;
  callback = function;
  callback_user = user;
  *subscriber = &callback;
  ++fake_cupti.subscribers;
  return 0;
}
int cuptiUnsubscribe(void* /*subscriber*/) {
  callback = nullptr;
  --fake_cupti.subscribers;
  return 0;
}
int cuptiEnableCallback(uint32_t enable, void* /*subscriber*/, uint32_t domain, uint32_t id) {
  if (id == fake_cupti.unknown_callback) return 1;
  if (enable != 0)
    enabled_callbacks.emplace(domain, id);
  else
    enabled_callbacks.erase({domain, id});
  fake_cupti.callbacks_enabled = static_cast<int>(enabled_callbacks.size());
  return 0;
}
int cuptiActivityRegisterCallbacks(cupti::BufferRequested request,
                                   cupti::BufferCompleted complete) {
  requested = request;
  completed = complete;
  return 0;
}
int cuptiActivityEnable(uint32_t kind) {
  if (fake_cupti.enable_result == 0) enabled_kinds.insert(kind);
  return fake_cupti.enable_result;
}
int cuptiActivityDisable(uint32_t kind) {
  enabled_kinds.erase(kind);
  return 0;
}

/// Each record in a buffer has its size, 8 bytes, before it.
int cuptiActivityFlushAll(uint32_t /*flag*/) {
  if (fake_cupti.flush_result != 0) return fake_cupti.flush_result;
  size_t next = 0;
  while (next < pending.size()) {
    uint8_t* buffer = nullptr;
    size_t size = 0;
    size_t most = 0;
    requested(&buffer, &size, &most);
    if (buffer == nullptr) break;
    ++fake_cupti.buffers_out;
    size = std::min(size, fake_cupti.buffer_limit);
    size_t used = 0;
    for (; next < pending.size() && used + 8 + pending[next].size() <= size; ++next) {
      const uint64_t bytes = pending[next].size();
      std::memcpy(buffer + used, &bytes, 8);
      std::memcpy(buffer + used + 8, pending[next].data(), bytes);
      used += 8 + (bytes + 7) / 8 * 8;
    }
    read_until.erase(buffer);
    completed(nullptr, 0, buffer, size, used);
    --fake_cupti.buffers_out;
    if (used == 0) break;
  }
  pending.clear();
  return 0;
}
int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, cupti::Activity** record) {
  size_t& at = read_until[buffer];
  if (at + 8 >= valid) {
    read_until.erase(buffer);
    return cupti::kErrorMaxLimitReached;
  }
  *record = reinterpret_cast<cupti::Activity*>(buffer + at + 8);
  at += 8 + (SizeAt(buffer + at) + 7) / 8 * 8;
  return 0;
}
int cuptiGetGraphNodeId(void* node, uint64_t* id) {
  *id = reinterpret_cast<uintptr_t>(node);
  return node == nullptr ? 1 : 0;
}

/// What CUDA's layers do at an entry point.
__attribute__((noinline)) void fake_cupti_call(uint32_t domain, uint32_t id, const void* data) {
  if (callback != nullptr && enabled_callbacks.contains({domain, id}))
    callback(callback_user, domain, id, data);
  __asm__ volatile("");  // no tail call: the frame must be there
}

/// Something ran; kept if its kind is asked for.
void fake_cupti_record(const void* record, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(record);
  uint32_t kind = 0;
  std::memcpy(&kind, bytes, sizeof kind);
  if (enabled_kinds.contains(kind)) pending.emplace_back(bytes, bytes + size);
}

}  // extern "C"
