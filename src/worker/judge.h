#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "roofline/card.h"
#include "roofline/work.h"
#include "task/task.h"
#include "worker/zygote.h"

namespace assay {

/// Families of inputs that the engine asks for by name; families.py describes them.
inline constexpr const char* kNativeFamily = "native";
inline constexpr const char* kRareFamily = "rare";

/// What a task needs and gives, as measured once on this device.
struct TaskShape {
  uint64_t input_bytes = 0;
  uint64_t output_bytes = 0;
  uint64_t state_bytes = 0;
  double reference_us = 0;
  int forward_inputs = -1;
  int outputs = 1;             ///< tensors that a call returns
  bool writes_inputs = false;  ///< the reference does
  int draws = 0;  ///< calls on the same inputs that a trial takes because outputs are random; 0:
                  ///< none are
  bool general_shapes = false;   ///< the task asks for other sizes of its inputs, too
  bool constant_inputs = false;  ///< one of them is, and large
  bool same_inputs = false;      ///< the task's own inputs are the same from every seed
  std::string precision;         ///< of float32 matrix work: "default", "ieee", "tf32"
  /// Families of inputs that trials may use; the task's own come first.
  std::vector<std::string> families = {kNativeFamily};
  std::optional<Work> work;  ///< what it must move and compute, where it could be traced

  [[nodiscard]] bool Admits(std::string_view family) const {
    return std::find(families.begin(), families.end(), family) != families.end();
  }
};

/// A lane's shared memory and the description that a candidate needs to use it.
struct LaneArena {
  json::object load;  ///< members of the candidate's `load` request
  UniqueFd inputs;
  UniqueFd outputs;
  UniqueFd reference_outputs;              ///< never given to a candidate
  std::vector<UniqueFd> baseline_outputs;  ///< ... nor are these
  bool results_stay = true;  ///< those of timed rounds are read where a process has them
};

/// What a lane is to have.
struct LaneNeeds {
  uint32_t slots = 1;
  bool warm = false;     ///< rounds find their inputs in the cache
  size_t baselines = 0;  ///< that outputs are made for
  uint64_t bytes = 0;    ///< of device memory that is set aside for it
  bool frugal = false;   ///< the judge keeps no memory beside what it must
  /// Device memory for all lanes: what they leave of it, the judge may keep.
  uint64_t budget_bytes = 0;
};

/// One comparison.
struct Comparison {
  bool passed = false;
  bool inputs_changed = false;  ///< somebody wrote what only the judge may write
  std::string outside;  ///< not empty: the outputs are said to stand where they cannot stand
  double max_abs_err = 0;
  double max_rel_err = 0;
  double mismatch_fraction = 0;
  double tolerance = 0;
  std::string reference;
  std::string pattern;
  int bad_output = -1;  ///< -1: no single element
  std::vector<int64_t> bad_index;
  double got = 0;
  double expected = 0;
  std::optional<double> bits;  ///< that agree with float64, where that was computed
  std::optional<double> reference_bits;
  std::optional<bool> kernelbench;  ///< what KernelBench's check says
  double kernelbench_tolerance = 0;
};

/// A call that was set aside to be verified later.
struct KeptCall {
  bool kept = false;    ///< else it is to be verified at once
  std::string outside;  ///< as in Comparison
};

/// Numbers of the processes that a lane's arena is for; those of the baselines follow.
inline constexpr int kCandidateProcess = 0;
inline constexpr int kReferenceProcess = 1;
inline constexpr int kFirstBaseline = 2;

/// Where a process says that one call's outputs stand.
struct ResultPlaces {
  std::vector<int64_t> places;   ///< of each output, -1: in its slot
  std::vector<int64_t> strides;  ///< of each output, ControlPage::kMaxDims a piece
};

/// How quiet the device was just before an operation, see CudaDriver::WatchQuiet.
struct Quietness {
  double gap_us = 0;
  double delay_us = 0;
  double after_us = 0;      ///< lateness of a second look, after new inputs were written
  double held_us = 0;       ///< length of the hold that ended before this; 0: none did
  double held_lost_us = 0;  ///< ... and how much of it others had the device for
  uint32_t hold = 0;        ///< number of the hold that began with the reply; 0: none
  TimePoint idle;           ///< when earlier work of others was over; the epoch where nobody looked
};

/// The worker's side of the judge process. Thread-safe: operations are served one at a time. An
/// Error here is always infrastructure. A judge that died is replaced by the next Restart().
class Judge {
 public:
  Judge(Zygote* zygote, const Limits& limits) : zygote_(zygote), limits_(limits) {}

  /// (Re)starts the process unless it runs.
  Status EnsureRunning();
  /// Of the device's last cache; 0: not known. Once it runs.
  [[nodiscard]] uint64_t l2_bytes() const { return l2_bytes_; }

  /// `precision`: see Modes.
  Result<TaskShape> Examine(int lane, const Task& task, const std::string& size,
                            const std::string& precision = {});
  /// Tries which trivial programs pass an examined task, as an `assay.task_health/1` object without
  /// the task's names. Takes a dozen runs of the reference in each family of inputs.
  Result<json::object> Screen(const Task& task, const std::string& size, double limit_s);
  /// Tries in which precisions the task's matrix work passes the numeric rule. Takes a few runs of
  /// the reference; the work of later Examine() calls for this task says what was found.
  Status TryPrecisions(const Task& task, const std::string& size, const std::string& precision);
  /// What the device says of itself; not for a processor.
  Result<DeviceFacts> Facts();
  Result<LaneArena> Open(int lane, const LaneNeeds& needs);
  /// Smaller inputs that the reference accepts, as CandidateSession::BeginRounds takes them and
  /// Fill draws them in the family "jittered"; empty where it accepts none.
  /// A task whose trying fails is not tried again: a wild index costs the judge its context.
  Result<json::object> Shapes(int lane, const std::string& task_sha256);
  Status Weights(int lane, uint64_t seed);
  /// New inputs in the slots from `first`. After the reply the judge occupies the device until
  /// Release(), for `hold_ns` at most; only at the end of that are the inputs complete. `family`:
  /// one of the task's families of inputs. `rare`: the slots whose inputs are of kRareFamily.
  /// `process`: whose round comes next.
  Result<Quietness> Fill(int lane, uint32_t first, std::span<const uint64_t> seeds,
                         uint64_t quiet_ns, uint64_t hold_ns,
                         std::string_view family = kNativeFamily,
                         std::span<const uint32_t> rare = {}, int process = kCandidateProcess);
  /// The same without new inputs: `calls` slots from `first` are read by the next round, maybe
  /// none.
  Result<Quietness> Flush(int lane, uint32_t first, uint32_t calls, uint64_t quiet_ns,
                          uint64_t hold_ns, int process = kCandidateProcess);
  /// Ends hold number `hold` and waits until it has ended.
  Status Release(uint32_t hold);
  /// Lets the judge look at the device at once: the round that began with `hold` is done.
  void AskForLook(uint32_t hold);
  /// Computes what Verify() with `exact` will compare a slot's outputs with, for the last inputs
  /// and weights. Takes the memory of that until then.
  Status Expect(int lane, uint32_t slot);
  /// `results`: where the call's outputs stand in the outputs' memory; empty: all in their slots.
  Result<Comparison> Verify(int lane, uint32_t slot, const ResultPlaces& results, bool exact,
                            uint64_t quiet_ns, Quietness* quiet);
  /// Between two processes of one submission, while none has it: nothing that one wrote is there
  /// for the other.
  Status EraseOutputs(int lane);
  /// Notes the outputs in a slot, then says whether those of a second call have the same bits.
  Status Remember(int lane, uint32_t slot);
  Result<bool> Repeated(int lane, uint32_t slot);
  /// Sets aside what Verify() would compare, for VerifyKept().
  Result<KeptCall> Keep(int lane, uint32_t slot, const ResultPlaces& results, uint64_t quiet_ns,
                        Quietness* quiet);
  /// Verifies calls that were set aside, one at least, for `limit`: the first wrong one, or else
  /// the last. How many there were goes to `count`; an Error where there is none left.
  Result<Comparison> VerifyKept(int lane, Seconds limit, int* count);
  /// For a task with random outputs: `count` calls on the same inputs, in the slots from `first`.
  /// The comparison follows with the `last` of a trial; until then what it says has passed.
  Result<Comparison> VerifyDraws(int lane, uint32_t first, uint32_t count, bool last);
  /// `unshared`: no candidate that mapped the lane's memory runs any more, so that the judge may
  /// keep it for another.
  Status Close(int lane, bool unshared);

 private:
  Result<Message> Call(const json::object& request);

  Zygote* const zygote_;
  const Limits limits_;
  std::mutex mutex_;
  std::unique_ptr<RuntimeProcess> process_;
  std::atomic<uint64_t> l2_bytes_{0};
  std::mutex untried_mutex_;
  std::set<std::string> untried_;  ///< sha256 of tasks whose shapes cannot be tried
};

}  // namespace assay
