// Acts as a submission's extension: launches through CUDA's interfaces, directly and by a pointer.

extern "C" {
int cudaLaunchKernel(const void* function);
int cuLaunchKernelEx(const void* function);

int fake_extension_run() { return cudaLaunchKernel(nullptr); }
int fake_extension_run_by_pointer() {
  int (*volatile launch)(const void*) = &cuLaunchKernelEx;
  return launch(nullptr);
}
}
