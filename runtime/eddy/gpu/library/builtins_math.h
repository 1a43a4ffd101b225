// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Mathematical functions of OpenCL C 1.2. A section begins with the names it defines; a source gets the sections it names.
//@ exp
EDDY_LIBRARY1(exp)
//@ exp2
EDDY_LIBRARY1(exp2)
//@ exp10
EDDY_LIBRARY1(exp10)
//@ expm1
EDDY_LIBRARY1(expm1)
//@ log
EDDY_LIBRARY1(log)
//@ log2
EDDY_LIBRARY1(log2)
//@ log10
EDDY_LIBRARY1(log10)
//@ log1p
EDDY_LIBRARY1(log1p)
//@ sin
EDDY_LIBRARY1(sin)
//@ cos
EDDY_LIBRARY1(cos)
//@ tan
EDDY_LIBRARY1(tan)
//@ asin
EDDY_LIBRARY1(asin)
//@ acos
EDDY_LIBRARY1(acos)
//@ atan
EDDY_LIBRARY1(atan)
//@ sinh
EDDY_LIBRARY1(sinh)
//@ cosh
EDDY_LIBRARY1(cosh)
//@ tanh
EDDY_LIBRARY1(tanh)
//@ asinh
EDDY_LIBRARY1(asinh)
//@ acosh
EDDY_LIBRARY1(acosh)
//@ atanh
EDDY_LIBRARY1(atanh)
//@ cbrt
EDDY_LIBRARY1(cbrt)
//@ sinpi
EDDY_LIBRARY1(sinpi)
//@ cospi
EDDY_LIBRARY1(cospi)
//@ tanpi
EDDY_LIBRARY1(tanpi)
//@ asinpi
EDDY_LIBRARY1(asinpi)
//@ acospi
EDDY_LIBRARY1(acospi)
//@ atanpi
EDDY_LIBRARY1(atanpi)
//@ erf
EDDY_LIBRARY1(erf)
//@ erfc
EDDY_LIBRARY1(erfc)
//@ tgamma
EDDY_LIBRARY1(tgamma)
//@ logb
EDDY_LIBRARY1(logb)
//@ pow
EDDY_LIBRARY2(pow)
//@ powr
EDDY_LIBRARY2(powr)
//@ atan2
EDDY_LIBRARY2(atan2)
//@ atan2pi
EDDY_LIBRARY2(atan2pi)
//@ fmod
EDDY_LIBRARY2(fmod)
//@ hypot
EDDY_LIBRARY2(hypot)
//@ remainder
EDDY_LIBRARY2(remainder)
//@ nextafter
EDDY_LIBRARY2(nextafter)
//@ ldexp
EDDY_LIBRARY_INT(ldexp)
EDDY_WIDTHS(EDDY_MIXED_S, float, float, int, ldexp)
EDDY_ALSO(EDDY_WIDTHS(EDDY_MIXED_S, double, double, int, ldexp))
//@ pown
EDDY_LIBRARY_INT(pown)
//@ rootn
EDDY_LIBRARY_INT(rootn)
//@ ilogb
#define EDDY_ILOGB(T, of) int of(T); EDDY_FN int ilogb(T x) { return of(x); } EDDY_WIDTHS(EDDY_UNARY_N, int, T, ilogb)
EDDY_ILOGB(float, eddy_ilogb)
EDDY_ALSO(EDDY_ILOGB(double, eddy_ilogb64))
//@ lgamma lgamma_r
float eddy_lgamma_r(float, __private int *);
EDDY_ALSO(double eddy_lgamma_r64(double, __private int *);)
EDDY_LEAVES_INT(lgamma_r, eddy_lgamma_r(x, &rest), eddy_lgamma_r64(x, &rest))
EDDY_INLINE1(lgamma, ({ int eddy_sign; eddy_lgamma_r(x, &eddy_sign); }), ({ int eddy_sign; eddy_lgamma_r64(x, &eddy_sign); }))
//@ frexp
float eddy_frexp(float, __private int *);
EDDY_ALSO(double eddy_frexp64(double, __private int *);)
EDDY_LEAVES_INT(frexp, eddy_frexp(x, &rest), eddy_frexp64(x, &rest))
//@ modf
EDDY_ALSO(double eddy_trunc64(double);)
EDDY_LEAVES(modf, ({ rest = __builtin_truncf(x); \
  __builtin_copysignf(__builtin_fabsf(x) == INFINITY ? 0.0f : x - rest, x); }), \
  ({ rest = eddy_trunc64(x); __builtin_copysign(__builtin_fabs(x) == INFINITY ? 0.0 : x - rest, x); }))
//@ fract
EDDY_ALSO(double eddy_floor64(double);)
EDDY_LEAVES(fract, ({ rest = __builtin_floorf(x); \
  x != x ? x : x == 0.0f ? x : __builtin_fabsf(x) == INFINITY ? __builtin_copysignf(0.0f, x) : __builtin_fminf(x - rest, 0x1.fffffep-1f); }), \
  ({ rest = eddy_floor64(x); const double eddy_part = x - rest; \
  x != x || x == 0.0 ? x : __builtin_fabs(x) == INFINITY ? __builtin_copysign(0.0, x) : eddy_part < 1.0 ? eddy_part : 0x1.fffffffffffffp-1; }))
//@ sincos
float eddy_sin(float);
float eddy_cos(float);
EDDY_ALSO(double eddy_sin64(double); double eddy_cos64(double);)
EDDY_LEAVES(sincos, ({ rest = eddy_cos(x); eddy_sin(x); }), ({ rest = eddy_cos64(x); eddy_sin64(x); }))
//@ remquo
#define EDDY_REMQUO_N(n, space, T, of) EDDY_FN T##n remquo(T##n x, T##n y, space int##n *p) { \
  T##n r; int##n qs; for (int i = 0; i < n; i++) { int q; r[i] = of(x[i], y[i], &q); qs[i] = q; } *p = qs; return r; }
#define EDDY_REMQUO(space, T, of) \
  EDDY_FN T remquo(T x, T y, space int *p) { int q; const T r = of(x, y, &q); *p = q; return r; } \
  EDDY_WIDTHS(EDDY_REMQUO_N, space, T, of)
float eddy_remquo(float, float, __private int *);
EDDY_SPACES(EDDY_REMQUO, float, eddy_remquo)
EDDY_ALSO(double eddy_remquo64(double, double, __private int *); EDDY_SPACES(EDDY_REMQUO, double, eddy_remquo64))
//@ nan
EDDY_FN float nan(uint code) { return __builtin_astype(0x7fc00000u | (code & 0x3fffffu), float); }
EDDY_WIDTHS(EDDY_UNARY_N, float, uint, nan)
EDDY_ALSO(EDDY_FN double nan(ulong code) { return __builtin_astype(0x7ff8000000000000ul | (code & 0x7fffffffffffful), double); } \
  EDDY_WIDTHS(EDDY_UNARY_N, double, ulong, nan))
//@ sqrt
EDDY_ALSO(double eddy_sqrt64(double);)
EDDY_INLINE1(sqrt, __builtin_sqrtf(x), eddy_sqrt64(x))
//@ rsqrt
EDDY_ALSO(double eddy_sqrt64(double);)
EDDY_INLINE1(rsqrt, 1.0f / __builtin_sqrtf(x), 1.0 / eddy_sqrt64(x))
//@ fabs
EDDY_INLINE1(fabs, __builtin_fabsf(x), __builtin_fabs(x))
//@ floor
EDDY_ALSO(double eddy_floor64(double);)
EDDY_INLINE1(floor, __builtin_floorf(x), eddy_floor64(x))
//@ ceil
EDDY_ALSO(double eddy_ceil64(double);)
EDDY_INLINE1(ceil, __builtin_ceilf(x), eddy_ceil64(x))
//@ trunc
EDDY_ALSO(double eddy_trunc64(double);)
EDDY_INLINE1(trunc, __builtin_truncf(x), eddy_trunc64(x))
//@ round
EDDY_ALSO(double eddy_round64(double);)
EDDY_INLINE1(round, __builtin_roundf(x), eddy_round64(x))
//@ rint
EDDY_ALSO(double eddy_rint64(double);)
EDDY_INLINE1(rint, __builtin_rintf(x), eddy_rint64(x))
//@ fmin
EDDY_INLINE2(fmin, __builtin_fminf(x, y), x != x || y < x ? y : x)
EDDY_SCALARS(EDDY_BINARY_S, fmin)
//@ fmax
EDDY_INLINE2(fmax, __builtin_fmaxf(x, y), x != x || x < y ? y : x)
EDDY_SCALARS(EDDY_BINARY_S, fmax)
//@ maxmag
EDDY_INLINE2(maxmag, ({ const float eddy_x = __builtin_fabsf(x), eddy_y = __builtin_fabsf(y); \
  eddy_x > eddy_y ? x : eddy_y > eddy_x ? y : __builtin_fmaxf(x, y); }), \
  ({ const double eddy_x = __builtin_fabs(x), eddy_y = __builtin_fabs(y); \
  eddy_x > eddy_y ? x : eddy_y > eddy_x ? y : x != x || x < y ? y : x; }))
//@ minmag
EDDY_INLINE2(minmag, ({ const float eddy_x = __builtin_fabsf(x), eddy_y = __builtin_fabsf(y); \
  eddy_x < eddy_y ? x : eddy_y < eddy_x ? y : __builtin_fminf(x, y); }), \
  ({ const double eddy_x = __builtin_fabs(x), eddy_y = __builtin_fabs(y); \
  eddy_x < eddy_y ? x : eddy_y < eddy_x ? y : x != x || y < x ? y : x; }))
//@ copysign
EDDY_INLINE2(copysign, __builtin_copysignf(x, y), __builtin_copysign(x, y))
//@ fdim
EDDY_INLINE2(fdim, x > y ? x - y : x <= y ? 0.0f : NAN, x > y ? x - y : x <= y ? 0.0 : __builtin_nan(""))
//@ fma
EDDY_ALSO(double eddy_fma64(double, double, double);)
EDDY_INLINE3(fma, __builtin_fmaf(x, y, z), eddy_fma64(x, y, z))
//@ mad
EDDY_INLINE3(mad, x * y + z, x * y + z)
//@ native_exp
EDDY_FLOAT1(native_exp, exp(x))
//@ half_exp
EDDY_FLOAT1(half_exp, exp(x))
//@ native_exp2
EDDY_FLOAT1(native_exp2, exp2(x))
//@ half_exp2
EDDY_FLOAT1(half_exp2, exp2(x))
//@ native_exp10
EDDY_FLOAT1(native_exp10, exp10(x))
//@ half_exp10
EDDY_FLOAT1(half_exp10, exp10(x))
//@ native_log
EDDY_FLOAT1(native_log, log(x))
//@ half_log
EDDY_FLOAT1(half_log, log(x))
//@ native_log2
EDDY_FLOAT1(native_log2, log2(x))
//@ half_log2
EDDY_FLOAT1(half_log2, log2(x))
//@ native_log10
EDDY_FLOAT1(native_log10, log10(x))
//@ half_log10
EDDY_FLOAT1(half_log10, log10(x))
//@ native_sin
EDDY_FLOAT1(native_sin, sin(x))
//@ half_sin
EDDY_FLOAT1(half_sin, sin(x))
//@ native_cos
EDDY_FLOAT1(native_cos, cos(x))
//@ half_cos
EDDY_FLOAT1(half_cos, cos(x))
//@ native_tan
EDDY_FLOAT1(native_tan, tan(x))
//@ half_tan
EDDY_FLOAT1(half_tan, tan(x))
//@ native_sqrt
EDDY_FLOAT1(native_sqrt, sqrt(x))
//@ half_sqrt
EDDY_FLOAT1(half_sqrt, sqrt(x))
//@ native_rsqrt
EDDY_FLOAT1(native_rsqrt, rsqrt(x))
//@ half_rsqrt
EDDY_FLOAT1(half_rsqrt, rsqrt(x))
//@ native_recip
EDDY_FLOAT1(native_recip, 1.0f / x)
//@ native_divide
EDDY_FLOAT2(native_divide, x / y)
//@ native_powr
EDDY_FLOAT2(native_powr, powr(x, y))
//@ half_recip
EDDY_FLOAT1(half_recip, 1.0f / x)
//@ half_divide
EDDY_FLOAT2(half_divide, x / y)
//@ half_powr
EDDY_FLOAT2(half_powr, powr(x, y))
