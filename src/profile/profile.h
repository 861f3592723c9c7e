#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// Kernels that are alike in name, shape, memory and stream.
struct ProfiledKernel {
  std::string name;
  bool own = false;   ///< defined by the submission
  int64_t calls = 0;  ///< launches
  double us = 0;      ///< all of them together
  std::array<int64_t, 3> grid{};
  std::array<int64_t, 3> block{};
  int64_t registers = 0;  ///< of a thread
  int64_t static_shared = 0;
  int64_t dynamic_shared = 0;
  int64_t stream = 0;
};

/// What the device did in a number of a submission's calls, as its own process recorded it: checked
/// for sense, but a claim. Good for shaping a reward and for notes; it never raises what is paid.
struct Profile {
  int64_t calls = 0;
  // Sums over the calls, in microseconds of the device's time.
  double own_us = 0;      ///< kernels that the submission defines
  double library_us = 0;  ///< kernels of installed libraries
  double unknown_us = 0;  ///< kernels that nothing shows the owner of; they count as others'
  double copy_us = 0;     ///< copies and fills
  int64_t own_launches = 0;
  int64_t library_launches = 0;
  int64_t unknown_launches = 0;
  int64_t copies = 0;
  int64_t own_kernels = 0;    ///< distinct ones
  int64_t other_kernels = 0;  ///< the same of all others, with copies and fills
  double busy_us = 0;         ///< of the calls' span, something ran
  double span_us = 0;         ///< first begin to last end; what is not busy waits for the host
  int64_t dropped = 0;        ///< records that were lost
  int64_t left_out = 0;       ///< lines missing in `kernels`
  std::vector<ProfiledKernel> kernels;  ///< the longest first
};

inline constexpr size_t kMaxProfiledKernels = 48;

/// Reads what a candidate's process says. kProtocol: it is not such a report, contradicts itself
/// (kernels of more time than there was, busy for longer than it lasted), or holds numbers that no
/// device gives.
Result<Profile> ReadProfile(const json::object& report);

/// Shares in [0, 1] of the submission's own kernels in all that the device did; nothing where it
/// did nothing.
std::optional<double> CoverageTime(const Profile& profile);
std::optional<double> CoverageCount(const Profile& profile);

/// Own kernels below this share of the time are a decoy.
inline constexpr double kDecoyShare = 0.01;
/// Libraries above this share do a part of the work.
inline constexpr double kLibraryShare = 0.05;

/// What the work of one call needs, and what the card can do; 0 where unknown.
struct ProfileScale {
  double required_bytes = 0;
  double required_flops = 0;
  double peak_gbs = 0;     ///< of the card's memory
  double peak_tflops = 0;  ///< of its vector units, in the precision of the task
};

/// The `profile` member of a verdict. Rates are what the task needs over the time in which the
/// device was busy with a call.
json::object ToJson(const Profile& profile, const ProfileScale& scale);
/// The same where there is none: every figure null, and why.
json::object NoProfileJson(std::string_view reason);

/// "3 kernels: 2 own (97.1 % of the time), 1 of libraries; busy 88 % of 120 us a call"
std::string ProfileText(const Profile& profile);

}  // namespace assay
