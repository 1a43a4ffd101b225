// Elementary functions of double, on soft float: exp and log with a low part beside the high one, the rest from them.
// docs/reference/opencl-builtins.md states the errors.
#include "eddy_double.h"

#define NAN64 made(0x7ff8000000000000ull)
#define INF64 made(0x7ff0000000000000ull)
#define LN2_HIGH 0x1.62e42fefa3800p-1
#define LN2_LOW 0x1.ef35793c76730p-45
#define LOG2E 0x1.71547652b82fep+0
#define HALF_PI 0x1.921fb54442d18p+0
#define HALF_PI_LOW 0x1.1a62633145c07p-54

static inline u64 raw(double x) { union { double f; u64 u; } v = {x}; return v.u; }
static inline double made(u64 x) { union { u64 u; double f; } v = {x}; return v.f; }
static inline double magnitude(double x) { return made(raw(x) << 1 >> 1); }
static inline double with_sign(double x, double s) { return made(raw(x) << 1 >> 1 | raw(s) >> 63 << 63); }
static inline int nan64(double x) { return raw(x) << 1 > 0xffe0000000000000ull; }
static inline int endless64(double x) { return raw(x) << 1 == 0xffe0000000000000ull; }

double eddy_rint64(double x) {
  const double big = with_sign(0x1p52, x);
  return magnitude(x) < 0x1p52 ? with_sign((x + big) - big, x) : x;
}
double eddy_trunc64(double x) {
  const s32 cut = 1075 - (s32)(raw(x) >> 52 & 0x7ff);
  return cut <= 0 ? x : cut > 52 ? with_sign(0, x) : made(raw(x) >> cut << cut);
}
double eddy_floor64(double x) { const double t = eddy_trunc64(x); return t > x ? with_sign(t - 1, x) : t; }
double eddy_ceil64(double x) { const double t = eddy_trunc64(x); return t < x ? with_sign(t + 1, x) : t; }
double eddy_round64(double x) { const double t = eddy_trunc64(x); return magnitude(x - t) >= 0.5 ? t + with_sign(1, x) : t; }

double eddy_ldexp64(double x, int n) {
  if (n > 2200) n = 2200;
  if (n < -2200) n = -2200;
  for (; n > 1000; n -= 1000) x *= 0x1p1000;
  // The last step alone rounds, so that nothing is rounded twice.
  if (n < -1000) {
    int e;
    extern double eddy_frexp64(double, int *);
    x = eddy_frexp64(x, &e);
    if (x == 0 || nan64(x) || endless64(x)) return x;
    n += e;
    if (n >= -1000) return x * made((u64)(n + 1023) << 52);
    return n < -1200 ? with_sign(0, x) : x * made((u64)(n + 200 + 1023) << 52) * 0x1p-200;
  }
  return x * made((u64)(n + 1023) << 52);
}
double eddy_frexp64(double x, int *e) {
  *e = 0;
  if (x == 0 || nan64(x) || endless64(x)) return x;
  int more = 0;
  if (magnitude(x) < 0x1p-1022) x *= 0x1p64, more = -64;
  *e = (int)(raw(x) >> 52 & 0x7ff) - 1022 + more;
  return made((raw(x) & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}

/// e^(x + low).
static double exp_of(double x, double low) {
  if (nan64(x)) return NAN64;
  if (x > 710) return INF64;
  if (x < -746) return 0;
  const double k = eddy_rint64(x * LOG2E), h = eddy_fma64(-k, LN2_HIGH, x), r = h - k * LN2_LOW + low;
  const double rest = (h - r) - k * LN2_LOW + low;
  double p = 1.0 / 6227020800.0;
  static const double inverse[] = {479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2};
  for (int i = 0; i < 11; i++) p = p * r + 1.0 / inverse[i];
  return eddy_ldexp64(1 + (r + (r * r * p + rest)), (int)k);
}
double eddy_exp64(double x) { return exp_of(x, 0); }
double eddy_expm164(double x) {
  if (magnitude(x) > 0.4) return exp_of(x, 0) - 1;
  static const double inverse[] = {20922789888000, 1307674368000, 87178291200, 6227020800, 479001600, 39916800, 3628800,
    362880, 40320, 5040, 720, 120, 24, 6, 2};
  double p = 1.0 / 355687428096000;
  for (int i = 0; i < 15; i++) p = p * x + 1.0 / inverse[i];
  return x == 0 ? x : x + x * x * p;
}

/// log(x) for finite x > 0: the high part, and what is missing to it.
static double log_of(double x, double *low) {
  int e;
  double m = eddy_frexp64(x, &e);
  if (m < 0x1.6a09e667f3bcdp-1) m *= 2, e--;
  const double f = m - 1, t = 2 + f, s = f / t, z = s * s;
  const double missing = (eddy_fma64(-s, t, f) - s * (f - (t - 2))) / t;
  double p = 2.0 / 23;
  for (double n = 21; n > 1; n -= 2) p = p * z + 2 / n;
  // e ln 2 + 2 s + s z p, from the largest on.
  const double a = e * LN2_HIGH, b = 2 * s, high = a + b;
  const double rest = magnitude(a) > magnitude(b) ? b - (high - a) : a - (high - b);
  const double small = rest + (e * LN2_LOW + 2 * missing + s * z * p), sum = high + small;
  *low = small - (sum - high);
  return sum;
}
static int log_edge(double x, double *value) {
  if (x > 0 && !endless64(x)) return 0;
  *value = x == 0 ? -INF64 : x > 0 ? x : NAN64;
  return 1;
}
double eddy_log64(double x) { double v, low; return log_edge(x, &v) ? v : log_of(x, &low); }
double eddy_log264(double x) {
  double v, low;
  int e;
  if (log_edge(x, &v)) return v;
  if (eddy_frexp64(x, &e) == 0.5) return e - 1;
  v = log_of(x, &low);
  const double product = v * LOG2E;
  return product + (eddy_fma64(v, LOG2E, -product) + v * 0x1.777d0ffda0d24p-56 + low * LOG2E);
}
double eddy_log1064(double x) {
  double v, low;
  if (log_edge(x, &v)) return v;
  v = log_of(x, &low);
  const double product = v * 0x1.bcb7b1526e50ep-2;
  return product + (eddy_fma64(v, 0x1.bcb7b1526e50ep-2, -product) + v * 0x1.95355baaafad3p-57 + low * 0x1.bcb7b1526e50ep-2);
}
double eddy_log1p64(double x) {
  if (magnitude(x) < 0x1p-54) return x;
  const double u = 1 + x;
  if (x <= -1 || nan64(x) || endless64(x)) return eddy_log64(u);
  double low;
  const double v = log_of(u, &low);
  // What the sum lost, to first order.
  return v + (low + (magnitude(x) > 1 ? 1 - (u - x) : x - (u - 1)) / u);
}
/// e^(y log x), x > 0 and finite.
static double power_of(double x, double y) {
  double low;
  const double l = log_of(x, &low), product = y * l;
  if (nan64(product)) return NAN64;
  if (magnitude(product) > 800) return product > 0 ? INF64 : 0;
  return exp_of(product, eddy_fma64(y, l, -product) + y * low);
}
double eddy_exp264(double x) { return nan64(x) ? x : power_of(2, x); }
double eddy_exp1064(double x) { return nan64(x) ? x : x > 310 ? INF64 : x < -330 ? 0 : power_of(10, x); }
double eddy_pow64(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (nan64(x) || nan64(y)) return NAN64;
  const double a = magnitude(x);
  if (endless64(y)) return a == 1 ? 1 : (a > 1) == (y > 0) ? INF64 : 0;
  const int is_whole = eddy_trunc64(y) == y, odd = is_whole && magnitude(y) < 0x1p53 && eddy_trunc64(y / 2) * 2 != y;
  const double sign = odd && raw(x) >> 63 ? -1 : 1;
  if (a == 0 || endless64(a)) return ((a == 0) == (y < 0) ? INF64 : 0) * sign;
  if (x < 0 && !is_whole) return NAN64;
  return sign * (a == 1 ? 1 : power_of(a, y));
}
double eddy_cbrt64(double x) {
  if (x == 0 || nan64(x) || endless64(x)) return x;
  double r = power_of(magnitude(x), 1.0 / 3), q = magnitude(x) / (r * r);
  r -= (r - q) / 3;
  return with_sign(r, x);
}

// ---- Angles

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
    const double k = eddy_rint64(x * 0x1.45f306dc9c883p-1), h = eddy_fma64(-k, HALF_PI, x), w = k * HALF_PI_LOW;
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
  double y = f * HALF_PI, z = eddy_fma64(f, HALF_PI, -y) + (f * HALF_PI_LOW + g * HALF_PI);
  *r = y + z;
  *low = z - (*r - y);
  if (over != (int)(raw(x) >> 63)) *r = -*r, *low = -*low;
  return raw(x) >> 63 ? -quarter : quarter;
}
static double series(double z, double n, double last) {
  // 1 / (n (n - 1)) ... as both sine and cosine have it, alternating, down to `last`.
  double p = 1;
  for (; n > last; n -= 2) p = 1 - z * p / (n * (n - 1));
  return p;
}
static double sine(double r, double low) {
  const double z = r * r, p = series(z, 19, 3);
  return r == 0 ? r : r - (z * r * p / 6 - low * (1 - z / 2));
}
static double cosine(double r, double low) {
  const double z = r * r, h = z / 2, w = 1 - h, p = series(z, 20, 4);
  return w + ((1 - w - h) + (z * z * p / 24 - r * low));
}
double eddy_sin64(double x) {
  double r, low;
  if (nan64(x) || endless64(x)) return NAN64;
  const u32 q = reduced(x, &r, &low);
  const double v = q & 1 ? cosine(r, low) : sine(r, low);
  return q & 2 ? -v : v;
}
double eddy_cos64(double x) {
  double r, low;
  if (nan64(x) || endless64(x)) return NAN64;
  const u32 q = reduced(x, &r, &low) + 1;
  const double v = q & 1 ? cosine(r, low) : sine(r, low);
  return q & 2 ? -v : v;
}
double eddy_tan64(double x) {
  double r, low;
  if (nan64(x) || endless64(x)) return NAN64;
  const u32 q = reduced(x, &r, &low);
  return q & 1 ? -cosine(r, low) / sine(r, low) : sine(r, low) / cosine(r, low);
}
double eddy_atan64(double x) {
  const double a = magnitude(x);
  if (nan64(x)) return NAN64;
  if (a < 0x1p-27) return x;
  // atan a = atan c + atan((a - c) / (1 + a c)), c one of 0, 1/2, 1, 3/2, endless.
  double base = 0, base_low = 0, t = a;
  if (a > 39.0 / 16) base = HALF_PI, base_low = HALF_PI_LOW, t = -1 / a;
  else if (a > 19.0 / 16) base = 0x1.f730bd281f69bp-1, base_low = 0x1.007887af0cbbdp-56, t = (a - 1.5) / (1 + 1.5 * a);
  else if (a > 11.0 / 16) base = HALF_PI / 2, base_low = HALF_PI_LOW / 2, t = (a - 1) / (1 + a);
  else if (a > 7.0 / 16) base = 0x1.dac670561bb4fp-2, base_low = 0x1.a2b7f222f65e2p-56, t = (2 * a - 1) / (2 + a);
  const double z = t * t;
  double p = 1.0 / 49;
  for (double n = 47; n > 1; n -= 2) p = 1 / n - z * p;
  return with_sign(base + (t - (t * z * p - base_low)), x);
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
  if (raw(x) >> 63) v = 2 * HALF_PI - (v - 2 * HALF_PI_LOW);
  return with_sign(v, y);
}
double eddy_asin64(double x) { return magnitude(x) > 1 ? NAN64 : x == 0 ? x : eddy_atan264(x, eddy_sqrt64((1 - x) * (1 + x))); }
double eddy_acos64(double x) { return magnitude(x) > 1 ? NAN64 : 2 * eddy_atan264(eddy_sqrt64(1 - x), eddy_sqrt64(1 + x)); }
double eddy_sinh64(double x) {
  const double a = magnitude(x);
  if (x == 0 || nan64(x) || endless64(x)) return x;
  if (a > 30) { const double h = exp_of(a / 2, 0); return with_sign(h / 2 * h, x); }
  const double u = eddy_expm164(a);
  return with_sign((u + u / (u + 1)) / 2, x);
}
double eddy_cosh64(double x) {
  const double a = magnitude(x);
  if (nan64(x) || endless64(x)) return a;
  if (a > 30) { const double h = exp_of(a / 2, 0); return h / 2 * h; }
  const double e = exp_of(a, 0);
  return (e + 1 / e) / 2;
}
double eddy_tanh64(double x) {
  const double a = magnitude(x);
  if (x == 0 || nan64(x)) return x;
  const double t = a > 22 ? 1 : eddy_expm164(2 * a);
  return with_sign(a > 22 ? 1 : t / (t + 2), x);
}
double eddy_fmod64(double x, double y) {
  u64 a = raw(x) << 1 >> 1, b = raw(y) << 1 >> 1;
  if (nan64(x) || nan64(y) || endless64(x) || y == 0) return NAN64;
  if (a < b) return x;
  int ea, eb;
  double fa = eddy_frexp64(made(a), &ea), fb = eddy_frexp64(made(b), &eb);
  u64 m = (raw(fa) << 12 >> 12) | 1ull << 52, d = (raw(fb) << 12 >> 12) | 1ull << 52;
  for (int k = ea - eb; k >= 0; k--) {
    if (m >= d) m -= d;
    if (k) m <<= 1;
  }
  return with_sign(eddy_ldexp64((double)m, eb - 53), x);
}
double eddy_hypot64(double x, double y) {
  x = magnitude(x), y = magnitude(y);
  if (endless64(x) || endless64(y)) return INF64;
  if (x < y) { const double t = x; x = y; y = t; }
  if (nan64(x) || nan64(y)) return NAN64;
  if (y == 0) return x;
  const double by = x > 0x1p500 ? 0x1p-600 : y < 0x1p-500 ? 0x1p600 : 1;
  x *= by, y *= by;
  return eddy_sqrt64(eddy_fma64(x, x, y * y)) / by;
}
