// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What 32-bit cores call for 64-bit integers, and copying memory.

#include "eddy_types.h"

#define HIGH(x) ((u32)((x) >> 32))

static inline float real(u32 x) { union { u32 u; float f; } v = {x}; return v.f; }
static inline u32 bits(float x) { union { float f; u32 u; } v = {x}; return v.u; }

u64 __ashldi3(u64 x, int by) {
  const u32 low = (u32)x, high = HIGH(x);
  if (by & 32) return (u64)(low << (by & 31)) << 32;
  return by == 0 ? x : ((u64)(high << by | low >> (32 - by)) << 32) | low << by;
}
u64 __lshrdi3(u64 x, int by) {
  const u32 low = (u32)x, high = HIGH(x);
  if (by & 32) return high >> (by & 31);
  return by == 0 ? x : ((u64)(high >> by) << 32) | (low >> by | high << (32 - by));
}
s64 __ashrdi3(s64 x, int by) {
  const u32 low = (u32)x;
  const s32 high = (s32)HIGH((u64)x);
  if (by & 32) return ((s64)(u32)(high >> 31) << 32) | (u32)(high >> (by & 31));
  return by == 0 ? x : (s64)(((u64)(u32)(high >> by) << 32) | (low >> by | (u32)high << (32 - by)));
}
u64 __muldi3(u64 a, u64 b) {
  const u64 low = (u64)(u32)a * (u32)b;
  return low + ((u64)(HIGH(a) * (u32)b + (u32)a * HIGH(b)) << 32);
}

typedef struct { u64 quotient, rest; } divided;

static divided divide(u64 a, u64 b) {
  divided d = {0, 0};
  int k;
  if (!b) {
    d.quotient = ~0ull;
    d.rest = a;
    return d;
  }
  if (!HIGH(a) && !HIGH(b)) {
    d.quotient = (u32)a / (u32)b;
    d.rest = (u32)a % (u32)b;
    return d;
  }
  for (k = 63; k >= 0; k--) {
    d.rest = d.rest << 1 | (a >> k & 1);
    if (d.rest >= b) {
      d.rest -= b;
      d.quotient |= 1ull << k;
    }
  }
  return d;
}
u64 __udivdi3(u64 a, u64 b) { return divide(a, b).quotient; }
u64 __umoddi3(u64 a, u64 b) { return divide(a, b).rest; }
s64 __divdi3(s64 a, s64 b) {
  const u64 q = divide(a < 0 ? 0 - (u64)a : (u64)a, b < 0 ? 0 - (u64)b : (u64)b).quotient;
  return (s64)((a < 0) != (b < 0) ? 0 - q : q);
}
s64 __moddi3(s64 a, s64 b) {
  const u64 r = divide(a < 0 ? 0 - (u64)a : (u64)a, b < 0 ? 0 - (u64)b : (u64)b).rest;
  return (s64)(a < 0 ? 0 - r : r);
}

// Conversions saturate, as the 32-bit ones of RISC-V do.
s64 __fixsfdi(float value) {
  const u32 x = bits(value);
  const int exp = (int)(x >> 23 & 0xff) - 127;
  u64 magnitude;
  if ((x << 1) > 0xff000000u) return 0x7fffffffffffffffll;
  if (exp < 0) return 0;
  if (exp >= 63) return x >> 31 ? (s64)0x8000000000000000ull : 0x7fffffffffffffffll;
  magnitude = (x & 0x7fffff) | 0x800000;
  magnitude = exp >= 23 ? magnitude << (exp - 23) : magnitude >> (23 - exp);
  return x >> 31 ? -(s64)magnitude : (s64)magnitude;
}
u64 __fixunssfdi(float value) {
  const u32 x = bits(value);
  const int exp = (int)(x >> 23 & 0xff) - 127;
  u64 magnitude;
  if ((x << 1) > 0xff000000u) return ~0ull;
  if (exp < 0 || x >> 31) return 0;
  if (exp >= 64) return ~0ull;
  magnitude = (x & 0x7fffff) | 0x800000;
  return exp >= 23 ? magnitude << (exp - 23) : magnitude >> (23 - exp);
}
static float from_u64(u32 sign, u64 x) {
  int top = 63;
  u64 kept;
  u32 rest;
  if (!x) return 0.0f;
  while (!(x >> top & 1)) top--;
  if (top <= 23) return real(sign << 31 | ((u32)(top + 126) << 23) + ((u32)x << (23 - top)));
  kept = x >> (top - 23);
  // Bit above what is cut, and whether anything lies below it.
  rest = (u32)(x >> (top - 24) & 1);
  if (rest && ((x & ((1ull << (top - 24)) - 1)) || (kept & 1))) kept += 1;
  return real(sign << 31 | (((u32)(top + 126) << 23) + (u32)kept));
}
float __floatdisf(s64 x) { return from_u64(x < 0, x < 0 ? 0 - (u64)x : (u64)x); }
float __floatundisf(u64 x) { return from_u64(0, x); }

void *memcpy(void *to, const void *from, u32 bytes) {
  u8 *d = to;
  const u8 *s = from;
  if (!(((u32)d | (u32)s) & 3)) {
    for (; bytes >= 4; bytes -= 4, d += 4, s += 4) *(u32 *)d = *(const u32 *)s;
  }
  while (bytes--) *d++ = *s++;
  return to;
}
void *memmove(void *to, const void *from, u32 bytes) {
  u8 *d = to;
  const u8 *s = from;
  if (d <= s) return memcpy(to, from, bytes);
  while (bytes--) d[bytes] = s[bytes];
  return to;
}
void *memset(void *to, int value, u32 bytes) {
  u8 *d = to;
  const u32 word = (u8)value * 0x01010101u;
  if (!((u32)d & 3)) {
    for (; bytes >= 4; bytes -= 4, d += 4) *(u32 *)d = word;
  }
  while (bytes--) *d++ = (u8)value;
  return to;
}
