// An NVML for tests: two cards, of which the second runs as the test says.

#include <cstdio>
#include <cstring>

extern "C" {

unsigned fake_nvml_clock_mhz = 1980;
unsigned long long fake_nvml_reasons = 0;
int fake_nvml_opened = 0;  // nvmlInit less nvmlShutdown

int nvmlInit_v2() { return ++fake_nvml_opened > 0 ? 0 : 1; }
int nvmlShutdown() { return --fake_nvml_opened >= 0 ? 0 : 1; }
const char* nvmlErrorString(int code) { return code == 2 ? "Invalid Argument" : "Unknown"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static char cards[2];
  if (index >= 2) return 2;
  *device = &cards[index];
  cards[index] = static_cast<char>('0' + index);
  return 0;
}

static char Number(void* device) {
  char number = 0;
  std::memcpy(&number, device, 1);
  return number;
}

int nvmlDeviceGetName(void*, char* text, unsigned size) {
  return std::snprintf(text, size, "Fake Card") > 0 ? 0 : 1;
}
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  return std::snprintf(text, size, "GPU-%c", Number(device)) > 0 ? 0 : 1;
}
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return std::snprintf(text, size, "580.0") > 0 ? 0 : 1;
}
int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return 0;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* number) {
  *number = Number(device) == '1' ? 5 : 4;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* memory) {
  memory[0] = 150ull << 30;
  memory[1] = 140ull << 30;
  memory[2] = 10ull << 30;
  return 0;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  if (type != 1) return 2;
  *mhz = Number(device) == '1' ? fake_nvml_clock_mhz : 100;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = Number(device) == '1' ? fake_nvml_reasons : 1;
  return 0;
}
}
