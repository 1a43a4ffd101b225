// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
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
#ifdef EDDY_DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
EDDY_VECTORS(double)
#endif
#ifdef EDDY_HALVES
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
EDDY_VECTORS(half)
#endif

#define cl_khr_subgroups 1
#define cl_khr_subgroup_ballot 1
#define cl_khr_subgroup_non_uniform_vote 1
#define cl_khr_subgroup_shuffle 1
#define cl_khr_subgroup_shuffle_relative 1

#define EDDY_FN __attribute__((overloadable, always_inline, unused)) static inline

// ---- Where a work-item is

// Constant while a kernel runs, so neither volatile nor a load the compiler would repeat.
#define EDDY_LANE(name) ({ uint v_; __asm__("lw %0, %1(tp)" : "=r"(v_) : "i"(EDDY_CTX_##name)); v_; })
#define EDDY_WORD(name) ({ uint v_; __asm__("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })
// The same where it is wanted, for what would take a register all along.
#define EDDY_NOW(base, name) ({ uint v_; __asm__ volatile("lw %0, %1(" #base ")" : "=r"(v_) : "i"(EDDY_##name)); v_; })
// What shows how the ND-range is cut into work-groups: a launch may cut it as it likes where a kernel does not look.
#define EDDY_PLACED(text, ...) ({ uint v_; __asm__(text " # eddy-placed" : "=r"(v_) : __VA_ARGS__); v_; })
#define EDDY_PLACED_LANE(name) EDDY_PLACED("lw %0, %1(tp)", "i"(EDDY_CTX_##name))
#define EDDY_PLACED_WORD(name) EDDY_PLACED("lw %0, %1(gp)", "i"(EDDY_##name))
#define EDDY_LOCAL_0(v) ((v) & EDDY_LOCAL_MASK)
#define EDDY_LOCAL_1(v) ((v) >> EDDY_LOCAL_BITS & EDDY_LOCAL_MASK)
#define EDDY_LOCAL_2(v) ((v) >> 2 * EDDY_LOCAL_BITS)
#define EDDY_LOCAL() ({ uint v_; __asm__("mv %0, t6" : "=r"(v_)); v_; })
#define EDDY_PLACED_LOCAL(d) EDDY_LOCAL_##d(EDDY_PLACED("mv %0, t6", ))
// The item's global ids, which its stub has.
__private uint *eddy_first_id(void) __attribute__((const));
EDDY_FN size_t get_global_id(uint dimension) {
  const __private uint *const eddy_ids = eddy_first_id();
  return dimension == 0 ? eddy_ids[0] : dimension == 1 ? eddy_ids[1] : dimension == 2 ? eddy_ids[2] : 0;
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

#if __OPENCL_C_VERSION__ >= 200
#define __opencl_c_work_group_collective_functions 1
// Every memory is coherent within a cluster, so a scope changes nothing.
typedef enum { memory_order_relaxed, memory_order_acquire = 2, memory_order_release, memory_order_acq_rel, memory_order_seq_cst } memory_order;
typedef enum { memory_scope_work_item, memory_scope_work_group, memory_scope_device, memory_scope_all_svm_devices, memory_scope_sub_group } memory_scope;
#define memory_scope_all_devices memory_scope_all_svm_devices
EDDY_FN void work_group_barrier(cl_mem_fence_flags flags) { mem_fence(flags & CLK_GLOBAL_MEM_FENCE); barrier(flags); }
EDDY_FN void work_group_barrier(cl_mem_fence_flags flags, memory_scope scope) { (void)scope; work_group_barrier(flags); }
#endif

/// Capabilities of the cluster: bit 0 an FPU, bits 15:8 log2 of the data cache's bytes ([000] 4.1.1).
EDDY_FN uint eddy_cluster_cap(void) { uint v; __asm__("csrr %0, 0xfd0" : "=r"(v)); return v; }

#ifdef EDDY_DOUBLES
// Numbers come as double.
int printf(__constant const char *format, ...) __asm__("eddy_printf64") __attribute__((format(printf, 1, 2)));
#else
int printf(__constant const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif

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
#ifdef EDDY_DOUBLES
#define HUGE_VAL __builtin_huge_val()
#define DBL_RADIX 2
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP 308
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP -307
#define DBL_MIN_EXP -1021
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1p-1022
#define DBL_EPSILON 0x1p-52
#endif
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN 2147483647
#ifdef EDDY_HALVES
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP +4
#define HALF_MAX_EXP +16
#define HALF_MIN_10_EXP -4
#define HALF_MIN_EXP -13
#define HALF_RADIX 2
#define HALF_MAX ((half)0x1.ffcp15f)
#define HALF_MIN ((half)0x1.0p-14f)
#define HALF_EPSILON ((half)0x1.0p-10f)
#define M_E_H ((half)M_E_F)
#define M_LOG2E_H ((half)M_LOG2E_F)
#define M_LOG10E_H ((half)M_LOG10E_F)
#define M_LN2_H ((half)M_LN2_F)
#define M_LN10_H ((half)M_LN10_F)
#define M_PI_H ((half)M_PI_F)
#define M_PI_2_H ((half)M_PI_2_F)
#define M_PI_4_H ((half)M_PI_4_F)
#define M_1_PI_H ((half)M_1_PI_F)
#define M_2_PI_H ((half)M_2_PI_F)
#define M_2_SQRTPI_H ((half)M_2_SQRTPI_F)
#define M_SQRT2_H ((half)M_SQRT2_F)
#define M_SQRT1_2_H ((half)M_SQRT1_2_F)
#endif
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

/// What is said of float is said of double too where a source uses it (EDDY_DOUBLES): a function that is defined here has both,
/// since an argument of double would be converted to float where a function has nothing else.
#define EDDY_CHOSEN_ONE __attribute__((enable_if(1, "")))
#ifdef EDDY_DOUBLES
#define EDDY_ALSO(...) __VA_ARGS__
/// Chosen where nothing else decides: an integer is as near to float as to double.
#define EDDY_CHOSEN EDDY_CHOSEN_ONE
#else
#define EDDY_ALSO(...)
#define EDDY_CHOSEN
#endif
/// The same of half, where a source uses it (EDDY_HALVES).
#ifdef EDDY_HALVES
#define EDDY_HALF_ALSO(...) __VA_ARGS__
#else
#define EDDY_HALF_ALSO(...)
#endif
/// What an integer becomes where a function has half and float: float, as it does without half.
#if defined(EDDY_HALVES) && !defined(EDDY_DOUBLES)
#define EDDY_NEAREST_float EDDY_CHOSEN_ONE
#else
#define EDDY_NEAREST_float
#endif
#define EDDY_NEAREST_double
#define EDDY_NEAREST_half
#define EDDY_UNAVAILABLE(why) __attribute__((overloadable, unavailable(why)))
/// Functions of the library: eddy_f for float, eddy_f64 for double.
#define EDDY_LIBRARY1_T(T, f, of) T of(T); EDDY_FN EDDY_NEAREST_##T T f(T x) { return of(x); } EDDY_WIDTHS(EDDY_UNARY_N, T, T, f)
#define EDDY_LIBRARY1(f) EDDY_LIBRARY1_T(float, f, eddy_##f) EDDY_ALSO(EDDY_LIBRARY1_T(double, f, eddy_##f##64))
#define EDDY_LIBRARY2_T(T, f, of) T of(T, T); EDDY_FN EDDY_NEAREST_##T T f(T x, T y) { return of(x, y); } EDDY_WIDTHS(EDDY_BINARY_N, T, f)
#define EDDY_LIBRARY2(f) EDDY_LIBRARY2_T(float, f, eddy_##f) EDDY_ALSO(EDDY_LIBRARY2_T(double, f, eddy_##f##64))
/// With an integer beside the number.
#define EDDY_LIBRARY_INT_T(T, f, of) T of(T, int); EDDY_FN EDDY_NEAREST_##T T f(T x, int n) { return of(x, n); } EDDY_WIDTHS(EDDY_MIXED_N, T, T, int, f)
#define EDDY_LIBRARY_INT(f) EDDY_LIBRARY_INT_T(float, f, eddy_##f) EDDY_ALSO(EDDY_LIBRARY_INT_T(double, f, eddy_##f##64))
/// By an expression for each: of x, y and z.
#define EDDY_INLINE1_T(T, f, expression) EDDY_FN EDDY_NEAREST_##T T f(T x) { return expression; } EDDY_WIDTHS(EDDY_UNARY_N, T, T, f)
#define EDDY_INLINE1(f, single, twofold) EDDY_INLINE1_T(float, f, single) EDDY_ALSO(EDDY_INLINE1_T(double, f, twofold))
#define EDDY_INLINE2_T(T, f, expression) EDDY_FN EDDY_NEAREST_##T T f(T x, T y) { return expression; } EDDY_WIDTHS(EDDY_BINARY_N, T, f)
#define EDDY_INLINE2(f, single, twofold) EDDY_INLINE2_T(float, f, single) EDDY_ALSO(EDDY_INLINE2_T(double, f, twofold))
#define EDDY_INLINE3_T(T, f, expression) EDDY_FN EDDY_NEAREST_##T T f(T x, T y, T z) { return expression; } EDDY_WIDTHS(EDDY_TERNARY_N, T, f)
#define EDDY_INLINE3(f, single, twofold) EDDY_INLINE3_T(float, f, single) EDDY_ALSO(EDDY_INLINE3_T(double, f, twofold))
/// For float only, by the standard.
#define EDDY_NO_DOUBLE EDDY_UNAVAILABLE("it takes float only; for double use the function without that beginning, or cast to float")
#define EDDY_FLOAT1(f, expression) \
  EDDY_FN EDDY_CHOSEN float f(float x) { return expression; } EDDY_WIDTHS(EDDY_UNARY_N, float, float, f) \
  EDDY_ALSO(EDDY_NO_DOUBLE double f(double); EDDY_WIDTHS(EDDY_NO_DOUBLE1, f))
#define EDDY_NO_DOUBLE1(n, f) EDDY_NO_DOUBLE double##n f(double##n);
#define EDDY_FLOAT2(f, expression) \
  EDDY_FN EDDY_CHOSEN float f(float x, float y) { return expression; } EDDY_WIDTHS(EDDY_BINARY_N, float, f) \
  EDDY_ALSO(EDDY_NO_DOUBLE double f(double, double); EDDY_WIDTHS(EDDY_NO_DOUBLE2, f))
#define EDDY_NO_DOUBLE2(n, f) EDDY_NO_DOUBLE double##n f(double##n, double##n);
/// Vectors with scalars beside them.
#define EDDY_SCALARS(M, f) EDDY_WIDTHS(M, float, f) EDDY_ALSO(EDDY_WIDTHS(M, double, f))
/// A function that leaves a second result at an address, in any address space: an integer, or a number as the first one.
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_SPACES(M, ...) M(__private, __VA_ARGS__) M(__global, __VA_ARGS__) M(__local, __VA_ARGS__) M(__generic, __VA_ARGS__)
#else
#define EDDY_SPACES(M, ...) M(__private, __VA_ARGS__) M(__global, __VA_ARGS__) M(__local, __VA_ARGS__)
#endif
#define EDDY_LEAVES_INT(f, single, twofold) \
  EDDY_SPACES(EDDY_LEAVES1, float, f, int, single) EDDY_ALSO(EDDY_SPACES(EDDY_LEAVES1, double, f, int, twofold))
#define EDDY_LEAVES(f, single, twofold) \
  EDDY_SPACES(EDDY_LEAVES1, float, f, float, single) \
  EDDY_ALSO(EDDY_SPACES(EDDY_LEAVES1, double, f, double, twofold) EDDY_SPACES(EDDY_NO_MIXTURE, f))
#define EDDY_NO_MIXTURE(space, f) \
  EDDY_UNAVAILABLE("its number is double, and what its pointer points to is float") float f(double, space float *);
#define EDDY_LEAVES1(space, T, f, R, expression) \
  EDDY_FN EDDY_CHOSEN T f(T x, space R *p) { R rest; const T r = expression; *p = rest; return r; } \
  EDDY_WIDTHS(EDDY_LEAVES1_N, space, T, f, R)
#define EDDY_LEAVES1_N(n, space, T, f, R) EDDY_FN T##n f(T##n x, space R##n *p) { \
  T##n r; R##n rests; for (int i = 0; i < n; i++) { __private R rest; r[i] = f(x[i], &rest); rests[i] = rest; } *p = rests; return r; }
/// Tests: 1 of scalars; -1 in the elements of a vector, which has integers as wide as the numbers.
#define EDDY_TEST1_T(T, I, f, expression) EDDY_FN EDDY_NEAREST_##T int f(T x) { return expression; } EDDY_WIDTHS(EDDY_TEST1_N, T, I, f)
#define EDDY_TEST1_N(n, T, I, f) EDDY_FN I##n f(T##n x) { I##n r; for (int i = 0; i < n; i++) r[i] = f(x[i]) ? -1 : 0; return r; }
#define EDDY_TEST1(f, single, twofold) EDDY_TEST1_T(float, int, f, single) EDDY_ALSO(EDDY_TEST1_T(double, long, f, twofold))
#define EDDY_TEST2_T(T, I, f, expression) EDDY_FN EDDY_NEAREST_##T int f(T x, T y) { return expression; } EDDY_WIDTHS(EDDY_TEST2_N, T, I, f)
#define EDDY_TEST2_N(n, T, I, f) \
  EDDY_FN I##n f(T##n x, T##n y) { I##n r; for (int i = 0; i < n; i++) r[i] = f(x[i], y[i]) ? -1 : 0; return r; }
#define EDDY_TEST2(f, expression) EDDY_TEST2_T(float, int, f, expression) EDDY_ALSO(EDDY_TEST2_T(double, long, f, expression))
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
