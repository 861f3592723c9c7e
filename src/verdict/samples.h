#pragma once

#include <string_view>

#include "verdict/records.h"

namespace assay::test {

/// A correct, timed submission: 64 calls a round, 20 rounds, about 2.3 times the reference's speed.
inline Records CorrectRecords() {
  Records records;
  records.id = "sub_0123456789abcdef0123";
  records.task_id = "kb/l1/023";
  records.task_sha256 = std::string(64, 'a');
  records.submission_sha256 = std::string(64, 'b');
  records.lint.uses_triton = true;
  records.compiled = true;
  records.correctness = {.trials = 5,
                         .passed = 5,
                         .max_abs_err = 1.1920928955e-06,
                         .max_rel_err = 3.4567891234e-05,
                         .mismatch_fraction = 0,
                         .first_bad = std::nullopt,
                         .pattern = "",
                         .atol = 1e-4,
                         .rtol = 1e-4,
                         .reference = "float64",
                         .weights = "copied",
                         .effective_bits = 21.512345,
                         .reference_bits = 22.25};
  records.kernelbench = {.trials = 3, .passed = 3, .tolerance = 1e-4};
  records.timing.measured = true;
  records.timing.method = "rounds/device-events";
  records.timing.rounds_verified = 12;
  for (int i = 0; i < 20; ++i) {
    const auto round = [](double time, double drift) {
      return RoundClock{.calls = 64,
                        .outside_us = 64 * (time + 0.25) * drift + 640,
                        .overhead_us = 640,
                        .inside_us = std::vector<double>(64, time * drift)};
    };
    records.timing.candidate.push_back(round(52.25, 1 + 0.002 * (i % 5)));
    records.timing.reference.push_back(round(120.75, 1 + 0.003 * (i * 7 % 6)));
    records.timing.clocks.push_back({.sm_mhz = i < 3 ? 1965u : 1980u, .throttle_reasons = 0});
  }
  records.roofline = {.bound_us = 27.9620267,
                      .calibrated_us = 33.14159265,
                      .fraction = 0,
                      .limiter = "memory",
                      .precision = "",
                      .source = "calibrated",
                      .bytes = 134217728,
                      .fusion_gain = 2.5,
                      .traffic_us = 27.9620267};
  records.phases_ms = {{"lint", 0.41234567}, {"load", 312.5}, {"check", 120.25}, {"time", 402}};
  records.stdout_text = "autotune: picked BLOCK=1024\n";
  records.environment = {{"gpu", "NVIDIA H200"},  {"driver", "580.65.06"}, {"torch", "2.11.0"},
                         {"triton", "3.6.0"},     {"python", "3.12.3"},    {"sandbox", "full"},
                         {"sm_clock_mhz", 1980.0}};
  return records;
}

/// A profile of that submission: one own kernel and a copy.
inline NcuRecord SampleNcu() {
  return {.summary = NcuSummary{.kernels = {{.name = "relu_kernel",
                                             .launches = 1,
                                             .us = 49.5,
                                             .compute_pct = 12.25,
                                             .memory_pct = 91.5,
                                             .dram_pct = 90.75,
                                             .occupancy_pct = 61,
                                             .occupancy_most = 62.5,
                                             .occupancy_limit = "registers",
                                             .registers = 42,
                                             .stalls = {{"long scoreboard", 0.8125}}}},
                                .left_out = 0},
          .reason = ""};
}

inline SanitizerRecord SampleSanitizer() {
  return {.tool = "memcheck",
          .report =
              SanitizerReport{
                  .findings = {{.kind = "out_of_bounds",
                                .kernel = "relu_kernel",
                                .message = "Invalid __global__ read of size 4 bytes; Access at "
                                           "0x7f6c1ba00200 is out of bounds",
                                .file = "submission.py",
                                .line = 23,
                                .count = 17}},
                  .left_out = 0,
                  .errors = 17},
          .reason = ""};
}

inline ProfileRecord SampleProfile() {
  Profile profile;
  profile.calls = 8;
  profile.own_us = 400;
  profile.copy_us = 20;
  profile.own_launches = 8;
  profile.copies = 8;
  profile.own_kernels = 1;
  profile.other_kernels = 1;
  profile.busy_us = 420.5;
  profile.span_us = 480.5;
  profile.kernels = {{.name = "relu_kernel",
                      .own = true,
                      .calls = 8,
                      .us = 400,
                      .grid = {4096, 1, 1},
                      .block = {128, 1, 1},
                      .registers = 24,
                      .static_shared = 0,
                      .dynamic_shared = 2048,
                      .stream = 7}};
  return {.profile = profile,
          .reason = "",
          .scale = {.required_bytes = 134217728,
                    .required_flops = 16777216,
                    .peak_gbs = 4800,
                    .peak_tflops = 66.9}};
}

/// The same submission stopped by a failure before it was timed.
inline Records FailedRecords(FailureKind kind, Stage stage, std::string_view name,
                             std::string_view message, int line = 0) {
  Records records = CorrectRecords();
  records.timing = {};
  records.compiled = stage > Stage::kLoad;
  if (stage <= Stage::kCheck) records.correctness = {};
  records.failure.kind = kind;
  records.failure.stage = stage;
  records.failure.name = name;
  records.failure.message = message;
  records.failure.line = line;
  records.kernelbench.reset();
  records.phases_ms = {{"lint", 0.4}, {"load", 312.5}};
  return records;
}

inline Records IncorrectRecords() {
  Records records = FailedRecords(FailureKind::kMismatch, Stage::kCheck, "values",
                                  "outputs differ from the reference's");
  records.correctness = {
      .trials = 5,
      .passed = 3,
      .max_abs_err = 0.51234567,
      .max_rel_err = 1.0,
      .mismatch_fraction = 0.0078125,
      .first_bad = BadElement{.output = 0, .index = {15, 1016}, .got = 0, .expected = 0.51234567},
      .pattern = "tail elements wrong",
      .atol = 1e-4,
      .rtol = 1e-4,
      .reference = "float64",
      .weights = "none"};
  return records;
}

inline Records CompileErrorRecords() {
  return FailedRecords(
      FailureKind::kCompileError, Stage::kLoad, "nvcc",
      "ninja: building\n"
      "/tmp/assay-7f3a/ext/submission.py(41): error: identifier \"blockIdxx\" is undefined\n"
      "/tmp/assay-7f3a/ext/submission.py(41): error: identifier \"blockIdxx\" is undefined\n"
      "/usr/local/cuda/include/cuda_fp16.h(12): warning: unused variable\n"
      "/tmp/assay-7f3a/ext/cuda.cu:52:9: error: expected ';' before 'return'\n"
      "2 errors detected in the compilation of \"/tmp/assay-7f3a/ext/cuda.cu\".\n",
      41);
}

inline Records TimeoutRecords() {
  Records records = FailedRecords(FailureKind::kDeadline, Stage::kCheck, "deadline", "");
  records.failure.limit_s = 30;
  return records;
}

inline Records CheatRecords() {
  Records records = FailedRecords(FailureKind::kIntegrity, Stage::kTime, "late_write",
                                  "an output changed after its round had ended");
  records.flags = {"child_processes"};
  return records;
}

inline Records InfraRecords() {
  return FailedRecords(FailureKind::kInfrastructure, Stage::kCheck, "judge_died",
                       "the judge ended with signal 9 (Killed)");
}

}  // namespace assay::test
