// Acts as CUDA's runtime: what it is asked to launch it asks the driver for.

#include "native/cupti_abi.h"
#include "native/testing/fakes.h"

namespace cupti = assay::cupti;

extern "C" {
// What they return shows that they were called.
int cudaLaunchKernel(const void* /*function*/) { return 11; }
int cuLaunchKernelEx(const void* /*function*/) { return 12; }
}

extern "C" __attribute__((noinline)) void fake_cudart_launch(
    assay::test::FakeCallback callback, const assay::test::FakeLaunch* launch) {
  cupti::CallbackData data{};
  data.parameters = launch->parameters;
  data.correlation = launch->correlation;
  callback(launch->domain, launch->id, &data);
  cupti::CallbackData nested{};
  nested.correlation = launch->nested_correlation;
  if (launch->nested) callback(cupti::kDomainDriver, 307, &nested);
  if (launch->node != nullptr) {
    cupti::GraphData graph{};
    graph.node = launch->node;
    const cupti::ResourceData resource{nullptr, nullptr, &graph};
    callback(cupti::kDomainResource, cupti::kGraphNodeCreated, &resource);
  }
  nested.site = 1;
  if (launch->nested) callback(cupti::kDomainDriver, 307, &nested);
  data.site = 1;
  callback(launch->domain, launch->id, &data);
  __asm__ volatile("");
}
