// OpenCL C for Eddy's GPU clusters. docs/reference/opencl.md lists what is here. Names that begin with eddy_ or EDDY_
// are not for kernels.

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef uint size_t;
typedef int ptrdiff_t;
typedef int intptr_t;
typedef uint uintptr_t;

#define EDDY_VECTORS(T)                             \
  typedef T T##2 __attribute__((ext_vector_type(2))); \
  typedef T T##3 __attribute__((ext_vector_type(3))); \
  typedef T T##4 __attribute__((ext_vector_type(4))); \
  typedef T T##8 __attribute__((ext_vector_type(8))); \
  typedef T T##16 __attribute__((ext_vector_type(16)));
EDDY_VECTORS(char)
EDDY_VECTORS(uchar)
EDDY_VECTORS(short)
EDDY_VECTORS(ushort)
EDDY_VECTORS(int)
EDDY_VECTORS(uint)
EDDY_VECTORS(long)
EDDY_VECTORS(ulong)
EDDY_VECTORS(float)

#define EDDY_FN __attribute__((overloadable, always_inline, unused)) static inline

// ---- Where a work-item is

// Constant while a kernel runs, so neither volatile nor a load the compiler would repeat.
#define EDDY_LANE(name) ({ uint v_; __asm__("lw %0, %1(tp)" : "=r"(v_) : "i"(EDDY_CTX_##name)); v_; })
#define EDDY_WORD(name) ({ uint v_; __asm__("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })
#define EDDY_DIMENSION(name, where, field, other)                                            \
  EDDY_FN size_t name(uint dimension) {                                                      \
    return dimension == 0 ? where(field##_0) : dimension == 1 ? where(field##_1) : dimension == 2 ? where(field##_2) : other; \
  }
EDDY_DIMENSION(get_global_id, EDDY_LANE, GLOBAL_ID, 0)
EDDY_DIMENSION(get_local_id, EDDY_LANE, LOCAL_ID, 0)
EDDY_DIMENSION(get_group_id, EDDY_LANE, GROUP_ID, 0)
EDDY_DIMENSION(get_global_size, EDDY_WORD, GLOBAL_SIZE, 1)
EDDY_DIMENSION(get_local_size, EDDY_WORD, LOCAL_SIZE, 1)
EDDY_DIMENSION(get_num_groups, EDDY_WORD, NUM_GROUPS, 1)
EDDY_DIMENSION(get_global_offset, EDDY_WORD, GLOBAL_OFFSET, 0)
EDDY_FN uint get_work_dim(void) { return EDDY_WORD(WORK_DIM); }

// ---- Together

typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2

// A work-group is on one core, whose lanes share their cache: order is all a fence has to give.
EDDY_FN void barrier(cl_mem_fence_flags flags) {
  (void)flags;
  __asm__ volatile(".insn r 0x0b, 4, 0, x0, %0, %1 # eddy-barrier" : : "r"(EDDY_LANE(GROUP_SLOT)), "r"(EDDY_WORD(GROUP_WARPS)) : "memory");
}
EDDY_FN void mem_fence(cl_mem_fence_flags flags) { (void)flags; __asm__ volatile("" : : : "memory"); }
EDDY_FN void read_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
EDDY_FN void write_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }

/// Capabilities of the cluster: bit 0 an FPU, bits 15:8 log2 of the data cache's bytes ([000] 4.1.1).
EDDY_FN uint eddy_cluster_cap(void) { uint v; __asm__("csrr %0, 0xfd0" : "=r"(v)); return v; }

int printf(__constant const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- Vectors by their elements

#define EDDY_WIDTHS(M, ...) M(2, __VA_ARGS__) M(3, __VA_ARGS__) M(4, __VA_ARGS__) M(8, __VA_ARGS__) M(16, __VA_ARGS__)
#define EDDY_UNARY_N(n, R, T, f) EDDY_FN R##n f(T##n x) { R##n r; for (int i = 0; i < n; i++) r[i] = f(x[i]); return r; }
#define EDDY_BINARY_N(n, T, f) EDDY_FN T##n f(T##n x, T##n y) { T##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y[i]); return r; }
#define EDDY_BINARY_S(n, T, f) EDDY_FN T##n f(T##n x, T y) { T##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y); return r; }
#define EDDY_TERNARY_N(n, T, f) \
  EDDY_FN T##n f(T##n x, T##n y, T##n z) { T##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y[i], z[i]); return r; }

// ---- Floating point

#define MAXFLOAT 0x1.fffffep127f
#define HUGE_VALF __builtin_huge_valf()
#define INFINITY __builtin_huge_valf()
#define NAN __builtin_astype(0x7fc00000, float)
#define FLT_MAX MAXFLOAT
#define FLT_MIN 0x1p-126f
#define FLT_EPSILON 0x1p-23f
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_EXP 128
#define FLT_MIN_EXP -125
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LOG10E_F 0.43429448190325182765f
#define M_LN2_F 0.69314718055994530942f
#define M_LN10_F 2.30258509299404568402f
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_PI_4_F 0.78539816339744830962f
#define M_1_PI_F 0.31830988618379067154f
#define M_2_PI_F 0.63661977236758134308f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.70710678118654752440f

#define EDDY_LIBRARY1(f) \
  float eddy_##f(float); \
  EDDY_FN float f(float x) { return eddy_##f(x); } \
  EDDY_WIDTHS(EDDY_UNARY_N, float, float, f)
#define EDDY_LIBRARY2(f) \
  float eddy_##f(float, float); \
  EDDY_FN float f(float x, float y) { return eddy_##f(x, y); } \
  EDDY_WIDTHS(EDDY_BINARY_N, float, f)
#define EDDY_INLINE1(f, expression) \
  EDDY_FN float f(float x) { return expression; } \
  EDDY_WIDTHS(EDDY_UNARY_N, float, float, f)
#define EDDY_INLINE2(f, expression) \
  EDDY_FN float f(float x, float y) { return expression; } \
  EDDY_WIDTHS(EDDY_BINARY_N, float, f)
#define EDDY_INLINE3(f, expression) \
  EDDY_FN float f(float x, float y, float z) { return expression; } \
  EDDY_WIDTHS(EDDY_TERNARY_N, float, f)
#define EDDY_TEST1(f, expression) \
  EDDY_FN int f(float x) { return expression; } \
  EDDY_WIDTHS(EDDY_TEST_N, f)
#define EDDY_TEST_N(n, f) EDDY_FN int##n f(float##n x) { int##n r; for (int i = 0; i < n; i++) r[i] = f(x[i]) ? -1 : 0; return r; }

EDDY_LIBRARY1(exp)
EDDY_LIBRARY1(exp2)
EDDY_LIBRARY1(exp10)
EDDY_LIBRARY1(expm1)
EDDY_LIBRARY1(log)
EDDY_LIBRARY1(log2)
EDDY_LIBRARY1(log10)
EDDY_LIBRARY1(log1p)
EDDY_LIBRARY1(sin)
EDDY_LIBRARY1(cos)
EDDY_LIBRARY1(tan)
EDDY_LIBRARY1(asin)
EDDY_LIBRARY1(acos)
EDDY_LIBRARY1(atan)
EDDY_LIBRARY1(sinh)
EDDY_LIBRARY1(cosh)
EDDY_LIBRARY1(tanh)
EDDY_LIBRARY1(cbrt)
EDDY_LIBRARY2(pow)
EDDY_LIBRARY2(atan2)
EDDY_LIBRARY2(fmod)
EDDY_LIBRARY2(hypot)
float eddy_ldexp(float, int);
EDDY_FN float ldexp(float x, int n) { return eddy_ldexp(x, n); }
EDDY_FN float pown(float x, int y) { return eddy_pow(x, (float)y); }
EDDY_INLINE2(powr, eddy_pow(x, y))

EDDY_INLINE1(sqrt, __builtin_sqrtf(x))
EDDY_INLINE1(rsqrt, 1.0f / __builtin_sqrtf(x))
EDDY_INLINE1(fabs, __builtin_fabsf(x))
EDDY_INLINE1(floor, __builtin_floorf(x))
EDDY_INLINE1(ceil, __builtin_ceilf(x))
EDDY_INLINE1(trunc, __builtin_truncf(x))
EDDY_INLINE1(round, __builtin_roundf(x))
EDDY_INLINE1(rint, __builtin_rintf(x))
EDDY_INLINE2(fmin, __builtin_fminf(x, y))
EDDY_INLINE2(fmax, __builtin_fmaxf(x, y))
EDDY_INLINE2(copysign, __builtin_copysignf(x, y))
EDDY_INLINE2(fdim, x > y ? x - y : x <= y ? 0.0f : NAN)
EDDY_INLINE3(fma, __builtin_fmaf(x, y, z))
EDDY_INLINE3(mad, x * y + z)
EDDY_WIDTHS(EDDY_BINARY_S, float, fmin)
EDDY_WIDTHS(EDDY_BINARY_S, float, fmax)
EDDY_TEST1(isnan, x != x)
EDDY_TEST1(isinf, __builtin_fabsf(x) == INFINITY)
EDDY_TEST1(isfinite, __builtin_fabsf(x) < INFINITY)
EDDY_TEST1(signbit, __builtin_astype(x, uint) >> 31)

#define EDDY_NATIVE(f) \
  EDDY_INLINE1(native_##f, f(x)) \
  EDDY_INLINE1(half_##f, f(x))
EDDY_NATIVE(exp)
EDDY_NATIVE(exp2)
EDDY_NATIVE(log)
EDDY_NATIVE(log2)
EDDY_NATIVE(sin)
EDDY_NATIVE(cos)
EDDY_NATIVE(tan)
EDDY_NATIVE(sqrt)
EDDY_NATIVE(rsqrt)
EDDY_INLINE1(native_recip, 1.0f / x)
EDDY_INLINE2(native_divide, x / y)
EDDY_INLINE2(native_powr, eddy_pow(x, y))

EDDY_INLINE1(degrees, x * 57.29577951308232f)
EDDY_INLINE1(radians, x * 0.017453292519943295f)
EDDY_INLINE1(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x == 0.0f ? x : 0.0f)
EDDY_INLINE2(step, y < x ? 0.0f : 1.0f)
EDDY_INLINE3(mix, x + (y - x) * z)
EDDY_FN float smoothstep(float low, float high, float x) {
  const float t = __builtin_fminf(__builtin_fmaxf((x - low) / (high - low), 0.0f), 1.0f);
  return t * t * (3.0f - 2.0f * t);
}
EDDY_FN float dot(float x, float y) { return x * y; }
#define EDDY_GEOMETRY(n, unused)                                                                                   \
  EDDY_FN float dot(float##n x, float##n y) { float s = x[0] * y[0]; for (int i = 1; i < n; i++) s += x[i] * y[i]; return s; } \
  EDDY_FN float length(float##n x) { return __builtin_sqrtf(dot(x, x)); }                                          \
  EDDY_FN float distance(float##n x, float##n y) { return length(x - y); }                                         \
  EDDY_FN float##n normalize(float##n x) { const float l = length(x); return l == 0.0f ? x : x / l; }
EDDY_GEOMETRY(2, )
EDDY_GEOMETRY(3, )
EDDY_GEOMETRY(4, )
EDDY_FN float3 cross(float3 a, float3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }

// ---- Integers

#define EDDY_INTEGER_SCALAR(T, U, width, is_signed)                                                                 \
  EDDY_FN T min(T x, T y) { return y < x ? y : x; }                                                                 \
  EDDY_FN T max(T x, T y) { return x < y ? y : x; }                                                                 \
  EDDY_FN T clamp(T x, T low, T high) { return min(max(x, low), high); }                                            \
  EDDY_FN U abs(T x) { return is_signed && x < 0 ? (U)0 - (U)x : (U)x; }                                            \
  EDDY_FN U abs_diff(T x, T y) { return x > y ? (U)x - (U)y : (U)y - (U)x; }                                        \
  EDDY_FN T add_sat(T x, T y) { T r; if (!__builtin_add_overflow(x, y, &r)) return r;                               \
    return is_signed && x < 0 ? (T)((U)1 << (width - 1)) : (T)((U)~(U)0 >> is_signed); }                            \
  EDDY_FN T sub_sat(T x, T y) { T r; if (!__builtin_sub_overflow(x, y, &r)) return r;                               \
    return is_signed ? x < 0 ? (T)((U)1 << (width - 1)) : (T)((U)~(U)0 >> 1) : (T)0; }                              \
  EDDY_FN T hadd(T x, T y) { return (x & y) + ((x ^ y) >> 1); }                                                     \
  EDDY_FN T rhadd(T x, T y) { return (x | y) - ((x ^ y) >> 1); }                                                    \
  EDDY_FN T rotate(T x, T by) { const U u = (U)x, b = (U)by & (width - 1); return b ? (T)((U)(u << b) | (U)(u >> (width - b))) : x; } \
  EDDY_FN T popcount(T x) { return (T)(sizeof(T) == 8 ? __builtin_popcountll((ulong)(U)x) : __builtin_popcount((uint)(U)x)); } \
  EDDY_FN T clz(T x) { return (T)(!x ? width : sizeof(T) == 8 ? __builtin_clzll((ulong)(U)x) : __builtin_clz((uint)(U)x) - (32 - (int)sizeof(T) * 8)); }
#define EDDY_INTEGER(T, U, width, is_signed)   \
  EDDY_INTEGER_SCALAR(T, U, width, is_signed)  \
  EDDY_WIDTHS(EDDY_BINARY_N, T, min)           \
  EDDY_WIDTHS(EDDY_BINARY_S, T, min)           \
  EDDY_WIDTHS(EDDY_BINARY_N, T, max)           \
  EDDY_WIDTHS(EDDY_BINARY_S, T, max)           \
  EDDY_WIDTHS(EDDY_TERNARY_N, T, clamp)        \
  EDDY_WIDTHS(EDDY_UNARY_N, U, T, abs)
EDDY_INTEGER(char, uchar, 8, 1)
EDDY_INTEGER(uchar, uchar, 8, 0)
EDDY_INTEGER(short, ushort, 16, 1)
EDDY_INTEGER(ushort, ushort, 16, 0)
EDDY_INTEGER(int, uint, 32, 1)
EDDY_INTEGER(uint, uint, 32, 0)
EDDY_INTEGER(long, ulong, 64, 1)
EDDY_INTEGER(ulong, ulong, 64, 0)
EDDY_INLINE2(min, y < x ? y : x)
EDDY_INLINE2(max, x < y ? y : x)
EDDY_INLINE3(clamp, __builtin_fminf(__builtin_fmaxf(x, y), z))
EDDY_WIDTHS(EDDY_BINARY_S, float, min)
EDDY_WIDTHS(EDDY_BINARY_S, float, max)

EDDY_FN int mul24(int x, int y) { return x * y; }
EDDY_FN uint mul24(uint x, uint y) { return x * y; }
EDDY_FN int mad24(int x, int y, int z) { return x * y + z; }
EDDY_FN uint mad24(uint x, uint y, uint z) { return x * y + z; }
EDDY_FN int mul_hi(int x, int y) { return (int)(((long)x * y) >> 32); }
EDDY_FN uint mul_hi(uint x, uint y) { return (uint)(((ulong)x * y) >> 32); }
EDDY_FN int mad_hi(int x, int y, int z) { return mul_hi(x, y) + z; }
EDDY_FN uint mad_hi(uint x, uint y, uint z) { return mul_hi(x, y) + z; }

#define EDDY_SELECT_N(n, T, U) \
  EDDY_FN T##n select(T##n x, T##n y, U##n c) { T##n r; for (int i = 0; i < n; i++) r[i] = c[i] < 0 ? y[i] : x[i]; return r; }
#define EDDY_SELECT(T, U) \
  EDDY_FN T select(T x, T y, U c) { return c ? y : x; } \
  EDDY_WIDTHS(EDDY_SELECT_N, T, U)
EDDY_SELECT(int, int)
EDDY_SELECT(uint, int)
EDDY_SELECT(float, int)
#define EDDY_ANY(n, unused) \
  EDDY_FN int any(int##n x) { int r = 0; for (int i = 0; i < n; i++) r |= x[i] < 0; return r; } \
  EDDY_FN int all(int##n x) { int r = 1; for (int i = 0; i < n; i++) r &= x[i] < 0; return r; }
EDDY_FN int any(int x) { return x < 0; }
EDDY_FN int all(int x) { return x < 0; }
EDDY_WIDTHS(EDDY_ANY, )

// ---- Conversions that saturate or round; the plain ones are macros.

#define EDDY_SATURATE_N(n, T, S) EDDY_FN T##n convert_##T##n##_sat(S##n x) { T##n r; for (int i = 0; i < n; i++) r[i] = convert_##T##_sat(x[i]); return r; }
#define EDDY_SATURATE(T, S, low, high) \
  EDDY_FN T convert_##T##_sat(S x) { return x != x ? (T)0 : x < (S)(low) ? (T)(low) : x > (S)(high) ? (T)(high) : (T)x; } \
  EDDY_WIDTHS(EDDY_SATURATE_N, T, S)
EDDY_SATURATE(char, int, -128, 127)
EDDY_SATURATE(uchar, int, 0, 255)
EDDY_SATURATE(uchar, uint, 0, 255)
EDDY_SATURATE(short, int, -32768, 32767)
EDDY_SATURATE(ushort, int, 0, 65535)
EDDY_SATURATE(ushort, uint, 0, 65535)
EDDY_SATURATE(int, long, (-2147483647 - 1), 2147483647)
EDDY_SATURATE(char, float, -128, 127)
EDDY_SATURATE(uchar, float, 0, 255)
EDDY_SATURATE(short, float, -32768, 32767)
EDDY_SATURATE(ushort, float, 0, 65535)
#define EDDY_ROUNDED_N(n, T, how) EDDY_FN T##n convert_##T##n##_##how(float##n x) { T##n r; for (int i = 0; i < n; i++) r[i] = convert_##T##_##how(x[i]); return r; }
#define EDDY_ROUNDED(T, how, f) \
  EDDY_FN T convert_##T##_##how(float x) { return (T)f(x); } \
  EDDY_WIDTHS(EDDY_ROUNDED_N, T, how)
EDDY_ROUNDED(int, rte, rint)
EDDY_ROUNDED(int, rtz, trunc)
EDDY_ROUNDED(int, rtp, ceil)
EDDY_ROUNDED(int, rtn, floor)
EDDY_ROUNDED(uint, rte, rint)
EDDY_ROUNDED(uint, rtz, trunc)

// ---- Vectors from and to arrays

#define EDDY_AT(n, o, p) __auto_type eddy_p = (p) + (n) * (o)
#define EDDY_ELEMENT __typeof_unqual__(eddy_p[0])
#define EDDY_VLOAD(n, o, p) ({ EDDY_AT(n, o, p); EDDY_ELEMENT __attribute__((ext_vector_type(n))) eddy_r; \
  for (int eddy_i = 0; eddy_i < n; eddy_i++) eddy_r[eddy_i] = eddy_p[eddy_i]; eddy_r; })
#define EDDY_VSTORE(n, v, o, p) ({ EDDY_AT(n, o, p); const __auto_type eddy_v = (v); \
  for (int eddy_i = 0; eddy_i < n; eddy_i++) eddy_p[eddy_i] = eddy_v[eddy_i]; })
#define vload2(o, p) EDDY_VLOAD(2, o, p)
#define vload3(o, p) EDDY_VLOAD(3, o, p)
#define vload4(o, p) EDDY_VLOAD(4, o, p)
#define vload8(o, p) EDDY_VLOAD(8, o, p)
#define vload16(o, p) EDDY_VLOAD(16, o, p)
#define vstore2(v, o, p) EDDY_VSTORE(2, v, o, p)
#define vstore3(v, o, p) EDDY_VSTORE(3, v, o, p)
#define vstore4(v, o, p) EDDY_VSTORE(4, v, o, p)
#define vstore8(v, o, p) EDDY_VSTORE(8, v, o, p)
#define vstore16(v, o, p) EDDY_VSTORE(16, v, o, p)

#define CHAR_BIT 8
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807L
#define LONG_MIN (-9223372036854775807L - 1)
#define ULONG_MAX 18446744073709551615UL
