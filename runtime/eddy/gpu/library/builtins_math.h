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
float eddy_ldexp(float, int);
EDDY_FN float ldexp(float x, int n) { return eddy_ldexp(x, n); }
EDDY_WIDTHS(EDDY_MIXED_N, float, float, int, ldexp)
EDDY_WIDTHS(EDDY_MIXED_S, float, float, int, ldexp)
//@ pown
float eddy_pown(float, int);
EDDY_FN float pown(float x, int n) { return eddy_pown(x, n); }
EDDY_WIDTHS(EDDY_MIXED_N, float, float, int, pown)
//@ rootn
float eddy_rootn(float, int);
EDDY_FN float rootn(float x, int n) { return eddy_rootn(x, n); }
EDDY_WIDTHS(EDDY_MIXED_N, float, float, int, rootn)
//@ ilogb
int eddy_ilogb(float);
EDDY_FN int ilogb(float x) { return eddy_ilogb(x); }
EDDY_WIDTHS(EDDY_UNARY_N, int, float, ilogb)
//@ lgamma lgamma_r
float eddy_lgamma_r(float, __private int *);
EDDY_SPACES(EDDY_LEAVES1, lgamma_r, int, eddy_lgamma_r(x, &rest))
EDDY_INLINE1(lgamma, ({ int eddy_sign; eddy_lgamma_r(x, &eddy_sign); }))
//@ frexp
float eddy_frexp(float, __private int *);
EDDY_SPACES(EDDY_LEAVES1, frexp, int, eddy_frexp(x, &rest))
//@ modf
EDDY_SPACES(EDDY_LEAVES1, modf, float, ({ rest = __builtin_truncf(x); \
  __builtin_copysignf(__builtin_fabsf(x) == INFINITY ? 0.0f : x - rest, x); }))
//@ fract
EDDY_SPACES(EDDY_LEAVES1, fract, float, ({ rest = __builtin_floorf(x); \
  x != x ? x : x == 0.0f ? x : __builtin_fabsf(x) == INFINITY ? __builtin_copysignf(0.0f, x) : __builtin_fminf(x - rest, 0x1.fffffep-1f); }))
//@ sincos
float eddy_sin(float);
float eddy_cos(float);
EDDY_SPACES(EDDY_LEAVES1, sincos, float, ({ rest = eddy_cos(x); eddy_sin(x); }))
//@ remquo
float eddy_remquo(float, float, __private int *);
#define EDDY_REMQUO_N(n, space) EDDY_FN float##n remquo(float##n x, float##n y, space int##n *p) { \
  float##n r; int##n qs; for (int i = 0; i < n; i++) { int q; r[i] = eddy_remquo(x[i], y[i], &q); qs[i] = q; } *p = qs; return r; }
#define EDDY_REMQUO(space, ...) \
  EDDY_FN float remquo(float x, float y, space int *p) { int q; const float r = eddy_remquo(x, y, &q); *p = q; return r; } \
  EDDY_WIDTHS(EDDY_REMQUO_N, space)
EDDY_SPACES(EDDY_REMQUO, )
//@ nan
EDDY_FN float nan(uint code) { return __builtin_astype(0x7fc00000u | (code & 0x3fffffu), float); }
EDDY_WIDTHS(EDDY_UNARY_N, float, uint, nan)
//@ sqrt
EDDY_INLINE1(sqrt, __builtin_sqrtf(x))
//@ rsqrt
EDDY_INLINE1(rsqrt, 1.0f / __builtin_sqrtf(x))
//@ fabs
EDDY_INLINE1(fabs, __builtin_fabsf(x))
//@ floor
EDDY_INLINE1(floor, __builtin_floorf(x))
//@ ceil
EDDY_INLINE1(ceil, __builtin_ceilf(x))
//@ trunc
EDDY_INLINE1(trunc, __builtin_truncf(x))
//@ round
EDDY_INLINE1(round, __builtin_roundf(x))
//@ rint
EDDY_INLINE1(rint, __builtin_rintf(x))
//@ fmin
EDDY_INLINE2(fmin, __builtin_fminf(x, y))
EDDY_WIDTHS(EDDY_BINARY_S, float, fmin)
//@ fmax
EDDY_INLINE2(fmax, __builtin_fmaxf(x, y))
EDDY_WIDTHS(EDDY_BINARY_S, float, fmax)
//@ maxmag
EDDY_INLINE2(maxmag, ({ const float eddy_x = __builtin_fabsf(x), eddy_y = __builtin_fabsf(y); \
  eddy_x > eddy_y ? x : eddy_y > eddy_x ? y : __builtin_fmaxf(x, y); }))
//@ minmag
EDDY_INLINE2(minmag, ({ const float eddy_x = __builtin_fabsf(x), eddy_y = __builtin_fabsf(y); \
  eddy_x < eddy_y ? x : eddy_y < eddy_x ? y : __builtin_fminf(x, y); }))
//@ copysign
EDDY_INLINE2(copysign, __builtin_copysignf(x, y))
//@ fdim
EDDY_INLINE2(fdim, x > y ? x - y : x <= y ? 0.0f : NAN)
//@ fma
EDDY_INLINE3(fma, __builtin_fmaf(x, y, z))
//@ mad
EDDY_INLINE3(mad, x * y + z)
//@ native_exp
EDDY_INLINE1(native_exp, exp(x))
//@ half_exp
EDDY_INLINE1(half_exp, exp(x))
//@ native_exp2
EDDY_INLINE1(native_exp2, exp2(x))
//@ half_exp2
EDDY_INLINE1(half_exp2, exp2(x))
//@ native_exp10
EDDY_INLINE1(native_exp10, exp10(x))
//@ half_exp10
EDDY_INLINE1(half_exp10, exp10(x))
//@ native_log
EDDY_INLINE1(native_log, log(x))
//@ half_log
EDDY_INLINE1(half_log, log(x))
//@ native_log2
EDDY_INLINE1(native_log2, log2(x))
//@ half_log2
EDDY_INLINE1(half_log2, log2(x))
//@ native_log10
EDDY_INLINE1(native_log10, log10(x))
//@ half_log10
EDDY_INLINE1(half_log10, log10(x))
//@ native_sin
EDDY_INLINE1(native_sin, sin(x))
//@ half_sin
EDDY_INLINE1(half_sin, sin(x))
//@ native_cos
EDDY_INLINE1(native_cos, cos(x))
//@ half_cos
EDDY_INLINE1(half_cos, cos(x))
//@ native_tan
EDDY_INLINE1(native_tan, tan(x))
//@ half_tan
EDDY_INLINE1(half_tan, tan(x))
//@ native_sqrt
EDDY_INLINE1(native_sqrt, sqrt(x))
//@ half_sqrt
EDDY_INLINE1(half_sqrt, sqrt(x))
//@ native_rsqrt
EDDY_INLINE1(native_rsqrt, rsqrt(x))
//@ half_rsqrt
EDDY_INLINE1(half_rsqrt, rsqrt(x))
//@ native_recip
EDDY_INLINE1(native_recip, 1.0f / x)
//@ native_divide
EDDY_INLINE2(native_divide, x / y)
//@ native_powr
EDDY_INLINE2(native_powr, powr(x, y))
//@ half_recip
EDDY_INLINE1(half_recip, 1.0f / x)
//@ half_divide
EDDY_INLINE2(half_divide, x / y)
//@ half_powr
EDDY_INLINE2(half_powr, powr(x, y))
