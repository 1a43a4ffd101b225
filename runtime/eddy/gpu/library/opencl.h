// OpenCL C for Eddy's GPU clusters: what every kernel has. The built-in functions are in the builtins_*.h beside this
// file, of which a source gets those it names. Names that begin with eddy_ or EDDY_ are not for kernels.

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
// What shows how the ND-range is cut into work-groups: a launch may cut it as it likes where a kernel does not look.
#define EDDY_PLACED(text, ...) ({ uint v_; __asm__(text " # eddy-placed" : "=r"(v_) : __VA_ARGS__); v_; })
#define EDDY_PLACED_LANE(name) EDDY_PLACED("lw %0, %1(tp)", "i"(EDDY_CTX_##name))
#define EDDY_PLACED_WORD(name) EDDY_PLACED("lw %0, %1(gp)", "i"(EDDY_##name))
#define EDDY_LOCAL_0(v) ((v) & EDDY_LOCAL_MASK)
#define EDDY_LOCAL_1(v) ((v) >> EDDY_LOCAL_BITS & EDDY_LOCAL_MASK)
#define EDDY_LOCAL_2(v) ((v) >> 2 * EDDY_LOCAL_BITS)
#define EDDY_LOCAL() ({ uint v_; __asm__("mv %0, t6" : "=r"(v_)); v_; })
#define EDDY_PLACED_LOCAL(d) EDDY_LOCAL_##d(EDDY_PLACED("mv %0, t6", ))
__private uint *eddy_first_id(void) __attribute__((const));
EDDY_FN size_t get_global_id(uint dimension) {
  return dimension == 0 ? *eddy_first_id() : dimension == 1 ? EDDY_LANE(START_1) + EDDY_LOCAL_1(EDDY_LOCAL())
    : dimension == 2 ? EDDY_LANE(START_2) + EDDY_LOCAL_2(EDDY_LOCAL()) : 0;
}
EDDY_FN size_t get_local_id(uint dimension) {
  return dimension == 0 ? EDDY_PLACED_LOCAL(0) : dimension == 1 ? EDDY_PLACED_LOCAL(1) : dimension == 2 ? EDDY_PLACED_LOCAL(2) : 0;
}
#define EDDY_DIMENSION(name, where, field, other)                                            \
  EDDY_FN size_t name(uint dimension) {                                                      \
    return dimension == 0 ? where(field##_0) : dimension == 1 ? where(field##_1) : dimension == 2 ? where(field##_2) : other; \
  }
EDDY_DIMENSION(get_group_id, EDDY_PLACED_LANE, GROUP_ID, 0)
EDDY_DIMENSION(get_global_size, EDDY_WORD, GLOBAL_SIZE, 1)
EDDY_DIMENSION(get_local_size, EDDY_PLACED_WORD, LOCAL_SIZE, 1)
EDDY_DIMENSION(get_num_groups, EDDY_PLACED_WORD, NUM_GROUPS, 1)
EDDY_DIMENSION(get_global_offset, EDDY_WORD, GLOBAL_OFFSET, 0)
EDDY_FN uint get_work_dim(void) { return EDDY_WORD(WORK_DIM); }

// ---- Together

typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2

// A work-group is on one core, whose lanes share their cache: order is all it needs. What stands for this call
// is put into the assembly (fibers.py): to the compiler it is a call, so it moves nothing over it and keeps s registers only.
void eddy_barrier(void) __attribute__((convergent));
EDDY_FN void barrier(cl_mem_fence_flags flags) { (void)flags; eddy_barrier(); }
// What was stored has landed, and what other cores' fences were behind is loaded again.
EDDY_FN void mem_fence(cl_mem_fence_flags flags) {
  if (flags & CLK_GLOBAL_MEM_FENCE) __asm__ volatile("fence" : : : "memory");
  else __asm__ volatile("" : : : "memory");
}
EDDY_FN void read_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
EDDY_FN void write_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }

/// Capabilities of the cluster: bit 0 an FPU, bits 15:8 log2 of the data cache's bytes ([000] 4.1.1).
EDDY_FN uint eddy_cluster_cap(void) { uint v; __asm__("csrr %0, 0xfd0" : "=r"(v)); return v; }

int printf(__constant const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- Vectors by their elements

#define EDDY_WIDTHS(M, ...) M(2, __VA_ARGS__) M(3, __VA_ARGS__) M(4, __VA_ARGS__) M(8, __VA_ARGS__) M(16, __VA_ARGS__)
#define EDDY_WIDTHS4(M, ...) M(2, __VA_ARGS__) M(4, __VA_ARGS__) M(8, __VA_ARGS__) M(16, __VA_ARGS__)
#define EDDY_UNARY_N(n, R, T, f) EDDY_FN R##n f(T##n x) { R##n r; for (int i = 0; i < n; i++) r[i] = f(x[i]); return r; }
#define EDDY_BINARY_N(n, T, f) EDDY_FN T##n f(T##n x, T##n y) { T##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y[i]); return r; }
#define EDDY_BINARY_S(n, T, f) EDDY_FN T##n f(T##n x, T y) { T##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y); return r; }
#define EDDY_MIXED_N(n, R, T, U, f) \
  EDDY_FN R##n f(T##n x, U##n y) { R##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y[i]); return r; }
#define EDDY_MIXED_S(n, R, T, U, f) EDDY_FN R##n f(T##n x, U y) { R##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y); return r; }
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
#define FLT_MAX_10_EXP 38
#define FLT_MIN_10_EXP -37
#define FLT_RADIX 2
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN 2147483647
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
#define M_2_SQRTPI_F 1.12837916709551257390f
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
/// A function that leaves a second result at an address, in any address space.
#define EDDY_SPACES(M, ...) M(__private, __VA_ARGS__) M(__global, __VA_ARGS__) M(__local, __VA_ARGS__)
#define EDDY_LEAVES1(space, f, R, expression) \
  EDDY_FN float f(float x, space R *p) { R rest; const float r = expression; *p = rest; return r; } \
  EDDY_WIDTHS(EDDY_LEAVES1_N, space, f, R)
#define EDDY_LEAVES1_N(n, space, f, R) EDDY_FN float##n f(float##n x, space R##n *p) { \
  float##n r; R##n rests; for (int i = 0; i < n; i++) { __private R rest; r[i] = f(x[i], &rest); rests[i] = rest; } *p = rests; return r; }
#define EDDY_TEST1(f, expression) \
  EDDY_FN int f(float x) { return expression; } \
  EDDY_WIDTHS(EDDY_TEST_N, f)
#define EDDY_TEST_N(n, f) EDDY_FN int##n f(float##n x) { int##n r; for (int i = 0; i < n; i++) r[i] = f(x[i]) ? -1 : 0; return r; }

#define EDDY_TEST2(f, expression) \
  EDDY_FN int f(float x, float y) { return expression; } \
  EDDY_WIDTHS(EDDY_TEST2_N, f)
#define EDDY_TEST2_N(n, f) \
  EDDY_FN int##n f(float##n x, float##n y) { int##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y[i]) ? -1 : 0; return r; }
/// Every integer type: its name, that of its unsigned and of its signed fellow, bits, whether it has a sign.
#define EDDY_INTEGERS(M) M(char, uchar, char, 8, 1) M(uchar, uchar, char, 8, 0) M(short, ushort, short, 16, 1) \
  M(ushort, ushort, short, 16, 0) M(int, uint, int, 32, 1) M(uint, uint, int, 32, 0) M(long, ulong, long, 64, 1) M(ulong, ulong, long, 64, 0)

// ---- Limits

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

#define SCHAR_MAX CHAR_MAX
#define SCHAR_MIN CHAR_MIN
#define __OPENCL_VERSION__ 120
#define __IMAGE_SUPPORT__ 1
#define __kernel_exec(size, type) __kernel __attribute__((work_group_size_hint(size, 1, 1))) __attribute__((vec_type_hint(type)))
#define NULL ((void *)0)
