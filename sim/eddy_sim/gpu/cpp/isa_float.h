// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/// RISC-V's single-precision operations on bit patterns, for the ISA model.
///
/// Every finite value is `m * 2**e` with an integer m of up to 128 bits whose lowest bit stands for everything below it;
/// results are exact in that form and rounded once. Neither the RTL nor the host's floating-point unit has a part in it.
///
/// References: IEEE 754-2019; RISC-V Instruction Set Manual, volume I, F extension 2.2.
#pragma once
#include <cstdint>

namespace isa {

enum Rounding : unsigned { kRne, kRtz, kRdn, kRup, kRmm };
enum Flag : uint8_t { kNx = 1, kUf = 2, kOf = 4, kDz = 8, kNv = 16 };

using Wide = unsigned __int128;

constexpr uint32_t kNan = 0x7fc00000, kInfinity = 0x7f800000, kSign = 0x80000000;

struct Float {
  bool sign;
  Wide m;  // 0: zero
  int e;
};

inline bool is_nan(uint32_t x) { return (x & ~kSign) > kInfinity; }
inline bool is_signalling(uint32_t x) { return is_nan(x) && !(x & 0x00400000); }
inline bool is_infinite(uint32_t x) { return (x & ~kSign) == kInfinity; }
inline bool is_zero(uint32_t x) { return (x & ~kSign) == 0; }

inline int top_bit(Wide m) {
  const auto high = static_cast<uint64_t>(m >> 64), low = static_cast<uint64_t>(m);
  return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(low);
}

/// A finite number, its integer having 24 bits.
inline Float unpack(uint32_t x) {
  const int exponent = (x >> 23) & 255;
  Wide m = (x & 0x7fffff) | (exponent ? 0x800000 : 0);
  int e = (exponent ? exponent : 1) - 150;
  if (m) {
    const int up = 23 - top_bit(m);
    m <<= up;
    e -= up;
  }
  return {bool(x & kSign), m, e};
}

/// m / 2**shift, rounded to an integer.
inline Wide round_shift(Wide m, int shift, bool sign, unsigned rm, bool& inexact) {
  inexact = false;
  if (shift <= 0) return m << -shift;
  if (shift > 127) shift = 127, m = m != 0;
  const Wide whole = m >> shift, rest = m & ((Wide(1) << shift) - 1), half = Wide(1) << (shift - 1);
  inexact = rest != 0;
  bool up = false;
  switch (rm) {
    case kRne: up = rest > half || (rest == half && (whole & 1)); break;
    case kRtz: break;
    case kRdn: up = inexact && sign; break;
    case kRup: up = inexact && !sign; break;
    default: up = rest >= half && inexact; break;
  }
  return whole + up;
}

inline uint32_t pack(Float x, unsigned rm, uint8_t& flags) {
  const uint32_t sign = x.sign ? kSign : 0;
  if (x.m == 0) return sign;
  const int exponent = x.e + top_bit(x.m);
  const int unit = (exponent < -126 ? -126 : exponent) - 23;
  bool inexact = false;
  Wide r = round_shift(x.m, unit - x.e, x.sign, rm, inexact);
  if (inexact) flags |= kNx;
  if (exponent < -126 && inexact) {
    bool ignored;
    const bool carries = round_shift(x.m, exponent - 23 - x.e, x.sign, rm, ignored) >> 24;
    if (exponent < -127 || !carries) flags |= kUf;
  }
  int biased = unit + 150;  // of a number with its 24th bit set
  if (r >> 24) r >>= 1, biased++;
  if (!(r >> 23)) return sign | static_cast<uint32_t>(r);
  if (biased >= 255) {
    flags |= kOf | kNx;
    const bool to_infinity = rm == kRne || rm == kRmm || (rm == kRup && !x.sign) || (rm == kRdn && x.sign);
    return sign | (to_infinity ? kInfinity : kInfinity - 1);
  }
  return sign | (static_cast<uint32_t>(biased) << 23) | (static_cast<uint32_t>(r) & 0x7fffff);
}

inline Wide shift_jam(Wide m, int shift) {
  if (shift == 0) return m;
  if (shift > 127) return m != 0;
  return (m >> shift) | ((m & ((Wide(1) << shift) - 1)) != 0);
}

/// x + y, exact but for the lowest bit; where both are large their integers have 48 bits at most.
inline Float sum(Float x, Float y, unsigned rm) {
  if (x.m == 0 && y.m == 0) return {x.sign == y.sign ? x.sign : rm == kRdn, 0, 0};
  if (x.m == 0) return y;
  if (y.m == 0) return x;
  if (x.e < y.e) {
    const Float z = x;
    x = y;
    y = z;
  }
  const int room = 125 - top_bit(x.m), apart = x.e - y.e, up = apart < room ? apart : room;
  x.m <<= up;
  x.e -= up;
  y.m = shift_jam(y.m, apart - up);
  if (x.sign == y.sign) return {x.sign, x.m + y.m, x.e};
  if (x.m == y.m) return {rm == kRdn, 0, 0};
  if (x.m > y.m) return {x.sign, x.m - y.m, x.e};
  return {y.sign, y.m - x.m, x.e};
}

inline uint32_t fma(uint32_t a, uint32_t b, uint32_t c, unsigned rm, uint8_t& flags) {
  const bool nothing = (is_infinite(a) && is_zero(b)) || (is_zero(a) && is_infinite(b));
  if (nothing || is_signalling(a) || is_signalling(b) || is_signalling(c)) flags |= kNv;
  if (nothing || is_nan(a) || is_nan(b) || is_nan(c)) return kNan;
  const bool sign = (a ^ b) >> 31;
  if (is_infinite(a) || is_infinite(b)) {
    if (is_infinite(c) && sign != bool(c >> 31)) {
      flags |= kNv;
      return kNan;
    }
    return (sign ? kSign : 0) | kInfinity;
  }
  if (is_infinite(c)) return c;
  const Float x = unpack(a), y = unpack(b);
  return pack(sum({sign, x.m * y.m, x.e + y.e}, unpack(c), rm), rm, flags);
}

inline uint32_t add(uint32_t a, uint32_t b, unsigned rm, uint8_t& flags) { return fma(a, 0x3f800000, b, rm, flags); }

inline uint32_t mul(uint32_t a, uint32_t b, unsigned rm, uint8_t& flags) {
  const bool special = is_nan(a) || is_nan(b) || is_infinite(a) || is_infinite(b);
  if (special) return fma(a, b, 0, rm, flags);
  const Float x = unpack(a), y = unpack(b);
  return pack({x.sign != y.sign, x.m * y.m, x.e + y.e}, rm, flags);
}

inline uint32_t div(uint32_t a, uint32_t b, unsigned rm, uint8_t& flags) {
  const uint32_t sign = (a ^ b) & kSign;
  const bool nothing = (is_infinite(a) && is_infinite(b)) || (is_zero(a) && is_zero(b));
  if (is_signalling(a) || is_signalling(b) || (nothing && !is_nan(a) && !is_nan(b))) flags |= kNv;
  if (nothing || is_nan(a) || is_nan(b)) return kNan;
  if (is_infinite(a)) return sign | kInfinity;
  if (is_infinite(b) || is_zero(a)) return sign;
  if (is_zero(b)) {
    flags |= kDz;
    return sign | kInfinity;
  }
  const Float x = unpack(a), y = unpack(b);
  const Wide n = x.m << 40, q = n / y.m;
  return pack({sign != 0, (q << 1) | (q * y.m != n), x.e - y.e - 41}, rm, flags);
}

inline uint32_t root(uint32_t a, unsigned rm, uint8_t& flags) {
  if (is_signalling(a)) flags |= kNv;
  if (is_nan(a)) return kNan;
  if (is_zero(a)) return a;
  if (a & kSign) {
    flags |= kNv;
    return kNan;
  }
  if (is_infinite(a)) return a;
  const Float x = unpack(a);
  const int odd = x.e & 1;
  const Wide n = x.m << (38 + odd);
  uint64_t r = 0;
  for (int bit = 31; bit >= 0; bit--) {
    const uint64_t t = r | (uint64_t{1} << bit);
    if (Wide(t) * t <= n) r = t;
  }
  return pack({false, (Wide(r) << 1) | (Wide(r) * r != n), (x.e - 38 - odd) / 2 - 1}, rm, flags);
}

/// a < b, of numbers.
inline bool less(uint32_t a, uint32_t b) {
  if (is_zero(a) && is_zero(b)) return false;
  const bool sa = a >> 31, sb = b >> 31;
  if (sa != sb) return sa;
  return sa ? a > b : a < b;
}

inline uint32_t minmax(bool max, uint32_t a, uint32_t b, uint8_t& flags) {
  if (is_signalling(a) || is_signalling(b)) flags |= kNv;
  if (is_nan(a) && is_nan(b)) return kNan;
  if (is_nan(a)) return b;
  if (is_nan(b)) return a;
  if (is_zero(a) && is_zero(b)) return max ? (a & b) : (a | b);
  return less(a, b) != max ? a : b;
}

/// 2 feq, 1 flt, 0 fle: funct3 of the instruction.
inline uint32_t compare(unsigned which, uint32_t a, uint32_t b, uint8_t& flags) {
  if (is_signalling(a) || is_signalling(b) || (which != 2 && (is_nan(a) || is_nan(b)))) flags |= kNv;
  if (is_nan(a) || is_nan(b)) return 0;
  const bool equal = a == b || (is_zero(a) && is_zero(b));
  return which == 2 ? equal : less(a, b) || (which == 0 && equal);
}

inline uint32_t classify(uint32_t a) {
  const bool sign = a >> 31;
  if (is_nan(a)) return is_signalling(a) ? 1u << 8 : 1u << 9;
  if (is_infinite(a)) return sign ? 1u << 0 : 1u << 7;
  if (is_zero(a)) return sign ? 1u << 3 : 1u << 4;
  if ((a & kInfinity) == 0) return sign ? 1u << 2 : 1u << 5;
  return sign ? 1u << 1 : 1u << 6;
}

inline uint32_t to_integer(bool is_signed, uint32_t a, unsigned rm, uint8_t& flags) {
  const int64_t low = is_signed ? INT32_MIN : 0, high = is_signed ? INT32_MAX : int64_t{UINT32_MAX};
  if (is_nan(a) || is_infinite(a)) {
    flags |= kNv;
    return static_cast<uint32_t>(is_nan(a) || !(a >> 31) ? high : low);
  }
  const Float x = unpack(a);
  bool inexact = false;
  const bool huge = x.m && x.e > 40;
  const Wide r = huge ? Wide(1) << 64 : round_shift(x.m, -x.e, x.sign, rm, inexact);
  const bool over = r >> 34, negative = x.sign && r != 0;
  const int64_t value = over ? 0 : negative ? -static_cast<int64_t>(r) : static_cast<int64_t>(r);
  if (over || value < low || value > high) {
    flags |= kNv;
    return static_cast<uint32_t>(x.sign ? low : high);
  }
  if (inexact) flags |= kNx;
  return static_cast<uint32_t>(value);
}

inline uint32_t from_integer(bool is_signed, uint32_t a, unsigned rm, uint8_t& flags) {
  const bool sign = is_signed && (a >> 31);
  return pack({sign, sign ? Wide(0u - a) : Wide(a), 0}, rm, flags);
}

}  // namespace isa
