// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Common and geometric functions of OpenCL C 1.2. A section begins with the names it defines; a source gets the sections it names.
//@ clamp
#define EDDY_CLAMP_N(n, T, unused) \
  EDDY_FN T##n clamp(T##n x, T low, T high) { T##n r; for (int i = 0; i < n; i++) r[i] = clamp(x[i], low, high); return r; }
#define EDDY_CLAMP(T, U, S, width, is_signed) \
  EDDY_FN T clamp(T x, T low, T high) { const T t = x < low ? low : x; return t > high ? high : t; } \
  EDDY_WIDTHS(EDDY_TERNARY_N, T, clamp) \
  EDDY_WIDTHS(EDDY_CLAMP_N, T, )
EDDY_INTEGERS(EDDY_CLAMP)
EDDY_INLINE3(clamp, __builtin_fminf(__builtin_fmaxf(x, y), z), ({ const double eddy_t = x != x || x < y ? y : x; z < eddy_t ? z : eddy_t; }))
EDDY_SCALARS(EDDY_CLAMP_N, )
//@ min
#define EDDY_MIN(T, U, S, width, is_signed) \
  EDDY_FN T min(T x, T y) { return y < x ? y : x; } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, min) \
  EDDY_WIDTHS(EDDY_BINARY_S, T, min)
EDDY_INTEGERS(EDDY_MIN)
EDDY_INLINE2(min, y < x ? y : x, y < x ? y : x)
EDDY_SCALARS(EDDY_BINARY_S, min)
//@ max
#define EDDY_MAX(T, U, S, width, is_signed) \
  EDDY_FN T max(T x, T y) { return x < y ? y : x; } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, max) \
  EDDY_WIDTHS(EDDY_BINARY_S, T, max)
EDDY_INTEGERS(EDDY_MAX)
EDDY_INLINE2(max, x < y ? y : x, x < y ? y : x)
EDDY_SCALARS(EDDY_BINARY_S, max)
//@ degrees
EDDY_INLINE1(degrees, x * 57.29577951308232f, x * 57.295779513082320877)
//@ radians
EDDY_INLINE1(radians, x * 0.017453292519943295f, x * 0.017453292519943295769)
//@ sign
EDDY_INLINE1(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? x : 0.0f, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x == 0.0 ? x : 0.0)
//@ step
EDDY_INLINE2(step, y < x ? 0.0f : 1.0f, y < x ? 0.0 : 1.0)
#define EDDY_STEP_S(n, T, unused) EDDY_FN T##n step(T edge, T##n x) { return step((T##n)(edge), x); }
EDDY_SCALARS(EDDY_STEP_S, )
//@ mix
EDDY_INLINE3(mix, x + (y - x) * z, x + (y - x) * z)
#define EDDY_MIX_S(n, T, unused) EDDY_FN T##n mix(T##n x, T##n y, T a) { return mix(x, y, (T##n)(a)); }
EDDY_SCALARS(EDDY_MIX_S, )
//@ smoothstep
EDDY_INLINE3(smoothstep, ({ const float eddy_t = __builtin_fminf(__builtin_fmaxf((z - x) / (y - x), 0.0f), 1.0f); \
  eddy_t * eddy_t * (3.0f - 2.0f * eddy_t); }), \
  ({ const double eddy_r = (z - x) / (y - x), eddy_t = eddy_r > 0.0 ? eddy_r < 1.0 ? eddy_r : 1.0 : 0.0; eddy_t * eddy_t * (3.0 - 2.0 * eddy_t); }))
#define EDDY_SMOOTHSTEP_S(n, T, unused) \
  EDDY_FN T##n smoothstep(T low, T high, T##n x) { return smoothstep((T##n)(low), (T##n)(high), x); }
EDDY_SCALARS(EDDY_SMOOTHSTEP_S, )
//@ dot
#define EDDY_DOT_N(T, n) \
  EDDY_FN T dot(T##n x, T##n y) { T s = x[0] * y[0]; for (int i = 1; i < n; i++) s += x[i] * y[i]; return s; }
#define EDDY_DOT(T) EDDY_FN T dot(T x, T y) { return x * y; } EDDY_DOT_N(T, 2) EDDY_DOT_N(T, 3) EDDY_DOT_N(T, 4)
EDDY_DOT(float)
EDDY_ALSO(EDDY_DOT(double))
// cl_khr_integer_dot_product: products of bytes, whose sum has room in the answer.
#define EDDY_DOT_BYTES(R, A, B) EDDY_FN R dot(A##4 x, B##4 y) { \
  return (R)x.x * (R)y.x + (R)x.y * (R)y.y + (R)x.z * (R)y.z + (R)x.w * (R)y.w; }
EDDY_DOT_BYTES(uint, uchar, uchar)
EDDY_DOT_BYTES(int, char, char)
EDDY_DOT_BYTES(int, uchar, char)
EDDY_DOT_BYTES(int, char, uchar)
//@ cross
#define EDDY_CROSS(T) EDDY_FN T##3 cross(T##3 a, T##3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; } \
  EDDY_FN T##4 cross(T##4 a, T##4 b) { return (T##4)(a.yzx * b.zxy - a.zxy * b.yzx, 0.0f); }
EDDY_CROSS(float)
EDDY_ALSO(EDDY_CROSS(double))
//@ eddy_scaled
/// Squares must neither overflow nor vanish: a vector times a power of two, which is exact, and the way back.
EDDY_FN float eddy_scale(float most) { return most > 1e18f ? 0x1p-80f : most < 1e-15f ? 0x1p80f : 1.0f; }
EDDY_FN float eddy_larger(float x, float y) { return __builtin_fmaxf(x, __builtin_fabsf(y)); }
EDDY_FN float eddy_root(float x) { return __builtin_sqrtf(x); }
EDDY_FN float eddy_signed(float x, float s) { return __builtin_copysignf(x, s); }
EDDY_ALSO(double eddy_sqrt64(double);
  EDDY_FN double eddy_scale(double most) { return most > 0x1p500 ? 0x1p-600 : most < 0x1p-450 ? 0x1p600 : 1.0; }
  EDDY_FN double eddy_larger(double x, double y) { return __builtin_fabs(y) > x || x != x ? __builtin_fabs(y) : x; }
  EDDY_FN double eddy_root(double x) { return eddy_sqrt64(x); }
  EDDY_FN double eddy_signed(double x, double s) { return __builtin_copysign(x, s); })
#define EDDY_MOST_N(T, n) EDDY_FN T eddy_most(T##n x) { T m = eddy_signed(x[0], 1); for (int i = 1; i < n; i++) m = eddy_larger(m, x[i]); return m; }
#define EDDY_MOST(T) EDDY_MOST_N(T, 2) EDDY_MOST_N(T, 3) EDDY_MOST_N(T, 4)
EDDY_MOST(float)
EDDY_ALSO(EDDY_MOST(double))
//@ length
#define EDDY_LENGTH_N(T, n) EDDY_FN T length(T##n x) { \
  const T most = eddy_most(x), by = eddy_scale(most); \
  if (most == INFINITY) return most; \
  x *= by; return eddy_root(dot(x, x)) / by; }
#define EDDY_LENGTH(T) EDDY_FN T length(T x) { return eddy_signed(x, 1); } EDDY_LENGTH_N(T, 2) EDDY_LENGTH_N(T, 3) EDDY_LENGTH_N(T, 4)
EDDY_LENGTH(float)
EDDY_ALSO(EDDY_LENGTH(double))
// Needs dot and eddy_scaled.
//@ distance
#define EDDY_DISTANCE(T, n) EDDY_FN T distance(T##n x, T##n y) { return length(x - y); }
EDDY_DISTANCE(float, ) EDDY_DISTANCE(float, 2) EDDY_DISTANCE(float, 3) EDDY_DISTANCE(float, 4)
EDDY_ALSO(EDDY_DISTANCE(double, ) EDDY_DISTANCE(double, 2) EDDY_DISTANCE(double, 3) EDDY_DISTANCE(double, 4))
//@ normalize
#define EDDY_NORMALIZE_N(T, n) EDDY_FN T##n normalize(T##n x) { \
  const T most = eddy_most(x); \
  if (most == INFINITY) for (int i = 0; i < n; i++) x[i] = eddy_signed(eddy_signed(x[i], 1) == INFINITY ? (T)1 : x[i] != x[i] ? x[i] : (T)0, x[i]); \
  x *= eddy_scale(most == INFINITY ? (T)1 : most); \
  const T l = eddy_root(dot(x, x)); return l == 0 ? x : x / l; }
#define EDDY_NORMALIZE(T) EDDY_FN T normalize(T x) { return x > 0 ? (T)1 : x < 0 ? (T)-1 : x; } \
  EDDY_NORMALIZE_N(T, 2) EDDY_NORMALIZE_N(T, 3) EDDY_NORMALIZE_N(T, 4)
EDDY_NORMALIZE(float)
EDDY_ALSO(EDDY_NORMALIZE(double))
// Needs eddy_scaled.
//@ fast_length
#define EDDY_FAST_LENGTH(n) EDDY_FN EDDY_CHOSEN float fast_length(float##n x) { return __builtin_sqrtf(dot(x, x)); } \
  EDDY_ALSO(EDDY_NO_DOUBLE double fast_length(double##n);)
EDDY_FAST_LENGTH() EDDY_FAST_LENGTH(2) EDDY_FAST_LENGTH(3) EDDY_FAST_LENGTH(4)
//@ fast_distance
#define EDDY_FAST_DISTANCE(n) EDDY_FN EDDY_CHOSEN float fast_distance(float##n x, float##n y) { return fast_length(x - y); } \
  EDDY_ALSO(EDDY_NO_DOUBLE double fast_distance(double##n, double##n);)
EDDY_FAST_DISTANCE() EDDY_FAST_DISTANCE(2) EDDY_FAST_DISTANCE(3) EDDY_FAST_DISTANCE(4)
//@ fast_normalize
#define EDDY_FAST_NORMALIZE(n) EDDY_FN EDDY_CHOSEN float##n fast_normalize(float##n x) { const float l = fast_length(x); return l == 0.0f ? x : x / l; } \
  EDDY_ALSO(EDDY_NO_DOUBLE double##n fast_normalize(double##n);)
EDDY_FN EDDY_CHOSEN float fast_normalize(float x) { return normalize(x); }
EDDY_ALSO(EDDY_NO_DOUBLE double fast_normalize(double);)
EDDY_FAST_NORMALIZE(2) EDDY_FAST_NORMALIZE(3) EDDY_FAST_NORMALIZE(4)
//@ M_E
#define M_E 2.71828182845904523536
//@ M_LOG2E
#define M_LOG2E 1.44269504088896340736
//@ M_LOG10E
#define M_LOG10E 0.43429448190325182765
//@ M_LN2
#define M_LN2 0.69314718055994530942
//@ M_LN10
#define M_LN10 2.30258509299404568402
//@ M_PI
#define M_PI 3.14159265358979323846
//@ M_PI_2
#define M_PI_2 1.57079632679489661923
//@ M_PI_4
#define M_PI_4 0.78539816339744830962
//@ M_1_PI
#define M_1_PI 0.31830988618379067154
//@ M_2_PI
#define M_2_PI 0.63661977236758134308
//@ M_2_SQRTPI
#define M_2_SQRTPI 1.12837916709551257390
//@ M_SQRT2
#define M_SQRT2 1.41421356237309504880
//@ M_SQRT1_2
#define M_SQRT1_2 0.70710678118654752440
