#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace assay {

/// Every limit and default of the engine, with its reason. Times are seconds unless named.
struct Limits {
  // Deadlines. Each phase ends at its own; the submission's process group dies with it.
  double start_s =
      120;  ///< zygote: importing torch from a cold disk takes 5 s, from a network disk far longer
  double warm_s = 60;  ///< a forked process until it is warm: 0.3 s alone, seconds when many start
  double load_s = 60;  ///< import and construction of a Triton or plain torch submission
  double compile_s =
      300;              ///< the same when it compiles C++ or CUDA: torch's headers alone take 50 s
  double build_s = 60;  ///< constructing ModelNew again for a trial
  double call_s = 20;   ///< one round, first Triton compilation included
  double call_factor = 200;  ///< ... or this many times the reference's own time for the round
  double judge_s = 120;      ///< one operation of the judge
  double verify_s = 0.05;    ///< of verifying timed calls, until others may take the device
  double stop_s = 5;         ///< a process until it has stopped after SIGSTOP

  // Check.
  int trials = 5;  ///< hidden-seed trials, each with fresh weights and inputs

  // Time. A round should be long against the scatter of its bracket (the hold's end, changes of
  // context on the device, done, the judge's look: 0.3 ms on an H200, scattered by 15 us; without
  // a hold 1 ms, scattered by 100 us).
  double round_us = 2000;
  int max_calls = 64;                     ///< calls per round; a host queues one in 30 to 70 us
  uint64_t slot_bytes_gpu = 24ull << 30;  ///< inputs and outputs of one round together
  uint64_t slot_bytes_cpu = 256ull << 20;
  /// The same, for calls beyond what the reference needs to fill a round: a candidate may be much
  /// faster.
  uint64_t spare_bytes_gpu = 10ull << 30;
  uint64_t spare_bytes_cpu = 64ull << 20;
  int warm_rounds = 2;  ///< pairs that are run and not counted
  int min_rounds = 4;   ///< pairs between two looks at the interval, and at least
  int max_rounds = 64;
  double target_half_width = 0.01;  ///< of the ratio's 95 % interval: stop when reached
  double target_us = 0.1;           ///< ... or when it is this much of the candidate's time
  double time_budget_s = 0.2;       ///< at a look: stop when spent
  double hard_budget_s = 8;         ///< without waiting for a look (3 pairs are then enough)

  // A watch longer than the driver's time slice (2.1 ms on an H200) cannot miss work of another
  // context: its own kernel is suspended for that context's slice.
  uint64_t quiet_ns = 2'500'000;
  // While it is held, the device is given the calls of a round.
  double gate_s = 0.01;           ///< longer than that no round is waited for
  uint64_t hold_ns = 50'000'000;  ///< a hold that nobody ends
  double held_lost_us = 1500;     ///< of a hold: more than a queue that waits takes from it
  double release_s = 2;           ///< until a hold that was ended has ended
  double quiet_gap_us = 100;      ///< an undisturbed watch shows under 1 us
  double quiet_early_us = 200;    ///< a second look, right after the judge's own work
  double quiet_delay_us = 1500;   ///< launch until start; 70 to 90 us when the GPU is idle

  // Tools that look into a run, after the verdict's timing.
  double tool_s = 60;  ///< one of them, torch's import under it and replays of its kernels included
  size_t tool_output_bytes = 2u << 20;  ///< kept of what it prints: 48 launches of 600 metrics

  // Memory and output.
  uint64_t memory_bytes =
      0;  ///< resident memory of a candidate and its children; 0: half of the machine
  size_t output_bytes = 64u << 10;  ///< kept of stdout and of stderr, each

  // Pool.
  int pool = 2;    ///< warmed candidates kept ready
  int leases = 0;  ///< candidates that will be asked for, where that is known: no more are made
                   ///< ahead of need; 0: not known
  int warm_at_once = 8;  ///< contexts created at once; more gain nothing (the driver serialises)
};

}  // namespace assay
