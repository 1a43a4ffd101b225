// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// The host's own floating-point unit as an oracle, in the four rounding modes C knows.
///
/// Flags are the host's. Two things differ by architecture and are put right here: a fused multiply-add of infinity,
/// zero and a quiet NaN is invalid on RISC-V; and conversions out of range are decided before the host is asked. The
/// host must judge tininess after rounding (x86 does, Arm does not), which `host_usable` finds out.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>

#pragma STDC FENV_ACCESS ON

#if defined(__x86_64__)
#define HARDWARE __attribute__((noinline, target("fma")))
#else
#define HARDWARE __attribute__((noinline))
#endif

namespace {

enum Op { kFmadd, kFmsub, kFnmsub, kFnmadd, kFadd, kFsub, kFmul, kFdiv, kFsqrt, kToInt = 18, kToUint, kFromInt, kFromUint };

constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

float as_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t as_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return std::isnan(value) ? 0x7fc00000u : bits;
}

HARDWARE float fused(float a, float b, float c) {
  volatile float x = a, y = b, z = c;
  return __builtin_fmaf(x, y, z);
}

HARDWARE float arithmetic(int op, float a, float b, float c) {
  volatile float x = a, y = b, r;
  switch (op) {
    case kFmadd: r = fused(a, b, c); break;
    case kFmsub: r = fused(a, b, -c); break;
    case kFnmsub: r = fused(-a, b, c); break;
    case kFnmadd: r = fused(-a, b, -c); break;
    case kFadd: r = x + y; break;
    case kFsub: r = x - y; break;
    case kFmul: r = x * y; break;
    case kFdiv: r = x / y; break;
    default: r = __builtin_sqrtf(x); break;
  }
  return r;
}

HARDWARE float from_int(int op, uint32_t bits) {
  volatile int64_t x = op == kFromInt ? int64_t{static_cast<int32_t>(bits)} : int64_t{bits};
  volatile float r = static_cast<float>(x);
  return r;
}

/// Rounded by the host's mode; the range is checked on the rounded value.
uint32_t to_int(int op, float a, uint8_t& flags) {
  const double low = op == kToInt ? -2147483648.0 : 0.0, high = op == kToInt ? 2147483647.0 : 4294967295.0;
  volatile float x = a;
  const double whole = std::isnan(a) ? INFINITY : static_cast<double>(std::nearbyint(x));
  if (whole < low || whole > high) {
    flags = 16;
    return static_cast<uint32_t>(static_cast<int64_t>(whole < low ? low : high));
  }
  flags = whole != a;
  return static_cast<uint32_t>(static_cast<int64_t>(whole));
}

uint8_t raised() {
  const int e = std::fetestexcept(FE_ALL_EXCEPT);
  return (e & FE_INVALID ? 16 : 0) | (e & FE_DIVBYZERO ? 8 : 0) | (e & FE_OVERFLOW ? 4 : 0) |
         (e & FE_UNDERFLOW ? 2 : 0) | (e & FE_INEXACT ? 1 : 0);
}

bool nothing_times_infinity(float a, float b) { return (std::isinf(a) && b == 0) || (std::isinf(b) && a == 0); }

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// Whether the host judges as RISC-V does: (1 + 2**-23) times the largest subnormal rounds to the smallest normal number
/// before the exponent is looked at, so it is not tiny.
EXPORT int host_usable() {
  std::fesetround(FE_TONEAREST);
  std::feclearexcept(FE_ALL_EXCEPT);
  const bool normal = as_bits(arithmetic(kFmul, as_float(0x3f800001), as_float(0x007fffff), 0)) == 0x00800000u;
  return normal && raised() == 1;
}

EXPORT void host_run(int op, uint64_t n, const uint8_t* rm, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                     uint32_t* result, uint8_t* flags) {
  int mode = -1;
  for (uint64_t i = 0; i < n; i++) {
    if (rm[i] > 3) continue;
    if (rm[i] != mode) std::fesetround(kModes[mode = rm[i]]);
    const float x = as_float(a[i]), y = as_float(b[i]);
    if (op == kToInt || op == kToUint) {
      result[i] = to_int(op, x, flags[i]);
      continue;
    }
    std::feclearexcept(FE_ALL_EXCEPT);
    const bool integer = op == kFromInt || op == kFromUint;
    result[i] = as_bits(integer ? from_int(op, a[i]) : arithmetic(op, x, y, as_float(c[i])));
    flags[i] = raised();
    if (op <= kFnmadd && nothing_times_infinity(x, y)) flags[i] |= 16;
  }
  std::fesetround(FE_TONEAREST);
}
