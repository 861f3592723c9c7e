#pragma once

#include <cstddef>
#include <cstdint>

/// The part of CUPTI's binary interface that Assay uses: prefixes of its records, which CUPTI only
/// extends at their ends (alike in the headers of CUDA 12.9 and 13.0), and numbers of its
/// enumerations. Declared here because the library is opened at run time or not at all.
namespace assay::cupti {

inline constexpr int kSuccess = 0;
inline constexpr int kErrorMultipleSubscribers = 39;
inline constexpr int kErrorMaxLimitReached = 12;  ///< no further record in a buffer

// Kinds of activity.
inline constexpr uint32_t kMemcpy = 1;
inline constexpr uint32_t kMemset = 2;
inline constexpr uint32_t kConcurrentKernel = 10;
inline constexpr uint32_t kMemcpyPeer = 22;
inline constexpr uint32_t kFlushForced = 1;

// Callback domains and the callbacks that are asked for.
inline constexpr uint32_t kDomainDriver = 1;
inline constexpr uint32_t kDomainRuntime = 2;
inline constexpr uint32_t kDomainResource = 3;
inline constexpr uint32_t kGraphNodeCreated = 13;
inline constexpr uint32_t kGraphNodeCloned = 20;

/// An entry point that launches kernels. `function_at`: of the launched function's handle, in bytes
/// from the begin of the call's parameters; those of the runtime name it in a way of their own.
struct LaunchCall {
  uint32_t domain;
  uint32_t id;
  int function_at;
};
inline constexpr LaunchCall kLaunchCalls[] = {
    {kDomainRuntime, 211, -1},                             // cudaLaunchKernel
    {kDomainRuntime, 214, -1},                             // cudaLaunchKernel, per-thread stream
    {kDomainRuntime, 269, -1},                             // cudaLaunchCooperativeKernel
    {kDomainRuntime, 270, -1}, {kDomainRuntime, 430, -1},  // cudaLaunchKernelExC
    {kDomainRuntime, 431, -1}, {kDomainRuntime, 505, -1},  // __cudaLaunchKernel, CUDA 13
    {kDomainRuntime, 506, -1}, {kDomainDriver, 307, 0},    // cuLaunchKernel
    {kDomainDriver, 442, 0},   {kDomainDriver, 477, 0},    // cuLaunchCooperativeKernel
    {kDomainDriver, 478, 0},   {kDomainDriver, 652, 8},    // cuLaunchKernelEx
    {kDomainDriver, 653, 8},
};

struct Activity {
  uint32_t kind;
};

struct KernelActivity {
  uint32_t kind;
  uint8_t cache_config;
  uint8_t shared_memory_config;
  uint16_t registers;
  uint32_t global_cache[2];
  uint64_t start;  // Nanoseconds of the device's clock.
  uint64_t end;
  uint64_t completed;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
  int32_t grid[3];
  int32_t block[3];
  int32_t static_shared;
  int32_t dynamic_shared;
  uint32_t local_per_thread;
  uint32_t local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;  // Mangled.
  void* reserved;
  uint64_t queued;
  uint64_t submitted;
  uint8_t launch_type;
  uint8_t carveout[2];
  uint8_t padding;
  uint32_t shared_executed;
  uint64_t graph_node;  // 0: not of a graph.
};
static_assert(offsetof(KernelActivity, registers) == 6 && offsetof(KernelActivity, start) == 16 &&
              offsetof(KernelActivity, stream) == 48 && offsetof(KernelActivity, grid) == 52 &&
              offsetof(KernelActivity, block) == 64 &&
              offsetof(KernelActivity, static_shared) == 76 &&
              offsetof(KernelActivity, correlation) == 92 &&
              offsetof(KernelActivity, name) == 104 && offsetof(KernelActivity, graph_node) == 144);

/// Copies within a device and with its host, copies between devices, and fills: alike up to the
/// stream.
struct TransferActivity {
  uint32_t kind;
  uint8_t details[4];
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device;
  uint32_t context;
  uint32_t stream;
};
static_assert(offsetof(TransferActivity, bytes) == 8 && offsetof(TransferActivity, start) == 16 &&
              offsetof(TransferActivity, end) == 24 && offsetof(TransferActivity, stream) == 40);

struct CallbackData {
  int site;  // 0: the call begins.
  const char* function_name;
  const void* parameters;
  void* return_value;
  const char* symbol;
  void* context;
  uint32_t context_uid;
  uint64_t* correlation_data;
  uint32_t correlation;
};
static_assert(offsetof(CallbackData, parameters) == 16 && offsetof(CallbackData, symbol) == 32 &&
              offsetof(CallbackData, correlation) == 64 && sizeof(CallbackData) == 72);

struct ResourceData {
  void* context;
  void* resource;
  void* descriptor;
};
struct GraphData {
  void* graph;
  void* original_graph;
  void* node;
  void* original_node;
};
static_assert(offsetof(ResourceData, descriptor) == 16 && offsetof(GraphData, node) == 16 &&
              offsetof(GraphData, original_node) == 24);

using Subscriber = void*;
using Callback = void (*)(void* user, uint32_t domain, uint32_t id, const void* data);
using BufferRequested = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                                 size_t valid);

}  // namespace assay::cupti
