// Elementary functions in binary32. Only operations that are exact to the last bit with and without an FPU are used, so
// both give the same results; docs/reference/opencl.md states the errors.

#include "eddy_types.h"

#define NAN real(0x7fc00000u)
#define INF real(0x7f800000u)

static inline u32 bits(float x) { union { float f; u32 u; } v = {x}; return v.u; }
static inline float real(u32 x) { union { u32 u; float f; } v = {x}; return v.f; }
static inline int is_nan(float x) { return (bits(x) << 1) > 0xff000000u; }
static inline float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline float abs_(float x) { return real(bits(x) & 0x7fffffffu); }
static inline float sign_of(float magnitude, float sign) {
  return real((bits(magnitude) & 0x7fffffffu) | (bits(sign) & 0x80000000u));
}
static inline u32 high(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }

/// y * 2^n, rounded once; y in [0.5, 2], n in -160 .. 128.
static float scale(float y, int n) {
  const int half = n >> 1;
  return y * real((u32)(half + 127) << 23) * real((u32)(n - half + 127) << 23);
}

/// e^r for |r| <= 0.35.
static float exp_core(float r) {
  const float q = 5.000000013e-01f + r * (1.666657700e-01f + r * (4.166646493e-02f + r * (8.363176673e-03f + r * 1.393364760e-03f)));
  return 1.0f + (r + r * r * q);
}
static int nearest(float x) { return (int)(x + sign_of(0.5f, x)); }

float eddy_exp(float x) {
  int n;
  float k;
  if (is_nan(x)) return NAN;
  if (x > 88.722839f) return INF;
  if (x < -104.0f) return 0.0f;
  n = nearest(x * 1.442695041f);
  k = (float)n;
  // ln 2 in two parts, the first short enough that its products are exact.
  return scale(exp_core((x - k * 0.693145751953125f) - k * 1.428606765e-06f), n);
}
float eddy_exp2(float x) {
  int n;
  if (is_nan(x)) return NAN;
  if (x >= 128.0f) return INF;
  if (x < -150.0f) return 0.0f;
  n = nearest(x);
  return scale(exp_core((x - (float)n) * 0.6931471806f), n);
}
float eddy_exp10(float x) {
  int n;
  float k, r;
  if (is_nan(x)) return NAN;
  if (x > 38.531839f) return INF;
  if (x < -45.2f) return 0.0f;
  n = nearest(x * 3.321928095f);
  k = (float)n;
  // log10 2 in two parts.
  r = (x - k * 0.301025390625f) - k * 4.605038981e-06f;
  return scale(exp_core(r * 2.302585093f), n);
}
float eddy_expm1(float x) {
  int n;
  float k, r, p, power;
  if (is_nan(x)) return NAN;
  if (x > 17.5f || x < -17.5f) return eddy_exp(x) - 1.0f;
  n = nearest(x * 1.442695041f);
  k = (float)n;
  r = (x - k * 0.693145751953125f) - k * 1.428606765e-06f;
  p = r + r * r * (5.000000013e-01f + r * (1.666657700e-01f + r * (4.166646493e-02f + r * (8.363176673e-03f + r * 1.393364760e-03f))));
  if (!n) return p;
  power = real((u32)(n + 127) << 23);
  return (power - 1.0f) + power * p;
}

typedef struct { int n; float f, s, r, h; } logs;

/// x = 2^n (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1]; log(1 + f) = f - (h - (s * (h + r))), h = f * f / 2.
static logs log_parts(float x) {
  u32 u = bits(x);
  logs l = {0, 0, 0, 0, 0};
  float z;
  if (u < 0x800000u) {
    u = bits(x * 8388608.0f);
    l.n = -23;
  }
  u += 0x3f800000u - 0x3f3504f3u;
  l.n += (int)(u >> 23) - 127;
  l.f = real((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  l.s = l.f / (2.0f + l.f);
  z = l.s * l.s;
  l.r = z * (6.666666654e-01f + z * (4.000012602e-01f + z * (2.855049190e-01f + z * 2.333766652e-01f)));
  l.h = 0.5f * l.f * l.f;
  return l;
}
static int log_special(float x, float *result) {
  const u32 u = bits(x);
  if (u << 1 == 0) *result = -INF;
  else if (is_nan(x) || u >> 31) *result = NAN;
  else if (u == 0x7f800000u) *result = x;
  else return 0;
  return 1;
}

float eddy_log(float x) {
  float special, k;
  logs l;
  if (log_special(x, &special)) return special;
  l = log_parts(x);
  k = (float)l.n;
  return k * 0.693145751953125f + (l.f - (l.h - (l.s * (l.h + l.r) + k * 1.428606765e-06f)));
}
float eddy_log2(float x) {
  float special;
  logs l;
  if (log_special(x, &special)) return special;
  l = log_parts(x);
  return (float)l.n + (l.f - (l.h - l.s * (l.h + l.r))) * 1.442695041f;
}
float eddy_log10(float x) {
  float special, k;
  logs l;
  if (log_special(x, &special)) return special;
  l = log_parts(x);
  k = (float)l.n;
  return k * 0.301025390625f + (k * 4.605038981e-06f + (l.f - (l.h - l.s * (l.h + l.r))) * 0.4342944819f);
}
float eddy_log1p(float x) {
  float u;
  if (abs_(x) < 1e-4f) return x - 0.5f * x * x;
  u = 1.0f + x;
  if (is_nan(x) || u <= 0.0f || u == INF) return eddy_log(u);
  // What rounding took from 1 + x comes back to first order.
  return eddy_log(u) + (x - (u - 1.0f)) / u;
}

// 2 / pi in binary, after one word of zeros.
static const u32 two_over_pi[] = {0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                  0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};

/// x = q pi/2 + r, |r| <= pi/4: q modulo 4. All bits of 2/pi that matter are used, however large x.
static u32 reduce(float x, float *r) {
  const u32 u = bits(x) & 0x7fffffffu, m = (u & 0x7fffffu) | 0x800000u;
  const int e = (int)(u >> 23) - 150;
  u32 w0, w1, w2, at, by, q, sign, top;
  u64 low, mid, fraction;
  int exp;
  if (u <= 0x3f490fdau) {
    *r = x;
    return 0;
  }
  // 96 bits of 2/pi from the one on whose product with the significand is below 4.
  at = (u32)(e - 2 + 32) >> 5;
  by = (u32)(e - 2 + 32) & 31;
  w0 = two_over_pi[at];
  w1 = two_over_pi[at + 1];
  w2 = two_over_pi[at + 2];
  if (by) {
    w0 = w0 << by | w1 >> (32 - by);
    w1 = w1 << by | w2 >> (32 - by);
    w2 = w2 << by | two_over_pi[at + 3] >> (32 - by);
  }
  low = (u64)m * w2;
  mid = (u64)m * w1 + (low >> 32);
  top = m * w0 + (u32)(mid >> 32);
  // The product, modulo 4, with 94 bits of fraction.
  q = top >> 30;
  fraction = (u64)top << 34 | (u64)(u32)mid << 2 | (u32)low >> 30;
  sign = (u32)(fraction >> 63);
  if (sign) {
    fraction = 0 - fraction;
    q += 1;
  }
  exp = 126;
  while (!(fraction >> 63) && exp > 30) {
    fraction <<= 1;
    exp -= 1;
  }
  // Times pi/2, in 32 bits of fixed point.
  top = high((u32)(fraction >> 32), 0xc90fdaa2u);
  *r = (float)top * real((u32)(exp - 126 + 127 - 31) << 23);
  if (sign ^ (bits(x) >> 31)) *r = -*r;
  return bits(x) >> 31 ? 0 - q : q;
}
static float sin_core(float r) {
  const float z = r * r;
  return r + r * z * (-1.666666666e-01f + z * (8.333331858e-03f + z * (-1.984008113e-04f + z * 2.724939110e-06f)));
}
static float cos_core(float r) {
  const float z = r * r;
  return 1.0f - (0.5f * z - z * z * (4.166666202e-02f + z * (-1.388814112e-03f + z * 2.452743150e-05f)));
}
static int endless(float x) { return (bits(x) & 0x7f800000u) == 0x7f800000u; }

float eddy_sin(float x) {
  float r, y;
  u32 q;
  if (endless(x)) return NAN;
  q = reduce(x, &r);
  y = q & 1 ? cos_core(r) : sin_core(r);
  return q & 2 ? -y : y;
}
float eddy_cos(float x) {
  float r, y;
  u32 q;
  if (endless(x)) return NAN;
  q = reduce(x, &r) + 1;
  y = q & 1 ? cos_core(r) : sin_core(r);
  return q & 2 ? -y : y;
}
float eddy_tan(float x) {
  float r;
  u32 q;
  if (endless(x)) return NAN;
  q = reduce(x, &r);
  return q & 1 ? -cos_core(r) / sin_core(r) : sin_core(r) / cos_core(r);
}

float eddy_atan(float x) {
  float a = abs_(x), base = 0.0f, rest = 0.0f, z;
  if (is_nan(x)) return NAN;
  if (a > 2.414213562f) {
    base = 1.570796371f;
    rest = -4.371138829e-08f;
    a = -1.0f / a;
  } else if (a > 0.4142135624f) {
    base = 0.7853981853f;
    rest = -2.185569414e-08f;
    a = (a - 1.0f) / (a + 1.0f);
  }
  z = a * a;
  z = a * z * (-3.333333140e-01f + z * (1.999951826e-01f + z * (-1.426356574e-01f + z * (1.074110716e-01f + z * -6.445887509e-02f))));
  return sign_of(base + (a + (z + rest)), x);
}
float eddy_atan2(float y, float x) {
  float a;
  if (is_nan(x) || is_nan(y)) return NAN;
  if (y == 0.0f) return bits(x) >> 31 ? sign_of(3.141592741f, y) : y;
  if (x == 0.0f) return sign_of(1.570796371f, y);
  if (endless(x) && endless(y)) return sign_of(bits(x) >> 31 ? 2.356194496f : 0.7853981853f, y);
  if (endless(x)) return bits(x) >> 31 ? sign_of(3.141592741f, y) : sign_of(0.0f, y);
  a = eddy_atan(abs_(y / x));
  return sign_of(bits(x) >> 31 ? 3.141592741f - (a - -8.742277657e-08f) : a, y);
}
static float asin_core(float x) {
  const float z = x * x;
  return x + x * z * (1.666667387e-01f + z * (7.498750699e-02f + z * (4.501908377e-02f + z * (2.644967268e-02f + z * 3.828562505e-02f))));
}
float eddy_asin(float x) {
  const float a = abs_(x);
  if (!(a <= 1.0f)) return NAN;
  if (a <= 0.5f) return asin_core(x);
  return sign_of(1.570796371f - (2.0f * asin_core(__builtin_sqrtf(0.5f * (1.0f - a))) - -4.371138829e-08f), x);
}
float eddy_acos(float x) {
  const float a = abs_(x);
  float y;
  if (!(a <= 1.0f)) return NAN;
  if (a <= 0.5f) return 1.570796371f - (asin_core(x) - -4.371138829e-08f);
  y = 2.0f * asin_core(__builtin_sqrtf(0.5f * (1.0f - a)));
  return x > 0.0f ? y : 3.141592741f - (y - -8.742277657e-08f);
}
float eddy_tanh(float x) {
  const float a = abs_(x), z = x * x;
  if (is_nan(x)) return NAN;
  if (a < 0.625f) {
    return x + x * z * (-3.333332860e-01f + z * (1.333276554e-01f + z * (-5.385096839e-02f + z * (2.099845674e-02f + z * -6.099085352e-03f))));
  }
  return a > 9.1f ? sign_of(1.0f, x) : sign_of(1.0f - 2.0f / (eddy_exp(2.0f * a) + 1.0f), x);
}
float eddy_sinh(float x) {
  const float a = abs_(x), z = x * x;
  float half;
  if (is_nan(x)) return NAN;
  if (a < 1.0f) return x + x * z * (1.666666665e-01f + z * (8.333339726e-03f + z * (1.983809155e-04f + z * 2.806341217e-06f)));
  if (a > 88.0f) {
    half = eddy_exp(0.5f * a);
    return sign_of(0.5f * half * half, x);
  }
  half = eddy_exp(a);
  return sign_of(0.5f * (half - 1.0f / half), x);
}
float eddy_cosh(float x) {
  const float a = abs_(x);
  float half;
  if (is_nan(x)) return NAN;
  if (a > 88.0f) {
    half = eddy_exp(0.5f * a);
    return 0.5f * half * half;
  }
  half = eddy_exp(a);
  return 0.5f * (half + 1.0f / half);
}

/// |x|^y for finite x other than zero and finite y: through log2 |x| as the sum of two numbers.
static float pow_core(float x, float y) {
  u32 u = bits(x) & 0x7fffffffu;
  int n = 0, k;
  float m, f, d, dl, s, sl, z, zl, t, tl, p, pl, l, ll, e, el, sum;
  if (u < 0x800000u) {
    u = bits(real(u) * 8388608.0f);
    n = -23;
  }
  u += 0x3f800000u - 0x3f3504f3u;
  n += (int)(u >> 23) - 127;
  m = real((u & 0x7fffffu) + 0x3f3504f3u);
  // s = (m - 1) / (m + 1)
  f = m - 1.0f;
  d = m + 1.0f;
  dl = m - (d - 1.0f);
  s = f / d;
  sl = (fma_(-s, d, f) - s * dl) / d;
  z = s * s;
  zl = fma_(s, s, -z) + 2.0f * s * sl;
  // t = z/3 + z^2/5 + ...; log2 m = 2/ln2 * s * (1 + t)
  t = z * 0.3333333433f;
  tl = fma_(z, 0.3333333433f, -t) + z * -9.934107e-09f + zl * 0.3333333433f +
       z * z * (0.2000006301f + z * (0.1427524595f + z * 0.1166883326f));
  p = s * t;
  pl = fma_(s, t, -p) + s * tl + sl * t;
  sum = s + p;
  pl += (s - sum) + p + sl;
  l = sum * 2.885390043f;
  ll = fma_(sum, 2.885390043f, -l) + sum * 3.851926e-08f + pl * 2.885390043f;
  // Plus n, exactly.
  f = (float)n;
  sum = f + l;
  ll += n ? (f - sum) + l : 0.0f;
  // Times y.
  e = y * sum;
  if (e >= 129.0f) return INF;
  if (e < -151.0f) return 0.0f;
  el = fma_(y, sum, -e) + y * ll;
  k = nearest(e);
  e = (e - (float)k) + el;
  if (k > 128) return INF;
  return scale(exp_core(e * 0.6931471806f), k);
}
float eddy_pow(float x, float y) {
  const u32 a = bits(x) & 0x7fffffffu, b = bits(y) & 0x7fffffffu;
  const int exp = (int)(b >> 23) - 127;
  // 0: y is not whole, 1: odd, 2: even
  const int kind = exp < 0 ? (b ? 0 : 2) : exp > 23 ? 2 : (b & (0x7fffffu >> exp)) ? 0 : ((b | 0x800000u) >> (23 - exp) & 1) ? 1 : 2;
  const u32 minus = bits(x) >> 31 && kind == 1 ? 0x80000000u : 0;
  float result;
  if (b == 0 || bits(x) == 0x3f800000u) return 1.0f;
  if (is_nan(x) || is_nan(y)) return NAN;
  if (b == 0x7f800000u) {
    if (a == 0x3f800000u) return 1.0f;
    return (a > 0x3f800000u) == !(bits(y) >> 31) ? INF : 0.0f;
  }
  if (a == 0 || a == 0x7f800000u) return real(minus | ((a == 0) == (bits(y) >> 31 != 0) ? 0x7f800000u : 0));
  if (bits(x) >> 31 && !kind) return NAN;
  result = pow_core(x, y);
  return real(bits(result) | minus);
}
float eddy_cbrt(float x) {
  const float a = abs_(x);
  float y;
  if (a == 0.0f || endless(x)) return is_nan(x) ? NAN : x;
  y = pow_core(a, 0.3333333433f);
  // One Newton step takes away what 1/3 lost.
  return sign_of(y - (y - a / (y * y)) * 0.3333333433f, x);
}

float eddy_fmod(float x, float y) {
  u32 a = bits(x) & 0x7fffffffu, b = bits(y) & 0x7fffffffu, m, n;
  int e, g;
  if (is_nan(x) || is_nan(y) || endless(x) || !b) return NAN;
  if (a < b) return x;
  e = (int)(a >> 23);
  g = (int)(b >> 23);
  m = e ? (a & 0x7fffffu) | 0x800000u : a;
  n = g ? (b & 0x7fffffu) | 0x800000u : b;
  if (!e) e = 1;
  if (!g) g = 1;
  for (; e > g; e--) m = (m % n) << 1;
  m %= n;
  if (!m) return sign_of(0.0f, x);
  while (!(m >> 23) && e > 1) {
    m <<= 1;
    e -= 1;
  }
  return sign_of(real(m >> 23 ? ((u32)(e - 1) << 23) + m : m), x);
}
float eddy_hypot(float x, float y) {
  float a = abs_(x), b = abs_(y), t;
  if (a == INF || b == INF) return INF;
  if (is_nan(x) || is_nan(y)) return NAN;
  if (a < b) t = a, a = b, b = t;
  if (a == 0.0f) return 0.0f;
  // Squares must neither overflow nor vanish: by powers of two, which are exact.
  if (a > 1e18f) t = 8.271806125530277e-25f;
  else if (a < 1e-9f) t = 1.2089258196146292e24f;
  else t = 1.0f;
  a *= t;
  b *= t;
  return __builtin_sqrtf(a * a + b * b) / t;
}
float eddy_ldexp(float x, int n) {
  const u32 e = bits(x) >> 23 & 0xff;
  if (n > 300) n = 300;
  if (n < -300) n = -300;
  for (; n > 127; n -= 127) x *= real(254u << 23);
  if (n >= -100 || e == 0xff) return n >= -100 ? x * real((u32)(n + 127) << 23) : x;
  // Far down: to the border of the subnormal numbers exactly, then one rounded product.
  if (!e || (int)e + n < -24) return sign_of(0.0f, x);
  if ((int)e + n >= 1) return real(bits(x) + ((u32)n << 23));
  return real((bits(x) & 0x807fffffu) | 25u << 23) * real((u32)((int)e + n - 25 + 127) << 23);
}
