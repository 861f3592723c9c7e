#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "native/cupti_library.h"
#include "native/device_work.h"
#include "native/launch_owner.h"

namespace assay {

/// Records what the device does for this process, and whose code asked for it. One at a time in a
/// process, since CUPTI takes one subscriber; nothing of it works or costs before Attach().
///
/// Two things come together. Activity records say what ran, when, and with which correlation
/// number, or in which node of a graph. Callbacks at the entry points that launch kernels say who
/// asked for that number: the nearest code on the stack that is none of CUDA's own layers. A launch
/// during the capture of a graph makes a node, to which a later replay's records refer.
///
///     Attach() --> [warm-up: launches are attributed]
///       --> Start(kAttributed), calls, Stop()     who: each launch pays for the look at its stack
///       --> Start(kFree), calls, Stop()           when: times and gaps without that
///       --> Report() --> destruction
///
/// What it says is this process's claim: any native code in it could forge the records.
class CuptiTracer {
 public:
  /// `paths`: libraries to try, see CuptiLibrary::Open. Needs an initialised driver. kUnavailable
  /// with CUPTI's own words.
  static Result<std::unique_ptr<CuptiTracer>> Attach(std::span<const std::string> paths,
                                                     LaunchRules rules);
  ~CuptiTracer();
  CuptiTracer(const CuptiTracer&) = delete;
  CuptiTracer& operator=(const CuptiTracer&) = delete;

  enum Window { kAttributed, kFree };
  /// Begins a window anew. The device must be idle here and at Stop().
  Status Start(Window window);
  Status Stop();

  /// Both windows: SumUp() of the first, and of the second "busy_us", "span_us" and
  /// "free_records"; "dropped" records, "library", and "callers": who asked for how many launches.
  [[nodiscard]] json::object Report(const KnownFunctions& known, uint32_t calls) const;

 private:
  struct Recorded {
    DeviceWork work;
    uint32_t correlation = 0;
    uint64_t node = 0;
  };
  struct Caller {
    Owner owner = Owner::kUnknown;
    int64_t launches = 0;
  };
  static constexpr size_t kMaxRecords = 1u << 16;
  static constexpr size_t kMaxLaunches = 1u << 17;
  static constexpr size_t kMaxNames = 1u << 12;
  static constexpr size_t kMaxNameBytes = 1u << 12;
  static constexpr size_t kMaxCallers = 32;

  CuptiTracer(CuptiLibrary library, LaunchRules rules)
      : library_(std::move(library)), rules_(std::move(rules)) {}
  Status Subscribe();
  Status Attribute(bool on);
  static void OnCallback(void* self, uint32_t domain, uint32_t id, const void* data);
  static void OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records);
  static void OnBufferCompleted(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                                size_t valid);
  void OnLaunch(const cupti::LaunchCall& call, const cupti::CallbackData& data);
  void OnGraphNode(uint32_t id, const cupti::GraphData& graph);
  void OnRecords(uint8_t* buffer, size_t valid);
  void Record(const cupti::Activity& record);
  Owner FindCaller(bool driver);
  [[nodiscard]] std::vector<DeviceWork> Owned(const KnownFunctions& known) const;

  const CuptiLibrary library_;
  const LaunchRules rules_;
  cupti::Subscriber subscriber_ = nullptr;
  bool attributing_ = false;
  bool recording_ = false;

  mutable std::mutex mutex_;  ///< guards what follows: callbacks come on any thread
  Window window_ = kAttributed;
  std::vector<Recorded> records_[2];
  std::set<std::string, std::less<>> names_;
  std::unordered_map<uint32_t, Launch> launches_;  ///< by correlation
  std::unordered_map<uint64_t, Launch> nodes_;     ///< by graph node
  std::map<std::string, Caller> callers_;
  int64_t dropped_ = 0;

  static std::atomic<CuptiTracer*> current_;
};

}  // namespace assay
