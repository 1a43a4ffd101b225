// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Conversions that round in a stated way: whole numbers to binary32, binary32 to binary16 and back.

#include "eddy_math.h"

enum { NEAREST, TO_ZERO, UP, DOWN };

/// Whether what is cut from a number makes it one unit larger: `cut` of `bits` bits below the last one kept.
static int goes_up(u64 kept, u64 cut, u32 width, u32 negative, u32 mode) {
  const u64 half = 1ull << (width - 1);
  if (mode == NEAREST) return cut > half || (cut == half && (kept & 1));
  return cut && mode == (negative ? DOWN : UP);
}

float eddy_round_float(u64 x, u32 negative, u32 mode) {
  u32 top = 63, width;
  u64 kept;
  if (!x) return 0.0f;
  while (!(x >> top)) top--;
  if (top <= 23) return real(negative << 31 | ((top + 126) << 23) + ((u32)x << (23 - top)));
  width = top - 23;
  kept = x >> width;
  kept += (u64)goes_up(kept, x & ((1ull << width) - 1), width, negative, mode);
  return real(negative << 31 | (((top + 126) << 23) + (u32)kept));
}

float eddy_from_half(u32 h) {
  const u32 sign = (h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 0x3ffu;
  if (e == 31) return m ? NAN : real(sign | 0x7f800000u);
  if (e) return real(sign | ((e + 112) << 23) | m << 13);
  return sign_of((float)m * 5.9604644775390625e-08f, real(sign));
}

u32 eddy_to_half(float x, u32 mode) {
  const u32 u = bits(x), negative = u >> 31, sign = negative << 15;
  const int e = (int)(u >> 23 & 0xff) - 127;
  const u32 m = (u & 0x7fffffu) | 0x800000u;
  u32 width, kept;
  if (e == 128) return u & 0x7fffffu ? 0x7e00u : sign | 0x7c00u;
  if (e > 15) return sign | (mode == NEAREST || mode == (negative ? DOWN : UP) ? 0x7c00u : 0x7bffu);
  // Bits below the half's last one: more where it has no leading one.
  width = e >= -14 ? 13 : (u32)(13 - 14 - e);
  if (u << 1 == 0) return sign;
  if (width > 25) width = 25;
  kept = m >> width;
  kept += (u32)goes_up(kept, e < -26 ? 1 : m & ((1u << width) - 1), width, negative, mode);
  return sign | (e >= -14 ? ((u32)(e + 14) << 10) + kept : kept);
}

// What the compiler calls for half, whose bits come and go where a float would.

float __extendhfsf2(float x) { return eddy_from_half(bits(x) & 0xffffu); }

float __truncsfhf2(float x) {
  const u32 u = bits(x), magnitude = u & 0x7fffffffu;
  // Numbers with a leading one in half: the exponent moved, and a carry of the rounding goes into it.
  if (magnitude - 0x38800000u < 0x47800000u - 0x38800000u)
    return real((u >> 16 & 0x8000u) | (magnitude + 0xfffu + (magnitude >> 13 & 1) - 0x38000000u) >> 13);
  return real(eddy_to_half(x, NEAREST));
}
