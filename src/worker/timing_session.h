#pragma once

#include <optional>
#include <span>
#include <vector>

#include "verdict/records.h"
#include "worker/baseline.h"
#include "worker/seeds.h"

namespace assay {

/// The paired rounds of one submission: candidate and reference, interleaved A B B A on the same
/// fresh inputs, under the device's exclusive lock. After every few pairs the processes' own clocks
/// are read and the interval of the ratio is looked at: precise enough, or on with the next ones.
///
///     both stopped: judge sees the device quiet, writes new inputs, empties the cache, holds it
///       -> go, thaw one ... its calls are queued, the hold ends: the last words of the inputs
///          ... done, stop it                      (outside clock: end of the hold to idle)
///       -> judge sees the device quiet, takes one random output of the candidate to verify
///       -> the same for the other one, on the same inputs
///
/// Between two rounds everything that belongs to the submission is stopped, so new inputs cannot be
/// read, and old outputs cannot be changed, by anything; a kernel still in flight shows in the
/// quiet.
class TimingSession {
 public:
  struct Plan {
    int lane = 0;
    const LaneArena* host_arena = nullptr;  ///< on the CPU, where this process fetches results
    uint32_t slots = 1;                     ///< of the lane's arena
    uint32_t calls = 1;                     ///< per round, as the reference alone suggests
    int outputs = 1;                        ///< tensors that a call returns
    double reference_us = 0;
    bool writes_inputs = false;  ///< the reference does: no call can be made twice
    double call_s = 20;          ///< the least limit of a round
    bool interpreted = false;    ///< Triton's interpreter: few rounds, times mean nothing
    bool hold = true;            ///< rounds start with their calls queued, where the device can
    bool statistical = false;    ///< outputs are random: more rounds are needed to judge them
    bool rare = false;           ///< the task admits the family "rare"
    bool warm = false;           ///< rounds find their inputs in the cache
    uint32_t most_calls = UINT32_MAX;  ///< per round, of either side
  };
  /// `baselines`: prepared ones; their rounds follow those of a pair, on the same inputs.
  TimingSession(Device* device, CandidateSession* candidate, CandidateSession* reference,
                std::span<Baseline* const> baselines, SeedSource* seeds, const Plan& plan)
      : device_(device),
        candidate_(candidate),
        reference_(reference),
        baselines_(baselines.begin(), baselines.end()),
        seeds_(seeds),
        plan_(plan) {}

  /// Fills `record`, which is new, and appends to `flags`. Both sides are loaded and built.
  Outcome Run(TimingRecord* record, Correctness* correctness, std::vector<std::string>* flags);

  /// Calls that Run() set aside and that are still to be verified.
  [[nodiscard]] int set_aside() const { return set_aside_; }

  /// Verifies some of them; the device may be shared again.
  Outcome VerifyKept(TimingRecord* record, Correctness* correctness,
                     std::vector<std::string>* flags);

 private:
  static constexpr uint32_t kFirstCalls = 4;  ///< of the first warm-up round

  Outcome EmptyRounds();
  Outcome Rounds(TimingRecord* record, Correctness* correctness, std::vector<std::string>* flags);
  Outcome Claims(TimingRecord* record, std::vector<std::string>* flags);
  std::vector<uint32_t> RareSlots(uint32_t first, uint32_t calls);
  Outcome Pair(bool candidate_first, RoundClock* candidate, RoundClock* reference);
  Outcome RunCandidate(uint32_t first, uint32_t hold, RoundClock* clock);
  /// `after`: filled if the candidate's round follows, with what is ready for it.
  Outcome RunReference(uint32_t first, uint32_t hold, Quietness* after, RoundClock* clock);
  Outcome RunBaselines(uint32_t first);
  void AddInside(CandidateSession::RoundsReport claims, const std::vector<bool>& kept,
                 std::vector<RoundClock>* rounds) const;
  void ClaimsOf(Baseline* baseline, const Bracket& bracket);
  template <typename Step>
  void ForBaselines(Step step);
  Result<Quietness> Flush(uint32_t first, uint32_t calls, int process);
  Result<Quietness> Look();
  Outcome VerifyOne(uint32_t first, Quietness* quiet);
  Outcome ResultsLost(Quietness* quiet);
  Outcome Verified(const Comparison& result, int count);
  void NoteMismatch(Correctness* correctness, std::vector<std::string>* flags) const;
  [[nodiscard]] Outcome Integrity() const;
  Outcome Enter(CandidateSession* side);
  Outcome Judged(const Result<Quietness>& quiet, int* busy);
  [[nodiscard]] bool TimeToLook(const TimingRecord& record) const;
  [[nodiscard]] bool Enough(const TimingRecord& record) const;
  [[nodiscard]] double ElapsedS() const { return MillisecondsSince(start_) / 1e3; }
  [[nodiscard]] uint32_t CallsFor(const RoundClock& clock) const;
  [[nodiscard]] uint64_t QuietNs() const {
    return device_->cuda() ? device_->limits().quiet_ns : 0;
  }
  [[nodiscard]] Seconds RoundLimit() const;

  Device* const device_;
  CandidateSession* const candidate_;
  CandidateSession* const reference_;
  const std::vector<Baseline*> baselines_;
  SeedSource* const seeds_;
  const Plan plan_;
  uint32_t candidate_calls_ =
      std::min({plan_.calls, kFirstCalls, plan_.most_calls});  ///< per round
  uint32_t reference_calls_ = candidate_calls_;                ///< each side fills its rounds
  TimePoint start_;
  int pair_ = 0;       ///< pairs that were run
  int discarded_ = 0;  ///< ... and not counted, because something disturbed them
  uint64_t hold_ns_ = device_->cuda() && plan_.hold ? device_->limits().hold_ns : 0;
  std::vector<bool> kept_;  ///< of each pair since the clocks were last read: whether it counts
  std::vector<bool> reference_kept_;  ///< the same of each round of the reference, empty ones too
  bool lost_ = false;  ///< a round whose results no longer stood there, which may happen once
  bool void_ = false;  ///< the current one is that
  int verified_ = 0;
  uint32_t verified_call_ = 0;  ///< of the candidate's round in the current pair
  bool verifies_rare_ = false;  ///< whether the first of the current two pairs verifies a rare call
  int set_aside_ = 0;           ///< calls that the judge keeps to verify
  int candidate_busy_ = 0;  ///< times the device was not quiet right after the candidate's round
  int reference_busy_ = 0;  ///< ... after the reference's: others' work, not the candidate's
  double reference_lost_us_ = 0;  ///< the most that others had of a hold before its rounds
  int early_ = 0;                 ///< times the device was busy again once new inputs stood there
  bool disturbed_ = false;        ///< in the current pair
  std::optional<Comparison> mismatch_;
};

}  // namespace assay
