// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// double on cores that have none: IEEE 754 binary64, rounded to nearest even, with subnormal numbers; the one NaN is
// 0x7ff8000000000000. The names are those the compiler calls. Slow: tens to hundreds of instructions an operation.
#include "eddy_double.h"

#define SIGN 0x8000000000000000ull
#define INF 0x7ff0000000000000ull
#define QUIET 0x7ff8000000000000ull
#define ONE (1ull << 62)

static inline int is_nan64(u64 a) { return (a & ~SIGN) > INF; }
static u64 sticky(u64 x, u32 by) { return by == 0 ? x : by < 64 ? x >> by | ((x << (64 - by)) != 0) : x != 0; }

/// A number from its sign, biased exponent and significand, whose leading one is bit 62 and whose last bit is sticky.
static u64 rounded(u64 sign, s32 exponent, u64 x) {
  if (exponent >= 0x7ff) return sign | INF;
  if (exponent <= 0) x = sticky(x, (u32)(1 - exponent)), exponent = 0;
  x = (x + 0x1ff + (x >> 10 & 1)) >> 10;
  return sign | (exponent ? ((u64)(exponent - 1) << 52) + x : x);
}
static u32 zeros(u64 x) { u32 n = 0; for (u32 k = 32; k; k >>= 1) if (!(x >> (64 - k))) n += k, x <<= k; return n; }
static u64 normal(u64 sign, s32 exponent, u64 x) {
  const u32 n = x ? zeros(x) : 0;
  if (!x) return sign;
  return n == 0 ? rounded(sign, exponent + 1, sticky(x, 1)) : rounded(sign, exponent - (s32)n + 1, x << (n - 1));
}
/// Exponent and significand (leading one in bit 62) of a finite number that is not zero.
static s32 parts(u64 a, u64 *x) {
  s32 exponent = (s32)(a >> 52 & 0x7ff);
  u64 m = a << 12 >> 12;
  if (exponent) { *x = (m | 1ull << 52) << 10; return exponent; }
  const u32 n = zeros(m);
  *x = m << (n - 1);
  return 12 - (s32)n;
}
static void product(u64 a, u64 b, u64 *high, u64 *low) {
  const u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32, ll = al * bl, lh = al * bh, hl = ah * bl;
  const u64 middle = (ll >> 32) + (u32)lh + (u32)hl;
  *low = middle << 32 | (u32)ll;
  *high = ah * bh + (lh >> 32) + (hl >> 32) + (middle >> 32);
}

double __adddf3(double fa, double fb) {
  u64 a = raw(fa), b = raw(fb), x, y;
  if ((a & ~SIGN) < (b & ~SIGN)) { const u64 t = a; a = b; b = t; }
  if (is_nan64(a) || is_nan64(b) || ((a & ~SIGN) == INF && (b & ~SIGN) == INF && a != b)) return made(QUIET);
  if ((a & ~SIGN) == INF) return made(a);
  if (!(b << 1)) return made(a << 1 ? a : a & b);
  const s32 ea = parts(a, &x), eb = parts(b, &y);
  y = sticky(y, (u32)(ea - eb));
  return made(normal((a ^ b) & SIGN && x == y ? 0 : a & SIGN, ea, (a ^ b) & SIGN ? x - y : x + y));
}
double __subdf3(double a, double b) { return __adddf3(a, made(raw(b) ^ SIGN)); }
double __negdf2(double a) { return made(raw(a) ^ SIGN); }

double __muldf3(double fa, double fb) {
  const u64 a = raw(fa), b = raw(fb), sign = (a ^ b) & SIGN;
  u64 x, y, high, low;
  if (is_nan64(a) || is_nan64(b)) return made(QUIET);
  if ((a & ~SIGN) == INF || (b & ~SIGN) == INF) return made(a << 1 && b << 1 ? sign | INF : QUIET);
  if (!(a << 1) || !(b << 1)) return made(sign);
  const s32 exponent = parts(a, &x) + parts(b, &y) - 1022;
  product(x, y << 1, &high, &low);
  return made(normal(sign, exponent, high | (low != 0)));
}

double __divdf3(double fa, double fb) {
  const u64 a = raw(fa), b = raw(fb), sign = (a ^ b) & SIGN;
  u64 x, y, quotient = 0;
  if (is_nan64(a) || is_nan64(b)) return made(QUIET);
  if ((a & ~SIGN) == INF) return made((b & ~SIGN) == INF ? QUIET : sign | INF);
  if ((b & ~SIGN) == INF) return made(sign);
  if (!(b << 1)) return made(a << 1 ? sign | INF : QUIET);
  if (!(a << 1)) return made(sign);
  const s32 exponent = parts(a, &x) - parts(b, &y) + 1023;
  for (u32 k = 0; k < 63; k++) {
    quotient <<= 1;
    if (x >= y) x -= y, quotient |= 1;
    x <<= 1;
  }
  return made(normal(sign, exponent, quotient | (x != 0)));
}

double eddy_sqrt64(double f) {
  const u64 a = raw(f);
  u64 x, root = 0, rest = 0;
  if (is_nan64(a) || (a & SIGN && a << 1)) return made(QUIET);
  if (!(a << 1) || a == INF) return f;
  s32 exponent = parts(a, &x);
  // Two bits of the number for each bit of the root, from an even exponent.
  if (!(exponent & 1)) x <<= 1;
  exponent = (exponent - (exponent & 1 ? 1023 : 1024)) / 2 + 1023;
  for (u32 k = 0; k < 58; k++) {
    rest = rest << 2 | x >> 62;
    x <<= 2;
    root <<= 1;
    const u64 trial = root << 1 | 1;
    if (rest >= trial) rest -= trial, root |= 1;
  }
  return made(rounded(0, exponent, root << 5 | ((rest | x) != 0)));
}

/// a * b + c, rounded once.
double eddy_fma64(double fa, double fb, double fc) {
  const u64 a = raw(fa), b = raw(fb), c = raw(fc), sign = (a ^ b) & SIGN;
  u64 x, y, z, high, low, zl = 0;
  if (is_nan64(a) || is_nan64(b) || is_nan64(c)) return made(QUIET);
  if ((a & ~SIGN) == INF || (b & ~SIGN) == INF) {
    if (!(a << 1) || !(b << 1) || ((c & ~SIGN) == INF && (c & SIGN) != sign)) return made(QUIET);
    return made(sign | INF);
  }
  if ((c & ~SIGN) == INF) return fc;
  if (!(a << 1) || !(b << 1)) return c << 1 ? fc : made(c & sign);
  s32 exponent = parts(a, &x) + parts(b, &y) - 1022;
  product(x, y << 1, &high, &low);
  if (!(c << 1)) return made(normal(sign, exponent, high | (low != 0)));
  s32 ez = parts(c, &z);
  // Both as 128 bits, the smaller one shifted; what falls out is left in the last bit.
  s32 apart = exponent - ez;
  if (apart < 0) {
    const u32 by = (u32)-apart;
    if (by >= 128) high = 0, low = 1;
    else if (by >= 64) low = sticky(high, by - 64) | (low != 0), high = 0;
    else if (by) low = sticky(low, by) | high << (64 - by), high >>= by;
    exponent = ez;
  } else if (apart) {
    const u32 by = (u32)apart;
    if (by >= 128) zl = 1, z = 0;
    else if (by >= 64) zl = sticky(z, by - 64), z = 0;
    else zl = z << (64 - by), z >>= by;
  }
  u64 to = sign;
  if (sign == (c & SIGN)) {
    const u64 sum = low + zl;
    high += z + (sum < low);
    low = sum;
  } else if (high > z || (high == z && low >= zl)) {
    high = high - z - (low < zl), low -= zl;
    if (!(high | low)) return made(0);
  } else {
    const u64 less = zl - low;
    high = z - high - (zl < low), low = less, to = c & SIGN;
  }
  if (!high) return made(normal(to, exponent - 64, low));
  const u32 n = zeros(high);
  if (n) high = high << n | low >> (64 - n), low <<= n;
  return made(normal(to, exponent - (s32)n, high | (low != 0)));
}

static s32 order(double fa, double fb, s32 unordered) {
  const u64 a = raw(fa), b = raw(fb);
  if (is_nan64(a) || is_nan64(b)) return unordered;
  const s64 p = a & SIGN ? -(s64)(a & ~SIGN) : (s64)a, q = b & SIGN ? -(s64)(b & ~SIGN) : (s64)b;
  return p < q ? -1 : p > q;
}
s32 __eqdf2(double a, double b) { return order(a, b, 1); }
s32 __nedf2(double a, double b) { return order(a, b, 1); }
s32 __ltdf2(double a, double b) { return order(a, b, 1); }
s32 __ledf2(double a, double b) { return order(a, b, 1); }
s32 __gtdf2(double a, double b) { return order(a, b, -1); }
s32 __gedf2(double a, double b) { return order(a, b, -1); }
s32 __unorddf2(double a, double b) { return is_nan64(raw(a)) || is_nan64(raw(b)); }

double __floatundidf(u64 x) { return made(normal(0, 1023 + 62, x)); }
double __floatdidf(s64 x) { return made(normal(x < 0 ? SIGN : 0, 1023 + 62, x < 0 ? -(u64)x : (u64)x)); }
double __floatunsidf(u32 x) { return __floatundidf(x); }
double __floatsidf(s32 x) { return __floatdidf(x); }

/// Toward zero; beyond the range, its end; a NaN is 0.
static u64 whole(double f, u64 most, u64 least) {
  const u64 a = raw(f);
  const s32 exponent = (s32)(a >> 52 & 0x7ff) - 1023;
  if (is_nan64(a)) return 0;
  if (exponent < 0) return 0;
  if (exponent >= 64) return a & SIGN ? least : most;
  const u64 m = (a << 11) | SIGN, x = exponent == 63 ? m : m >> (63 - exponent);
  if (a & SIGN) return x > -least ? least : -x;
  return x > most ? most : x;
}
s32 __fixdfsi(double x) { return (s32)whole(x, 0x7fffffffu, -0x80000000ull); }
u32 __fixunsdfsi(double x) { return (u32)whole(x, 0xffffffffu, 0); }
s64 __fixdfdi(double x) { return (s64)whole(x, ~SIGN, SIGN); }
u64 __fixunsdfdi(double x) { return whole(x, ~0ull, 0); }

double __extendsfdf2(float f) {
  union { float f; u32 u; } v = {f};
  const u64 sign = (u64)(v.u >> 31) << 63;
  const u32 m = v.u & 0x7fffffff;
  if (m > 0x7f800000) return made(QUIET);
  if (m == 0x7f800000) return made(sign | INF);
  if (m >= 0x800000) return made(sign | ((u64)m + (896ull << 23)) << 29);
  return made(normal(sign, 1023 - 149 + 62, m));
}
float __truncdfsf2(double f) {
  const u64 a = raw(f);
  union { u32 u; float f; } v;
  const u32 sign = (u32)(a >> 32) & 0x80000000u;
  s32 exponent = (s32)(a >> 52 & 0x7ff) - 896;
  u64 m = (a << 12 >> 12 | 1ull << 52);
  if (is_nan64(a)) v.u = 0x7fc00000;
  else if (exponent >= 255) v.u = sign | 0x7f800000;
  else {
    // 24 bits stay of 53.
    u32 by = 29;
    if (exponent <= 0) by += (u32)(1 - exponent), exponent = 0;
    m = sticky(m, by - 2);
    const u32 x = (u32)((m + 1 + (m >> 2 & 1)) >> 2);
    v.u = sign | (exponent ? ((u32)(exponent - 1) << 23) + x : x);
  }
  return v.f;
}
