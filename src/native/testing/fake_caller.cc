// Code that launches: copied into the folders whose code is to be told apart.

#include "native/testing/fakes.h"

extern "C" __attribute__((noinline)) void fake_caller(assay::test::FakeRuntime runtime,
                                                      assay::test::FakeCallback callback,
                                                      const assay::test::FakeLaunch* launch) {
  runtime(callback, launch);
  __asm__ volatile("");
}
