#include "native/cuda_driver.h"

#include <dlfcn.h>

#include <bit>

#include "base/symbols.h"

namespace assay {
namespace {

// Structures of cuda.h that the calls below take.
struct MemLocation {
  int type;  // 1: device
  int id;
};
struct AllocationProp {
  int type;                    // 1: pinned
  int requested_handle_types;  // 1: POSIX file descriptor
  MemLocation location;
  void* win32_meta_data;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};
struct AccessDesc {
  MemLocation location;
  int flags;  // 1: read, 3: read and write
};
static_assert(sizeof(AllocationProp) == 32 && sizeof(AccessDesc) == 12);

constexpr int kPosixFd = 1;

// Both kernels read the device's nanosecond clock until a time has passed and keep the largest
// step. The second ends earlier when the word at `release` holds `number`; then it stores values[i]
// at addresses[i] (one block; all its threads) and, once that is visible everywhere, `number` at
// `ended`.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry assay_quiet(.param .u64 result, .param .u64 duration) {
  .reg .u64 %out, %duration, %start, %last, %now, %step, %gap, %lost, %span;
  .reg .pred %more, %jump;
  ld.param.u64 %out, [result];
  ld.param.u64 %duration, [duration];
  cvta.to.global.u64 %out, %out;
  mov.u64 %gap, 0;
  mov.u64 %lost, 0;
  mov.u64 %start, %globaltimer;
  mov.u64 %last, %start;
watch:
  mov.u64 %now, %globaltimer;
  sub.u64 %step, %now, %last;
  max.u64 %gap, %gap, %step;
  setp.gt.u64 %jump, %step, 20000;
  @%jump add.u64 %lost, %lost, %step;
  mov.u64 %last, %now;
  sub.u64 %span, %now, %start;
  setp.lt.u64 %more, %span, %duration;
  @%more bra watch;
  st.global.u64 [%out], %gap;
  st.global.u64 [%out+8], %span;
  st.global.u64 [%out+16], %lost;
  ret;
}
.visible .entry assay_hold(.param .u64 result, .param .u64 duration, .param .u64 release,
                           .param .u64 ended, .param .u32 number, .param .u64 addresses,
                           .param .u64 values, .param .u32 count) {
  .reg .u64 %out, %duration, %start, %last, %now, %step, %gap, %lost, %span;
  .reg .u64 %release, %ended, %addresses, %values, %at, %where, %what;
  .reg .u32 %number, %seen, %count, %i, %thread, %threads;
  .reg .pred %follower, %end, %jump;
  ld.param.u64 %out, [result];
  ld.param.u64 %duration, [duration];
  ld.param.u64 %release, [release];
  ld.param.u64 %ended, [ended];
  ld.param.u32 %number, [number];
  ld.param.u64 %addresses, [addresses];
  ld.param.u64 %values, [values];
  ld.param.u32 %count, [count];
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  setp.ne.u32 %follower, %thread, 0;
  @%follower bra wait;
  mov.u64 %gap, 0;
  mov.u64 %lost, 0;
  mov.u64 %start, %globaltimer;
  mov.u64 %last, %start;
watch:
  mov.u64 %now, %globaltimer;
  sub.u64 %step, %now, %last;
  max.u64 %gap, %gap, %step;
  setp.gt.u64 %jump, %step, 20000;
  @%jump add.u64 %lost, %lost, %step;
  mov.u64 %last, %now;
  sub.u64 %span, %now, %start;
  setp.ge.u64 %end, %span, %duration;
  @%end bra told;
  ld.relaxed.sys.u32 %seen, [%release];
  setp.ne.u32 %end, %seen, %number;
  @%end bra watch;
told:
  st.u64 [%out], %gap;
  st.u64 [%out+8], %span;
  st.u64 [%out+16], %lost;
wait:
  bar.sync 0;
  mov.u32 %i, %thread;
  setp.ge.u32 %end, %i, %count;
  @%end bra stored;
store:
  mul.wide.u32 %at, %i, 8;
  add.u64 %where, %addresses, %at;
  ld.u64 %where, [%where];
  add.u64 %what, %values, %at;
  ld.u64 %what, [%what];
  st.u64 [%where], %what;
  add.u32 %i, %i, %threads;
  setp.lt.u32 %end, %i, %count;
  @%end bra store;
stored:
  membar.sys;
  bar.sync 0;
  @%follower bra done;
  st.release.sys.u32 [%ended], %number;
done:
  ret;
}
)";
constexpr unsigned kHoldThreads = 256;

}  // namespace

struct CudaDriver::Table {
  int (*init)(unsigned);
  int (*device_get)(int*, int);
  int (*primary_retain)(void**, int);
  int (*ctx_set_current)(void*);
  int (*error_name)(int, const char**);
  int (*granularity)(size_t*, const AllocationProp*, int);
  int (*mem_create)(uint64_t*, size_t, const AllocationProp*, unsigned long long);
  int (*mem_release)(uint64_t);
  int (*export_handle)(void*, uint64_t, int, unsigned long long);
  int (*import_handle)(uint64_t*, void*, int);
  int (*address_reserve)(DevicePtr*, size_t, size_t, DevicePtr, unsigned long long);
  int (*address_free)(DevicePtr, size_t);
  int (*mem_map)(DevicePtr, size_t, size_t, uint64_t, unsigned long long);
  int (*mem_unmap)(DevicePtr, size_t);
  int (*set_access)(DevicePtr, size_t, const AccessDesc*, size_t);
  int (*module_load)(void**, const void*);
  int (*module_function)(void**, void*, const char*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*ctx_synchronize)();
  int (*mem_alloc)(DevicePtr*, size_t);
  int (*mem_free)(DevicePtr);
  int (*copy_to_host)(void*, DevicePtr, size_t);
  int (*reset_persisting)();
  int (*host_register)(void*, size_t, unsigned);
  int (*host_device_pointer)(DevicePtr*, void*, unsigned);
  int (*wait_value)(void*, DevicePtr, uint32_t, unsigned);
};

Status CudaDriver::Check(int code, const char* what) const {
  if (code == 0) return {};
  const char* name = nullptr;
  if (table_->error_name(code, &name) != 0 || name == nullptr) name = "unknown error";
  return Err(code == 2 ? ErrorCode::kUnavailable : ErrorCode::kIo, "{}: {} ({})", what, name, code);
}

Result<CudaDriver> CudaDriver::Open(int device) {
  static Table table;
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    return Err(ErrorCode::kUnavailable, "no CUDA driver: {}",
               ::dlerror());  // NOLINT(concurrency-mt-unsafe)
  Symbols symbols(library);
  symbols.Require(table.init, "cuInit");
  symbols.Require(table.device_get, "cuDeviceGet");
  symbols.Require(table.primary_retain, "cuDevicePrimaryCtxRetain");
  symbols.Require(table.ctx_set_current, "cuCtxSetCurrent");
  symbols.Require(table.error_name, "cuGetErrorName");
  symbols.Require(table.granularity, "cuMemGetAllocationGranularity");
  symbols.Require(table.mem_create, "cuMemCreate");
  symbols.Require(table.mem_release, "cuMemRelease");
  symbols.Require(table.export_handle, "cuMemExportToShareableHandle");
  symbols.Require(table.import_handle, "cuMemImportFromShareableHandle");
  symbols.Require(table.address_reserve, "cuMemAddressReserve");
  symbols.Require(table.address_free, "cuMemAddressFree");
  symbols.Require(table.mem_map, "cuMemMap");
  symbols.Require(table.mem_unmap, "cuMemUnmap");
  symbols.Require(table.set_access, "cuMemSetAccess");
  symbols.Require(table.module_load, "cuModuleLoadData");
  symbols.Require(table.module_function, "cuModuleGetFunction");
  symbols.Require(table.launch, "cuLaunchKernel");
  symbols.Require(table.ctx_synchronize, "cuCtxSynchronize");
  symbols.Require(table.mem_alloc, "cuMemAlloc_v2");
  symbols.Require(table.mem_free, "cuMemFree_v2");
  symbols.Require(table.copy_to_host, "cuMemcpyDtoH_v2");
  symbols.Require(table.reset_persisting, "cuCtxResetPersistingL2Cache");
  symbols.Require(table.host_register, "cuMemHostRegister_v2");
  symbols.Require(table.host_device_pointer, "cuMemHostGetDevicePointer_v2");
  symbols.Require(table.wait_value, "cuStreamWaitValue32_v2");
  if (const char* missing = symbols.missing(); missing != nullptr)
    return Err(ErrorCode::kUnavailable, "the CUDA driver has no {}: it is too old", missing);

  CudaDriver driver;
  driver.table_ = &table;
  ASSAY_RETURN_IF_ERROR(driver.Check(table.init(0), "cuInit"));
  ASSAY_RETURN_IF_ERROR(driver.Check(table.device_get(&driver.device_, device), "cuDeviceGet"));
  ASSAY_RETURN_IF_ERROR(driver.Check(table.primary_retain(&driver.context_, driver.device_),
                                     "cuDevicePrimaryCtxRetain"));
  ASSAY_RETURN_IF_ERROR(driver.Check(table.ctx_set_current(driver.context_), "cuCtxSetCurrent"));
  return driver;
}

Result<CudaDriver::Segment> CudaDriver::Map(uint64_t handle, size_t bytes, bool writable) {
  Segment segment;
  segment.handle = handle;
  segment.bytes = bytes;
  ASSAY_RETURN_IF_ERROR(
      Check(table_->address_reserve(&segment.address, bytes, 0, 0, 0), "cuMemAddressReserve"));
  ASSAY_RETURN_IF_ERROR(Check(table_->mem_map(segment.address, bytes, 0, handle, 0), "cuMemMap"));
  const AccessDesc access{{1, device_}, writable ? 3 : 1};
  ASSAY_RETURN_IF_ERROR(
      Check(table_->set_access(segment.address, bytes, &access, 1), "cuMemSetAccess"));
  return segment;
}

Result<CudaDriver::Segment> CudaDriver::CreateSegment(size_t bytes) {
  AllocationProp prop{};
  prop.type = 1;
  prop.requested_handle_types = kPosixFd;
  prop.location = {1, device_};
  size_t granularity = 0;
  ASSAY_RETURN_IF_ERROR(
      Check(table_->granularity(&granularity, &prop, 0), "cuMemGetAllocationGranularity"));
  bytes = (bytes + granularity - 1) / granularity * granularity;
  uint64_t handle = 0;
  ASSAY_RETURN_IF_ERROR(Check(table_->mem_create(&handle, bytes, &prop, 0), "cuMemCreate"));
  Result<Segment> segment = Map(handle, bytes, true);
  if (!segment.ok()) {
    table_->mem_release(handle);
    return segment;
  }
  if (Status status = Check(table_->export_handle(&segment->fd, handle, kPosixFd, 0),
                            "cuMemExportToShareableHandle");
      !status.ok()) {
    ReleaseSegment(*segment);
    return status.error();
  }
  return segment;
}

Result<CudaDriver::Segment> CudaDriver::ImportSegment(int fd, size_t bytes, bool writable) {
  uint64_t handle = 0;
  // The driver takes a descriptor in a pointer's place.
  void* os_handle = std::bit_cast<void*>(static_cast<intptr_t>(fd));
  ASSAY_RETURN_IF_ERROR(
      Check(table_->import_handle(&handle, os_handle, kPosixFd), "cuMemImportFromShareableHandle"));
  Result<Segment> segment = Map(handle, bytes, writable);
  if (!segment.ok()) table_->mem_release(handle);
  return segment;
}

void CudaDriver::ReleaseSegment(const Segment& segment) {
  if (segment.address != 0) {
    table_->mem_unmap(segment.address, segment.bytes);
    table_->address_free(segment.address, segment.bytes);
  }
  table_->mem_release(segment.handle);
}

CudaDriver::DevicePtr CudaDriver::Allocate(size_t bytes) {
  DevicePtr address = 0;
  return table_->mem_alloc(&address, bytes) == 0 ? address : 0;
}

void CudaDriver::Free(DevicePtr address) { table_->mem_free(address); }

Result<CudaDriver::DevicePtr> CudaDriver::ShareHost(void* memory, size_t bytes) {
  constexpr size_t kPage = 4096;
  constexpr unsigned kMapped = 2;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  ASSAY_RETURN_IF_ERROR(Check(table_->host_register(memory, bytes, kMapped), "cuMemHostRegister"));
  DevicePtr address = 0;
  ASSAY_RETURN_IF_ERROR(
      Check(table_->host_device_pointer(&address, memory, 0), "cuMemHostGetDevicePointer"));
  return address;
}

Status CudaDriver::WaitValue(void* stream, DevicePtr address, uint32_t value) {
  constexpr unsigned kEqual = 1;
  return Check(table_->wait_value(stream, address, value, kEqual), "cuStreamWaitValue32");
}

Status CudaDriver::LoadKernels() {
  if (hold_kernel_ != nullptr) return {};
  void* module = nullptr;
  ASSAY_RETURN_IF_ERROR(Check(table_->module_load(&module, kPtx), "cuModuleLoadData"));
  ASSAY_RETURN_IF_ERROR(Check(table_->mem_alloc(&quiet_result_, sizeof(Quiet)), "cuMemAlloc"));
  ASSAY_RETURN_IF_ERROR(
      Check(table_->module_function(&quiet_kernel_, module, "assay_quiet"), "cuModuleGetFunction"));
  return Check(table_->module_function(&hold_kernel_, module, "assay_hold"), "cuModuleGetFunction");
}

Result<CudaDriver::Quiet> CudaDriver::WatchQuiet(uint64_t nanoseconds) {
  ASSAY_RETURN_IF_ERROR(LoadKernels());
  void* arguments[] = {&quiet_result_, &nanoseconds};
  ASSAY_RETURN_IF_ERROR(
      Check(table_->launch(quiet_kernel_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            "cuLaunchKernel"));
  return AwaitHold();
}

Status CudaDriver::Hold(uint64_t nanoseconds, DevicePtr release, DevicePtr ended, uint32_t number,
                        const Stores& stores) {
  ASSAY_RETURN_IF_ERROR(LoadKernels());
  DevicePtr addresses = stores.addresses;
  DevicePtr values = stores.values;
  uint32_t count = stores.count;
  void* arguments[] = {&quiet_result_, &nanoseconds, &release, &ended,
                       &number,        &addresses,   &values,  &count};
  return Check(
      table_->launch(hold_kernel_, 1, 1, 1, kHoldThreads, 1, 1, 0, nullptr, arguments, nullptr),
      "cuLaunchKernel");
}

Result<CudaDriver::Quiet> CudaDriver::AwaitHold() {
  Quiet quiet;
  ASSAY_RETURN_IF_ERROR(
      Check(table_->copy_to_host(&quiet, quiet_result_, sizeof quiet), "cuMemcpyDtoH"));
  return quiet;
}

Status CudaDriver::ResetPersistingL2() {
  return Check(table_->reset_persisting(), "cuCtxResetPersistingL2Cache");
}

}  // namespace assay
