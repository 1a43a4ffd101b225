// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Binary32 arithmetic for cores without an FPU: round to nearest even, subnormals kept, and RISC-V's choices where the
// standard leaves one (one canonical NaN, saturating conversions), so that results are those of the FPU bit for bit.
//
// Significands are held with the leading one at bit 30 and seven bits below the last place; `jam` keeps in bit 0
// whether anything was shifted out.

#include "eddy_types.h"

#define NAN_BITS 0x7fc00000u
#define INF_BITS 0x7f800000u

static inline u32 bits(float x) { union { float f; u32 u; } v = {x}; return v.u; }
static inline float real(u32 x) { union { u32 u; float f; } v = {x}; return v.f; }
static inline u32 is_nan(u32 x) { return (x << 1) > 0xff000000u; }
static inline u32 clz(u32 x) {
  u32 n = 0;
  if (!x) return 32;
  if (!(x >> 16)) { n += 16; x <<= 16; }
  if (!(x >> 24)) { n += 8; x <<= 8; }
  if (!(x >> 28)) { n += 4; x <<= 4; }
  if (!(x >> 30)) { n += 2; x <<= 2; }
  return n + !(x >> 31);
}
static inline u32 jam(u32 x, u32 by) { return by == 0 ? x : by > 31 ? x != 0 : x >> by | (x << (32 - by) != 0); }
static inline u64 jam64(u64 x, u32 by) { return by == 0 ? x : by > 63 ? x != 0 : x >> by | (x << (64 - by) != 0); }

/// (-1)^sign * sig / 2^30 * 2^(exp - 127), sig with its leading one at bit 30.
static u32 round_pack(u32 sign, int exp, u32 sig) {
  u32 low;
  if (exp >= 255) return sign << 31 | INF_BITS;
  if (exp <= 0) {
    sig = jam(sig, 1 - exp);
    exp = 1;
    low = sig & 0x7f;
    sig = (sig + 0x40) >> 7;
    if (low == 0x40) sig &= ~1u;
    return sign << 31 | sig;
  }
  low = sig & 0x7f;
  sig = (sig + 0x40) >> 7;
  if (low == 0x40) sig &= ~1u;
  return sign << 31 | (((u32)(exp - 1) << 23) + sig);
}

static u32 normal_pack(u32 sign, int exp, u32 sig) {
  int by;
  if (!sig) return sign << 31;
  by = (int)clz(sig) - 1;
  return by < 0 ? round_pack(sign, exp + 1, jam(sig, 1)) : round_pack(sign, exp - by, sig << by);
}

static u32 normal_pack64(u32 sign, int exp, u64 sig) {
  // Leading one wanted at bit 62.
  u32 by;
  if (!sig) return sign << 31;
  by = (sig >> 32) ? clz((u32)(sig >> 32)) : 32 + clz((u32)sig);
  if (by == 0) sig = jam64(sig, 1), exp += 1;
  else sig <<= by - 1, exp -= (int)by - 1;
  return round_pack(sign, exp, (u32)jam64(sig, 32));
}

typedef struct { u32 sign, sig; int exp; } parts;

/// A finite number other than zero, significand with its leading one at bit 23.
static parts split(u32 x) {
  parts p = {x >> 31, x & 0x7fffff, (int)(x >> 23 & 0xff)};
  if (p.exp) {
    p.sig |= 0x800000;
  } else {
    const int by = (int)clz(p.sig) - 8;
    p.sig <<= by;
    p.exp = 1 - by;
  }
  return p;
}

static u32 add(u32 a, u32 b) {
  u32 swap, sig, other;
  parts p, q;
  if (is_nan(a) || is_nan(b)) return NAN_BITS;
  if ((a << 1) < (b << 1)) swap = a, a = b, b = swap;
  if (a << 1 == 0xff000000u) return b << 1 == 0xff000000u && (a ^ b) >> 31 ? NAN_BITS : a;
  if (b << 1 == 0) return a << 1 == 0 ? (a & b) : a;
  p = split(a);
  q = split(b);
  sig = p.sig << 7;
  other = jam(q.sig << 7, (u32)(p.exp - q.exp));
  if (p.sign == q.sign) return normal_pack(p.sign, p.exp, sig + other);
  return sig == other ? 0 : normal_pack(p.sign, p.exp, sig - other);
}

static u32 mul(u32 a, u32 b) {
  const u32 sign = (a ^ b) >> 31;
  parts p, q;
  u64 product;
  if (is_nan(a) || is_nan(b)) return NAN_BITS;
  if (a << 1 == 0xff000000u || b << 1 == 0xff000000u) return a << 1 == 0 || b << 1 == 0 ? NAN_BITS : sign << 31 | INF_BITS;
  if (a << 1 == 0 || b << 1 == 0) return sign << 31;
  p = split(a);
  q = split(b);
  product = (u64)(p.sig << 7) * (q.sig << 8);
  return normal_pack(sign, p.exp + q.exp - 126, (u32)(product >> 32) | ((u32)product != 0));
}

static u32 div(u32 a, u32 b) {
  const u32 sign = (a ^ b) >> 31;
  parts p, q;
  u32 quotient, rest, k;
  if (is_nan(a) || is_nan(b)) return NAN_BITS;
  if (a << 1 == 0xff000000u) return b << 1 == 0xff000000u ? NAN_BITS : sign << 31 | INF_BITS;
  if (b << 1 == 0xff000000u) return sign << 31;
  if (b << 1 == 0) return a << 1 == 0 ? NAN_BITS : sign << 31 | INF_BITS;
  if (a << 1 == 0) return sign << 31;
  p = split(a);
  q = split(b);
  // The integer part, then four times seven bits.
  quotient = p.sig / q.sig;
  rest = p.sig % q.sig;
  for (k = 0; k < 4; k++) {
    rest <<= 7;
    quotient = quotient << 7 | rest / q.sig;
    rest %= q.sig;
  }
  return normal_pack(sign, p.exp - q.exp + 127 + 2, (u32)quotient | (rest != 0));
}

float __addsf3(float a, float b) { return real(add(bits(a), bits(b))); }
float __subsf3(float a, float b) { return real(add(bits(a), bits(b) ^ 0x80000000u)); }
float __mulsf3(float a, float b) { return real(mul(bits(a), bits(b))); }
float __divsf3(float a, float b) { return real(div(bits(a), bits(b))); }
float __negsf2(float a) { return real(bits(a) ^ 0x80000000u); }

float sqrtf(float value) {
  const u32 x = bits(value);
  parts p;
  u64 rest;
  u32 root = 0, bit;
  if (is_nan(x) || (x >> 31 && x << 1)) return real(NAN_BITS);
  if (x << 1 == 0 || x == INF_BITS) return value;
  p = split(x);
  // 25 bits of root, with the leading one at bit 24, from 50 bits.
  rest = (u64)p.sig << ((p.exp & 1) ? 25 : 26);
  for (bit = 1u << 25; bit; bit >>= 1) {
    const u32 with = root | bit;
    if ((u64)with * with <= rest) root = with;
  }
  return real(normal_pack(0, (p.exp + 127) / 2, root << 6 | ((u64)root * root != rest)));
}

/// Fused: rounded once.
float fmaf(float x, float y, float z) {
  const u32 a = bits(x), b = bits(y), c = bits(z), sign = (a ^ b) >> 31;
  parts p, q, r;
  u64 product, addend;
  int exp;
  if (is_nan(a) || is_nan(b)) return real(NAN_BITS);
  if (a << 1 == 0xff000000u || b << 1 == 0xff000000u) {
    if (a << 1 == 0 || b << 1 == 0 || is_nan(c)) return real(NAN_BITS);
    return c << 1 == 0xff000000u && c >> 31 != sign ? real(NAN_BITS) : real(sign << 31 | INF_BITS);
  }
  if (is_nan(c)) return real(NAN_BITS);
  if (c << 1 == 0xff000000u) return z;
  if (a << 1 == 0 || b << 1 == 0) return real(add(sign << 31, c));
  p = split(a);
  q = split(b);
  // Leading one at bit 60 or 61 of 62.
  product = (u64)p.sig * q.sig << 14;
  exp = p.exp + q.exp - 126;
  if (c << 1 == 0) return real(normal_pack64(sign, exp + 1, product));
  r = split(c);
  addend = (u64)r.sig << 38;
  if (exp >= r.exp) {
    addend = jam64(addend, (u32)(exp - r.exp));
  } else {
    product = jam64(product, (u32)(r.exp - exp));
    exp = r.exp;
  }
  if (sign == r.sign) return real(normal_pack64(sign, exp + 1, product + addend));
  if (product == addend) return 0.0f;
  if (product > addend) return real(normal_pack64(sign, exp + 1, product - addend));
  return real(normal_pack64(!sign, exp + 1, addend - product));
}

// Comparisons, as compilers call them: negative, zero, positive; `unordered` where one is NaN.
static int order(u32 a, u32 b, int unordered) {
  int x, y;
  if (is_nan(a) || is_nan(b)) return unordered;
  x = a >> 31 ? -(int)(a & 0x7fffffff) : (int)a;
  y = b >> 31 ? -(int)(b & 0x7fffffff) : (int)b;
  return (x > y) - (x < y);
}
int __eqsf2(float a, float b) { return order(bits(a), bits(b), 1); }
int __nesf2(float a, float b) { return order(bits(a), bits(b), 1); }
int __ltsf2(float a, float b) { return order(bits(a), bits(b), 1); }
int __lesf2(float a, float b) { return order(bits(a), bits(b), 1); }
int __gtsf2(float a, float b) { return order(bits(a), bits(b), -1); }
int __gesf2(float a, float b) { return order(bits(a), bits(b), -1); }
int __unordsf2(float a, float b) { return is_nan(bits(a)) || is_nan(bits(b)); }

/// As fmin.s and fmax.s: the number where one is NaN, and -0 below +0.
float fminf(float a, float b) {
  const u32 x = bits(a), y = bits(b);
  if (is_nan(x)) return is_nan(y) ? real(NAN_BITS) : b;
  if (is_nan(y)) return a;
  if (!((x | y) << 1)) return real(x | y);
  return order(x, y, 0) < 0 ? a : b;
}
float fmaxf(float a, float b) {
  const u32 x = bits(a), y = bits(b);
  if (is_nan(x)) return is_nan(y) ? real(NAN_BITS) : b;
  if (is_nan(y)) return a;
  if (!((x | y) << 1)) return real(x & y);
  return order(x, y, 0) > 0 ? a : b;
}

/// Rounding to whole numbers: 0 toward zero, 1 down, 2 up, 3 nearest with halves away from zero, 4 nearest even.
static float whole(float value, int mode) {
  const u32 x = bits(value), sign = x >> 31;
  const int exp = (int)(x >> 23 & 0xff) - 127;
  u32 mask, cut, half, up;
  if (exp >= 23) return value;
  if (exp < 0) {
    if (!(x << 1)) return value;
    switch (mode) {
      case 0: return real(x & 0x80000000u);
      case 1: return sign ? -1.0f : 0.0f;
      case 2: return sign ? real(0x80000000u) : 1.0f;
      case 3: return real((x & 0x80000000u) | (exp == -1 ? 0x3f800000u : 0));
      default: return real((x & 0x80000000u) | (exp == -1 && (x & 0x7fffff) ? 0x3f800000u : 0));
    }
  }
  mask = 0x7fffffu >> exp;
  cut = x & mask;
  if (!cut) return value;
  half = (mask >> 1) + 1;
  switch (mode) {
    case 0: up = 0; break;
    case 1: up = sign; break;
    case 2: up = !sign; break;
    case 3: up = cut >= half; break;
    default: up = cut > half || (cut == half && (x & (mask + 1))); break;
  }
  return real((x & ~mask) + (up ? mask + 1 : 0));
}
float truncf(float x) { return whole(x, 0); }
float floorf(float x) { return whole(x, 1); }
float ceilf(float x) { return whole(x, 2); }
float roundf(float x) { return whole(x, 3); }
float rintf(float x) { return whole(x, 4); }
float nearbyintf(float x) { return whole(x, 4); }
float roundevenf(float x) { return whole(x, 4); }

int __fixsfsi(float value) {
  const u32 x = bits(value);
  const int exp = (int)(x >> 23 & 0xff) - 127;
  u32 magnitude;
  if (is_nan(x)) return 0x7fffffff;
  if (exp < 0) return 0;
  if (exp >= 31) return x >> 31 ? (int)0x80000000u : 0x7fffffff;
  magnitude = (x & 0x7fffff) | 0x800000;
  magnitude = exp >= 23 ? magnitude << (exp - 23) : magnitude >> (23 - exp);
  return x >> 31 ? -(int)magnitude : (int)magnitude;
}
u32 __fixunssfsi(float value) {
  const u32 x = bits(value);
  const int exp = (int)(x >> 23 & 0xff) - 127;
  u32 magnitude;
  if (is_nan(x)) return 0xffffffffu;
  if (exp < 0 || x >> 31) return 0;
  if (exp >= 32) return 0xffffffffu;
  magnitude = (x & 0x7fffff) | 0x800000;
  return exp >= 23 ? magnitude << (exp - 23) : magnitude >> (23 - exp);
}
static u32 from_u32(u32 sign, u32 x) { return x ? normal_pack(sign, 127 + 30, x) : 0; }
float __floatsisf(int x) { return real(from_u32(x < 0, x < 0 ? 0u - (u32)x : (u32)x)); }
float __floatunsisf(u32 x) { return real(from_u32(0, x)); }
