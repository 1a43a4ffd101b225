// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Trigonometric functions of double, of multiples of pi too, and their inverses, on soft float.
#include "eddy_double.h"

static const u64 TWO_OVER_PI[] = {
  0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
  0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
  0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
  0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

static u64 bits_at(int at) {
  const int word = (at + 64) / 64 - 1, by = (at + 64) % 64;
  const u64 high = word >= 0 ? TWO_OVER_PI[word] : 0, low = word + 1 >= 0 ? TWO_OVER_PI[word + 1] : 0;
  return by ? high << by | low >> (64 - by) : high;
}
static u64 high_of(u64 a, u64 b) {
  const u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32, lh = al * bh, hl = ah * bl;
  return ah * bh + (lh >> 32) + (hl >> 32) + (((al * bl >> 32) + (u32)lh + (u32)hl) >> 32);
}
/// x less a whole number of quarter turns: that number, what is left, and what is missing to it.
static u32 reduced(double x, double *r, double *low) {
  const double a = magnitude(x);
  u32 quarter;
  *r = x, *low = 0;
  if (a <= 0x1.921fb54442d18p-1) return 0;
  if (a < 0x1p20) {
    const double k = eddy_rint64(x * 0x1.45f306dc9c883p-1), p = k * HALF_PI, h = x - p;
    const double w = eddy_fma64(k, HALF_PI_LOW, rest_of_product(k, HALF_PI, p));
    *r = h - w;
    *low = (h - *r) - w;
    return (u32)(s32)k;
  }
  // 192 bits of 2 / pi times the significand: those above two bits of whole quarters do not matter.
  const u64 m = (raw(a) << 12 >> 12) | 1ull << 52;
  const int at = (int)(raw(a) >> 52) - 1075 - 2;
  const u64 w0 = bits_at(at), w1 = bits_at(at + 64), w2 = bits_at(at + 128);
  u64 p2 = m * w2, p1 = m * w1, p0 = m * w0 + high_of(m, w1);
  const u64 carry = high_of(m, w2);
  p1 += carry;
  p0 += p1 < carry;
  quarter = (u32)(p0 >> 62);
  p0 = p0 << 2 | p1 >> 62, p1 = p1 << 2 | p2 >> 62, p2 <<= 2;
  const int over = p0 >> 63 != 0;
  if (over) {
    quarter++;
    p2 = -p2, p1 = ~p1 + !p2, p0 = ~p0 + (!p1 && !p2);
  }
  int n = 0;
  while (!(p0 >> 63) && n < 120) p0 = p0 << 1 | p1 >> 63, p1 = p1 << 1 | p2 >> 63, p2 <<= 1, n++;
  const double scale = eddy_ldexp64(1, -64 - n), f = (double)(p0 >> 11 << 11) * scale;
  const double g = (double)(p0 & 2047) * scale + (double)p1 * scale * 0x1p-64;
  double y = f * HALF_PI, z = rest_of_product(f, HALF_PI, y) + (f * HALF_PI_LOW + g * HALF_PI);
  *r = y + z;
  *low = z - (*r - y);
  if (over != (int)negative(x)) *r = -*r, *low = -*low;
  return negative(x) ? -quarter : quarter;
}
double eddy_sine64(double r, double low) {
  // (sin(r) / r - 1) / z, z = r^2, for |r| <= pi / 4, 2^-68
  static const double SIN[] = {-0x1.aaa4dfe7c5813p-41, 0x1.612091fdee276p-33, -0x1.ae6452975361cp-26,
    0x1.71de3a5338e04p-19, -0x1.a01a01a018adfp-13, 0x1.111111111110bp-7, -0x1.5555555555555p-3};
  const double z = r * r;
  return r == 0 ? r : r + eddy_fma64(r * z, POLYNOMIAL(z, SIN), low * (1 - z / 2));
}
double eddy_cosine64(double r, double low) {
  // (cos(r) - 1 + z / 2) / z^2, z = r^2, for |r| <= pi / 4, 2^-64
  static const double COS[] = {-0x1.8fae495ca4862p-37, 0x1.1ee9eb55058c0p-29, -0x1.27e4f80927eb8p-22,
    0x1.a01a019cb0bb9p-16, -0x1.6c16c16c15174p-10, 0x1.555555555554cp-5};
  const double z = r * r, h = z / 2, w = 1 - h;
  return w + ((1 - w - h) + eddy_fma64(z * z, POLYNOMIAL(z, COS), -r * low));
}
double eddy_sin64(double x) {
  double r, low;
  if (endless64(x)) return NAN64;
  const u32 q = reduced(x, &r, &low);
  const double v = q & 1 ? eddy_cosine64(r, low) : eddy_sine64(r, low);
  return q & 2 ? -v : v;
}
double eddy_cos64(double x) {
  double r, low;
  if (endless64(x)) return NAN64;
  const u32 q = reduced(x, &r, &low) + 1;
  const double v = q & 1 ? eddy_cosine64(r, low) : eddy_sine64(r, low);
  return q & 2 ? -v : v;
}
double eddy_tan64(double x) {
  double r, low;
  if (endless64(x)) return NAN64;
  const u32 q = reduced(x, &r, &low);
  return q & 1 ? -eddy_cosine64(r, low) / eddy_sine64(r, low) : eddy_sine64(r, low) / eddy_cosine64(r, low);
}

/// x = q / 2 + r / pi, |r| <= pi / 4: q modulo 4, and r in two parts. Where x is endless there is none.
static u32 halves(double x, double *r, double *low) {
  // From 2^53 on every number is even.
  const double whole = magnitude(x) < 0x1p53 ? eddy_rint64(2 * x) : 0;
  const double part = magnitude(x) < 0x1p53 ? x - whole / 2 : 0;
  *r = part * PI;
  *low = eddy_fma64(part, PI_LOW, rest_of_product(part, PI, *r));
  return (u32)(s64)whole & 3;
}
double eddy_sinpi64(double x) {
  double r, low;
  if (endless64(x)) return NAN64;
  const u32 q = halves(x, &r, &low);
  if (r == 0 && !(q & 1)) return with_sign(0, x);
  const double v = q & 1 ? eddy_cosine64(r, low) : eddy_sine64(r, low);
  return q & 2 ? -v : v;
}
double eddy_cospi64(double x) {
  double r, low;
  if (endless64(x)) return NAN64;
  const u32 q = halves(magnitude(x), &r, &low) + 1;
  if (r == 0 && !(q & 1)) return 0;
  const double v = q & 1 ? eddy_cosine64(r, low) : eddy_sine64(r, low);
  return q & 2 ? -v : v;
}
double eddy_tanpi64(double x) {
  double r, low;
  if (endless64(x)) return NAN64;
  const u32 q = halves(x, &r, &low);
  // Where x is odd the zero's sign is the other one; at the poles it goes by the quarter.
  if (r == 0) return q & 1 ? (q & 2 ? -INF64 : INF64) : q & 2 ? -with_sign(0, x) : with_sign(0, x);
  return q & 1 ? -eddy_cosine64(r, low) / eddy_sine64(r, low) : eddy_sine64(r, low) / eddy_cosine64(r, low);
}

double eddy_atan64(double x) {
  // (atan(t) / t - 1) / z, z = t^2, for |t| <= 7/16, 2^-62
  static const double ATAN[] = {0x1.c070ac125bb34p-7, -0x1.0564d1f16de5ap-5, 0x1.6b1ecb5bdca9dp-5,
    -0x1.a9fbc59d0a106p-5, 0x1.e132b793258b9p-5, -0x1.1109087d4db68p-4, 0x1.3b132f8dfbea9p-4, -0x1.745d11cb615cbp-4,
    0x1.c71c71a14632fp-4, -0x1.24924924458eep-3, 0x1.9999999998fd5p-3, -0x1.5555555555552p-2};
  const double a = magnitude(x);
  if (nan64(x)) return NAN64;
  if (a < 0x1p-27) return x;
  // atan a = atan c + atan((a - c) / (1 + a c)), c one of 0, 1/2, 1, 3/2, endless.
  double base = 0, base_low = 0, t = a;
  if (a > 39.0 / 16) base = HALF_PI, base_low = HALF_PI_LOW, t = -1 / a;
  else if (a > 19.0 / 16) base = 0x1.f730bd281f69bp-1, base_low = 0x1.007887af0cbbdp-56, t = (a - 1.5) / eddy_fma64(1.5, a, 1);
  else if (a > 11.0 / 16) base = HALF_PI / 2, base_low = HALF_PI_LOW / 2, t = (a - 1) / (1 + a);
  else if (a > 7.0 / 16) base = 0x1.dac670561bb4fp-2, base_low = 0x1.a2b7f222f65e2p-56, t = eddy_fma64(2, a, -1) / (2 + a);
  const double z = t * t;
  return with_sign(base + (t + eddy_fma64(t * z, POLYNOMIAL(z, ATAN), base_low)), x);
}
double eddy_atan264(double y, double x) {
  if (nan64(x) || nan64(y)) return NAN64;
  const double ax = magnitude(x), ay = magnitude(y);
  double v;
  if (ay == 0) v = 0;
  else if (endless64(x) && endless64(y)) v = HALF_PI / 2;
  else if (ax == 0 || endless64(y)) return with_sign(HALF_PI, y);
  else if (endless64(x)) v = 0;
  else v = eddy_atan64(ay / ax);
  if (negative(x)) v = PI - (v - PI_LOW);
  return with_sign(v, y);
}
/// asin(x) for |x| <= 1/2 less x.
static double asin_rest(double x) {
  // (asin(x) / x - 1) / z, z = x^2, for |x| <= 1/2, 2^-63
  static const double ASIN[] = {0x1.1441fda365ec2p-5, -0x1.aeabe9bc347b2p-6, 0x1.987b81a8a6055p-6,
    0x1.4c8837187dbaep-11, 0x1.48779e26c4d20p-7, 0x1.36ac816d66121p-7, 0x1.7ba76ca677643p-7, 0x1.c9808dacf69e1p-7,
    0x1.1c4f8866213bdp-6, 0x1.6e8b9ace04f29p-6, 0x1.f1c71ca953aefp-6, 0x1.6db6db6d46263p-5, 0x1.3333333333a6bp-4,
    0x1.5555555555553p-3};
  const double z = x * x;
  return x * z * POLYNOMIAL(z, ASIN);
}
double eddy_asin64(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return NAN64;
  if (a < 0x1p-27) return x;
  if (a <= 0.5) return x + asin_rest(x);
  const double s = eddy_sqrt64(0.5 * (1 - a));
  return with_sign(HALF_PI - 2 * s - (2 * asin_rest(s) - HALF_PI_LOW), x);
}
double eddy_acos64(double x) {
  const double a = magnitude(x);
  if (!(a <= 1)) return NAN64;
  if (a <= 0.5) return HALF_PI - (x + (asin_rest(x) - HALF_PI_LOW));
  const double s = eddy_sqrt64(0.5 * (1 - a)), v = asin_rest(s);
  return x > 0 ? 2 * (s + v) : PI - 2 * (s + (v - PI_LOW / 2));
}

static double over_pi(double x) { return x == 0 ? x : eddy_fma64(x, 0x1.45f306dc9c883p-2, x * -0x1.6b01ec5417056p-56); }
double eddy_asinpi64(double x) { return over_pi(eddy_asin64(x)); }
double eddy_acospi64(double x) { return over_pi(eddy_acos64(x)); }
double eddy_atanpi64(double x) { return over_pi(eddy_atan64(x)); }
double eddy_atan2pi64(double y, double x) { return over_pi(eddy_atan264(y, x)); }
