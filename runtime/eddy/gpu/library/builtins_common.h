// Common and geometric functions of OpenCL C 1.2. A section begins with the names it defines; a source gets the sections it names.
//@ clamp
#define EDDY_CLAMP_N(n, T) \
  EDDY_FN T##n clamp(T##n x, T low, T high) { T##n r; for (int i = 0; i < n; i++) r[i] = clamp(x[i], low, high); return r; }
#define EDDY_CLAMP(T, U, S, width, is_signed) \
  EDDY_FN T clamp(T x, T low, T high) { const T t = x < low ? low : x; return t > high ? high : t; } \
  EDDY_WIDTHS(EDDY_TERNARY_N, T, clamp) \
  EDDY_WIDTHS(EDDY_CLAMP_N, T)
EDDY_INTEGERS(EDDY_CLAMP)
EDDY_INLINE3(clamp, __builtin_fminf(__builtin_fmaxf(x, y), z))
EDDY_WIDTHS(EDDY_CLAMP_N, float)
//@ min
#define EDDY_MIN(T, U, S, width, is_signed) \
  EDDY_FN T min(T x, T y) { return y < x ? y : x; } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, min) \
  EDDY_WIDTHS(EDDY_BINARY_S, T, min)
EDDY_INTEGERS(EDDY_MIN)
EDDY_INLINE2(min, y < x ? y : x)
EDDY_WIDTHS(EDDY_BINARY_S, float, min)
//@ max
#define EDDY_MAX(T, U, S, width, is_signed) \
  EDDY_FN T max(T x, T y) { return x < y ? y : x; } \
  EDDY_WIDTHS(EDDY_BINARY_N, T, max) \
  EDDY_WIDTHS(EDDY_BINARY_S, T, max)
EDDY_INTEGERS(EDDY_MAX)
EDDY_INLINE2(max, x < y ? y : x)
EDDY_WIDTHS(EDDY_BINARY_S, float, max)
//@ degrees
EDDY_INLINE1(degrees, x * 57.29577951308232f)
//@ radians
EDDY_INLINE1(radians, x * 0.017453292519943295f)
//@ sign
EDDY_INLINE1(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? x : 0.0f)
//@ step
EDDY_INLINE2(step, y < x ? 0.0f : 1.0f)
#define EDDY_STEP_S(n, unused) EDDY_FN float##n step(float edge, float##n x) { return step((float##n)(edge), x); }
EDDY_WIDTHS(EDDY_STEP_S, )
//@ mix
EDDY_INLINE3(mix, x + (y - x) * z)
#define EDDY_MIX_S(n, unused) EDDY_FN float##n mix(float##n x, float##n y, float a) { return mix(x, y, (float##n)(a)); }
EDDY_WIDTHS(EDDY_MIX_S, )
//@ smoothstep
EDDY_INLINE3(smoothstep, ({ const float eddy_t = __builtin_fminf(__builtin_fmaxf((z - x) / (y - x), 0.0f), 1.0f); \
  eddy_t * eddy_t * (3.0f - 2.0f * eddy_t); }))
#define EDDY_SMOOTHSTEP_S(n, unused) \
  EDDY_FN float##n smoothstep(float low, float high, float##n x) { return smoothstep((float##n)(low), (float##n)(high), x); }
EDDY_WIDTHS(EDDY_SMOOTHSTEP_S, )
//@ dot
EDDY_FN float dot(float x, float y) { return x * y; }
#define EDDY_DOT(n) \
  EDDY_FN float dot(float##n x, float##n y) { float s = x[0] * y[0]; for (int i = 1; i < n; i++) s += x[i] * y[i]; return s; }
EDDY_DOT(2) EDDY_DOT(3) EDDY_DOT(4)
//@ cross
EDDY_FN float3 cross(float3 a, float3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }
EDDY_FN float4 cross(float4 a, float4 b) { return (float4)(a.yzx * b.zxy - a.zxy * b.yzx, 0.0f); }
//@ eddy_scaled
/// Squares must neither overflow nor vanish: a vector times a power of two, which is exact, and the way back.
EDDY_FN float eddy_scale(float most) { return most > 1e18f ? 0x1p-80f : most < 1e-15f ? 0x1p80f : 1.0f; }
#define EDDY_MOST(n) EDDY_FN float eddy_most(float##n x) { \
  float m = __builtin_fabsf(x[0]); for (int i = 1; i < n; i++) m = __builtin_fmaxf(m, __builtin_fabsf(x[i])); return m; }
EDDY_MOST(2) EDDY_MOST(3) EDDY_MOST(4)
//@ length
EDDY_FN float length(float x) { return __builtin_fabsf(x); }
#define EDDY_LENGTH(n) EDDY_FN float length(float##n x) { \
  const float most = eddy_most(x), by = eddy_scale(most); \
  if (most == INFINITY) return most; \
  x *= by; return __builtin_sqrtf(dot(x, x)) / by; }
EDDY_LENGTH(2) EDDY_LENGTH(3) EDDY_LENGTH(4)
// Needs dot and eddy_scaled.
//@ distance
#define EDDY_DISTANCE(n) EDDY_FN float distance(float##n x, float##n y) { return length(x - y); }
EDDY_DISTANCE() EDDY_DISTANCE(2) EDDY_DISTANCE(3) EDDY_DISTANCE(4)
//@ normalize
EDDY_FN float normalize(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x; }
#define EDDY_NORMALIZE(n) EDDY_FN float##n normalize(float##n x) { \
  const float most = eddy_most(x); \
  if (most == INFINITY) for (int i = 0; i < n; i++) x[i] = __builtin_copysignf(__builtin_fabsf(x[i]) == INFINITY ? 1.0f : x[i] != x[i] ? x[i] : 0.0f, x[i]); \
  x *= eddy_scale(most == INFINITY ? 1.0f : most); \
  const float l = __builtin_sqrtf(dot(x, x)); return l == 0.0f ? x : x / l; }
EDDY_NORMALIZE(2) EDDY_NORMALIZE(3) EDDY_NORMALIZE(4)
// Needs eddy_scaled.
//@ fast_length
#define EDDY_FAST_LENGTH(n) EDDY_FN float fast_length(float##n x) { return __builtin_sqrtf(dot(x, x)); }
EDDY_FAST_LENGTH() EDDY_FAST_LENGTH(2) EDDY_FAST_LENGTH(3) EDDY_FAST_LENGTH(4)
//@ fast_distance
#define EDDY_FAST_DISTANCE(n) EDDY_FN float fast_distance(float##n x, float##n y) { return fast_length(x - y); }
EDDY_FAST_DISTANCE() EDDY_FAST_DISTANCE(2) EDDY_FAST_DISTANCE(3) EDDY_FAST_DISTANCE(4)
//@ fast_normalize
EDDY_FN float fast_normalize(float x) { return normalize(x); }
#define EDDY_FAST_NORMALIZE(n) EDDY_FN float##n fast_normalize(float##n x) { const float l = fast_length(x); return l == 0.0f ? x : x / l; }
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
