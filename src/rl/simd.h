#pragma once

#include <cstdint>
#include <cstring>

/// Four doubles at a time with the compilers' vector extensions: SSE2 code by default and AVX2
/// where a function is compiled for it, with the same result bit for bit (the library is built
/// without contraction to fused multiply-adds).
namespace assay::rl::simd {

inline constexpr int kLanes = 4;

using F64 = double __attribute__((vector_size(32)));
using F32 = float __attribute__((vector_size(16)));
using I64 = int64_t __attribute__((vector_size(32)));
using U8 = uint8_t __attribute__((vector_size(4)));

#define ASSAY_SIMD [[gnu::always_inline]] inline

ASSAY_SIMD void Splat(F64& v, double x) { v = F64{x, x, x, x}; }

ASSAY_SIMD void Load(F64& v, const float* p) {
  F32 narrow;
  std::memcpy(&narrow, p, sizeof(narrow));
  v = __builtin_convertvector(narrow, F64);
}
ASSAY_SIMD void Load(F64& v, const double* p) { std::memcpy(&v, p, sizeof(v)); }
ASSAY_SIMD void Load(I64& v, const uint8_t* p) {
  U8 narrow;
  std::memcpy(&narrow, p, sizeof(narrow));
  v = __builtin_convertvector(narrow, I64);
}

/// `m ? a : b` per lane; a lane of `m` is 0 or -1.
ASSAY_SIMD void Select(F64& out, const I64& m, const F64& a, const F64& b) {
  I64 ia;
  I64 ib;
  std::memcpy(&ia, &a, sizeof(ia));
  std::memcpy(&ib, &b, sizeof(ib));
  const I64 merged = (ia & m) | (ib & ~m);
  std::memcpy(&out, &merged, sizeof(out));
}

ASSAY_SIMD void Min(F64& out, const F64& a, const F64& b) { Select(out, a < b, a, b); }
ASSAY_SIMD void Max(F64& out, const F64& a, const F64& b) { Select(out, a > b, a, b); }

/// e^x within 1 ulp for |x| <= 700; x must be in that range. x = n ln 2 + r with |r| <= ln(2)/2,
/// and the Taylor polynomial of degree 13 leaves 4e-18 of e^r.
ASSAY_SIMD void Exp(F64& out, const F64& x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  constexpr double kLog2E = 1.4426950408889634074;
  constexpr double kLn2High =
      6.93147180369123816490e-01;  // its last 21 bits are 0: n * it is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const F64 shifted = x * kLog2E + kRound;
  const F64 n = shifted - kRound;
  const F64 r = (x - n * kLn2High) - n * kLn2Low;
  // Even and odd powers separately: half the latency.
  const F64 s = r * r;
  const F64 even =
      ((((((1.0 / 479001600.0) * s + 1.0 / 3628800.0) * s + 1.0 / 40320.0) * s + 1.0 / 720.0) * s +
        1.0 / 24.0) *
           s +
       0.5);
  const F64 odd =
      ((((((1.0 / 6227020800.0) * s + 1.0 / 39916800.0) * s + 1.0 / 362880.0) * s + 1.0 / 5040.0) *
            s +
        1.0 / 120.0) *
           s +
       1.0 / 6.0);
  const F64 value = 1.0 + (r + s * (even + r * odd));
  I64 bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  I64 exponent = bits << 52;  // the integer n sits in the low bits of `shifted`
  I64 result;
  std::memcpy(&result, &value, sizeof(result));
  result += exponent;
  std::memcpy(&out, &result, sizeof(out));
}

#undef ASSAY_SIMD

}  // namespace assay::rl::simd
