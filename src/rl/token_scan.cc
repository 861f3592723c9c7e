#include "rl/token_scan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "rl/mismatch.h"
#include "rl/parallel.h"
#include "rl/simd.h"

namespace assay::rl {
namespace {

using simd::F64;
using simd::I64;
using simd::kLanes;

struct Lanes {
  F64 x;      // log rho, 0 where not population
  F64 train;  // 0 where not population
  F64 rollout;
  F64 rho;    // 1 where not population
  I64 valid;  // -1 on population tokens
};

template <typename T>
[[gnu::always_inline]] inline void LoadLanes(Lanes& lanes, const T* train, const T* rollout,
                                             const TokenState* state) {
  I64 s;
  simd::Load(s, state);
  lanes.valid = (s != 0) & ((s & int64_t{kVoid}) == 0);
  const F64 zero = {};
  F64 value;
  simd::Load(value, train);
  simd::Select(lanes.train, lanes.valid, value, zero);
  simd::Load(value, rollout);
  simd::Select(lanes.rollout, lanes.valid, value, zero);
  lanes.x = lanes.train - lanes.rollout;
  F64 limit;
  simd::Splat(limit, kSafety);
  F64 limited;
  simd::Min(limited, lanes.x, limit);
  simd::Max(limited, limited, -limit);
  simd::Exp(lanes.rho, limited);
}

[[gnu::always_inline]] inline double Sum(const F64& v) { return (v[0] + v[1]) + (v[2] + v[3]); }
[[gnu::always_inline]] inline int64_t Sum(const I64& v) { return v[0] + v[1] + v[2] + v[3]; }

/// Calls step(train, rollout, state) for each group of four tokens that holds a response token;
/// the last, incomplete group is padded with non-response tokens. Returns nothing.
template <typename T, typename Step>
[[gnu::always_inline]] inline void ForLanes(const T* train, const T* rollout,
                                            const TokenState* state, int64_t n, const Step& step) {
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    uint32_t any;
    std::memcpy(&any, state + j, sizeof(any));
    if (any != 0) step(train + j, rollout + j, state + j);
  }
  if (j == n) return;
  T last_train[kLanes] = {};
  T last_rollout[kLanes] = {};
  TokenState last_state[kLanes] = {};
  std::copy(train + j, train + n, last_train);
  std::copy(rollout + j, rollout + n, last_rollout);
  std::copy(state + j, state + n, last_state);
  step(last_train, last_rollout, last_state);
}

template <int kWeights, typename T>
[[gnu::always_inline]] inline void ScanRow(const T* train, const T* rollout,
                                           const TokenState* state, int64_t n,
                                           const ScanBounds& bounds, RowScan& out) {
  F64 sum_log = {};
  F64 sum_train = {};
  F64 sum_rollout = {};
  F64 sum_rho = {};
  F64 sum_rho2 = {};
  F64 min_log;
  F64 max_log;
  simd::Splat(min_log, std::numeric_limits<double>::infinity());
  simd::Splat(max_log, -std::numeric_limits<double>::infinity());
  const F64 none_min = min_log;
  const F64 none_max = max_log;
  const F64 zero = {};
  I64 count = {};
  I64 catastrophic = {};
  I64 outside = {};
  F64 limited_sum[2] = {};
  F64 limited_sum2[2] = {};
  I64 above[2] = {};
  I64 below[2] = {};
  ForLanes(train, rollout, state, n, [&](const T* t, const T* r, const TokenState* s) {
    Lanes lanes;
    LoadLanes(lanes, t, r, s);
    F64 rho;
    simd::Select(rho, lanes.valid, lanes.rho, zero);
    sum_log += lanes.x;
    sum_train += lanes.train;
    sum_rollout += lanes.rollout;
    sum_rho += rho;
    sum_rho2 += rho * rho;
    F64 bounded;
    simd::Select(bounded, lanes.valid, lanes.x, none_min);
    simd::Min(min_log, bounded, min_log);
    simd::Select(bounded, lanes.valid, lanes.x, none_max);
    simd::Max(max_log, bounded, max_log);
    count += lanes.valid;
    catastrophic += lanes.valid & (lanes.x < bounds.log_veto);
    outside += lanes.valid & ((rho < bounds.band_lower) | (rho > bounds.band_upper));
    for (int k = 0; k < kWeights; ++k) {
      F64 low;
      F64 high;
      simd::Splat(low, bounds.clamp_lower[k]);
      simd::Splat(high, bounds.clamp_upper[k]);
      above[k] += lanes.valid & (rho > high);
      below[k] += lanes.valid & (rho < low);
      F64 w;
      simd::Max(w, rho, low);
      simd::Min(w, w, high);
      simd::Select(w, lanes.valid, w, zero);
      limited_sum[k] += w;
      limited_sum2[k] += w * w;
    }
  });
  out.n = -Sum(count);
  out.sum_log = Sum(sum_log);
  out.sum_train = Sum(sum_train);
  out.sum_rollout = Sum(sum_rollout);
  out.sum_rho = Sum(sum_rho);
  out.sum_rho2 = Sum(sum_rho2);
  out.min_log = std::min({min_log[0], min_log[1], min_log[2], min_log[3]});
  out.max_log = std::max({max_log[0], max_log[1], max_log[2], max_log[3]});
  out.catastrophic = -Sum(catastrophic);
  out.outside_band = -Sum(outside);
  for (int k = 0; k < kWeights; ++k) {
    out.limited[k] = {Sum(limited_sum[k]), Sum(limited_sum2[k]), -Sum(above[k]), -Sum(below[k])};
  }
}

struct RejectPlan {
  ScanBounds bounds;
  bool mismatch = false;
  bool veto = false;
};

template <typename T>
[[gnu::always_inline]] inline void RejectRow(const T* train, const T* rollout, TokenState* state,
                                             int64_t n, const RejectPlan& plan) {
  for (int64_t j = 0; j < n; j += kLanes) {
    const int64_t lanes_here = std::min<int64_t>(kLanes, n - j);
    ForLanes(train + j, rollout + j, state + j, lanes_here,
             [&](const T* t, const T* r, const TokenState* s) {
               Lanes lanes;
               LoadLanes(lanes, t, r, s);
               const ScanBounds& b = plan.bounds;
               const I64 band = (lanes.rho < b.band_lower) | (lanes.rho > b.band_upper);
               const I64 ratio = (lanes.rho < b.clamp_lower[0]) | (lanes.rho > b.clamp_upper[0]);
               const I64 veto = lanes.x < b.log_veto;
               I64 reasons = band & int64_t{kBand};
               if (plan.mismatch) reasons |= ratio & int64_t{kMismatch};
               if (plan.veto) reasons |= veto & int64_t{kVeto};
               reasons &= lanes.valid;
               for (int64_t k = 0; k < lanes_here; ++k) {
                 state[j + k] = Rejected(state[j + k], static_cast<TokenState>(reasons[k]));
               }
             });
  }
}

template <typename T>
[[gnu::always_inline]] inline void WeighRow(const T* train, const T* rollout,
                                            const TokenState* state, int64_t n, double upper,
                                            T* weights) {
  std::fill(weights, weights + n, T{0});
  for (int64_t j = 0; j < n; j += kLanes) {
    const int64_t lanes_here = std::min<int64_t>(kLanes, n - j);
    ForLanes(train + j, rollout + j, state + j, lanes_here,
             [&](const T* t, const T* r, const TokenState* s) {
               Lanes lanes;
               LoadLanes(lanes, t, r, s);
               F64 limit;
               simd::Splat(limit, upper);
               F64 w;
               simd::Min(w, lanes.rho, limit);
               simd::Select(w, lanes.valid, w, F64{});
               for (int64_t k = 0; k < lanes_here; ++k) weights[j + k] = static_cast<T>(w[k]);
             });
  }
}

// Each kernel is compiled twice, for the baseline and for AVX2, and chosen at run time.
#if defined(__x86_64__)
#define ASSAY_AVX2 [[gnu::target("avx2")]]
bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
#define ASSAY_AVX2
bool HasAvx2() { return false; }
#endif

#define ASSAY_TWO_TARGETS(NAME, BODY, PARAMETERS, ...)              \
  template <typename T>                                             \
  void NAME##Base PARAMETERS {                                      \
    BODY(__VA_ARGS__);                                              \
  }                                                                 \
  template <typename T>                                             \
  ASSAY_AVX2 void NAME##Avx2 PARAMETERS {                           \
    BODY(__VA_ARGS__);                                              \
  }                                                                 \
  template <typename T>                                             \
  void NAME PARAMETERS {                                            \
    static const bool avx2 = HasAvx2();                             \
    avx2 ? NAME##Avx2<T>(__VA_ARGS__) : NAME##Base<T>(__VA_ARGS__); \
  }

ASSAY_TWO_TARGETS(Scan0, ScanRow<0>,
                  (const T* train, const T* rollout, const TokenState* state, int64_t n,
                   const ScanBounds& bounds, RowScan& out),
                  train, rollout, state, n, bounds, out)
ASSAY_TWO_TARGETS(Scan2, ScanRow<2>,
                  (const T* train, const T* rollout, const TokenState* state, int64_t n,
                   const ScanBounds& bounds, RowScan& out),
                  train, rollout, state, n, bounds, out)
ASSAY_TWO_TARGETS(Reject, RejectRow,
                  (const T* train, const T* rollout, TokenState* state, int64_t n,
                   const RejectPlan& plan),
                  train, rollout, state, n, plan)
ASSAY_TWO_TARGETS(Weigh, WeighRow,
                  (const T* train, const T* rollout, const TokenState* state, int64_t n,
                   double upper, T* weights),
                  train, rollout, state, n, upper, weights)

#undef ASSAY_TWO_TARGETS
#undef ASSAY_AVX2

}  // namespace

template <typename T>
std::vector<RowScan> ScanRows(const Tokens<T>& tokens, std::span<const TokenState> state,
                              const ScanBounds& bounds, int token_weights) {
  const auto& offsets = tokens.offsets;
  std::vector<RowScan> rows(offsets.size() - 1);
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const int64_t at = offsets[row];
      const auto scan = token_weights == 0 ? Scan0<T> : Scan2<T>;
      scan(tokens.logp_train.data() + at, tokens.logp_rollout.data() + at, state.data() + at,
           offsets[row + 1] - at, bounds, rows[row]);
    }
  });
  return rows;
}

template <typename T>
void RejectTokens(const Tokens<T>& tokens, const ScanBounds& bounds, bool mismatch, bool veto,
                  std::span<TokenState> state) {
  const auto& offsets = tokens.offsets;
  const RejectPlan plan{bounds, mismatch, veto};
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const int64_t at = offsets[row];
      Reject<T>(tokens.logp_train.data() + at, tokens.logp_rollout.data() + at, state.data() + at,
                offsets[row + 1] - at, plan);
    }
  });
}

template <typename T>
void TokenWeights(const Tokens<T>& tokens, std::span<const TokenState> state, double upper,
                  std::span<T> weights) {
  const auto& offsets = tokens.offsets;
  ForRows(offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const int64_t at = offsets[row];
      Weigh<T>(tokens.logp_train.data() + at, tokens.logp_rollout.data() + at, state.data() + at,
               offsets[row + 1] - at, upper, weights.data() + at);
    }
  });
}

#define ASSAY_INSTANTIATE(T)                                                               \
  template std::vector<RowScan> ScanRows<T>(const Tokens<T>&, std::span<const TokenState>, \
                                            const ScanBounds&, int);                       \
  template void RejectTokens<T>(const Tokens<T>&, const ScanBounds&, bool, bool,           \
                                std::span<TokenState>);                                    \
  template void TokenWeights<T>(const Tokens<T>&, std::span<const TokenState>, double,     \
                                std::span<T>);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::rl
