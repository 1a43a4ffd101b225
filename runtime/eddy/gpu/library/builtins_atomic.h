// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Atomic functions of OpenCL C 1.2 on words of global and of local memory, by both names, which order nothing else (mem_fence does);
// and those of 2.0, which do.
//@ EDDY_ATOMIC_NAMES
#define EDDY_ATOMIC_NAMES(M, name, ...) M(atomic_##name, __VA_ARGS__) M(atom_##name, __VA_ARGS__)
#define EDDY_ATOMIC_TYPES(M, ...) M(__global, int, __VA_ARGS__) M(__global, uint, __VA_ARGS__) \
  M(__local, int, __VA_ARGS__) M(__local, uint, __VA_ARGS__)
#define EDDY_ATOMIC_FETCH_T(space, T, f, operation) \
  EDDY_FN T f(volatile space T *p, T x) { return __atomic_fetch_##operation(p, x, __ATOMIC_RELAXED); }
#define EDDY_ATOMIC_FETCH(f, operation) EDDY_ATOMIC_TYPES(EDDY_ATOMIC_FETCH_T, f, operation)
#define EDDY_ATOMIC_STEP_T(space, T, f, operation) \
  EDDY_FN T f(volatile space T *p) { return __atomic_fetch_##operation(p, (T)1, __ATOMIC_RELAXED); }
#define EDDY_ATOMIC_STEP(f, operation) EDDY_ATOMIC_TYPES(EDDY_ATOMIC_STEP_T, f, operation)
#define EDDY_ATOMIC_SWAP_T(space, T, f, unused) \
  EDDY_FN T f(volatile space T *p, T x) { return __atomic_exchange_n(p, x, __ATOMIC_RELAXED); }
#define EDDY_ATOMIC_SWAP_FLOAT(space, f)             \
  EDDY_FN float f(volatile space float *p, float x) { \
    return __builtin_astype(__atomic_exchange_n((volatile space uint *)p, __builtin_astype(x, uint), __ATOMIC_RELAXED), float); }
#define EDDY_ATOMIC_SWAP(f, unused) EDDY_ATOMIC_TYPES(EDDY_ATOMIC_SWAP_T, f, unused) \
  EDDY_ATOMIC_SWAP_FLOAT(__global, f) EDDY_ATOMIC_SWAP_FLOAT(__local, f)
#define EDDY_ATOMIC_COMPARE_T(space, T, f, unused)        \
  EDDY_FN T f(volatile space T *p, T compare, T x) {       \
    __private T old = compare;                              \
    __atomic_compare_exchange_n(p, &old, x, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED); return old; }
#define EDDY_ATOMIC_COMPARE(f, unused) EDDY_ATOMIC_TYPES(EDDY_ATOMIC_COMPARE_T, f, unused)
//@ atomic_add atom_add
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_FETCH, add, add)
//@ atomic_sub atom_sub
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_FETCH, sub, sub)
//@ atomic_min atom_min
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_FETCH, min, min)
//@ atomic_max atom_max
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_FETCH, max, max)
//@ atomic_and atom_and
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_FETCH, and, and)
//@ atomic_or atom_or
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_FETCH, or, or)
//@ atomic_xor atom_xor
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_FETCH, xor, xor)
//@ atomic_inc atom_inc
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_STEP, inc, add)
//@ atomic_dec atom_dec
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_STEP, dec, sub)
//@ atomic_xchg atom_xchg
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_SWAP, xchg, )
//@ atomic_cmpxchg atom_cmpxchg
EDDY_ATOMIC_NAMES(EDDY_ATOMIC_COMPARE, cmpxchg, )
//@ eddy_atomic
#if __OPENCL_C_VERSION__ >= 200
// Of OpenCL C 2.0, on int, uint and float. A load is an access that changes nothing, so it finds what other cores left.
#define EDDY_ATOMIC_FORMS(R, f, p, given) \
  EDDY_FN R f##_explicit(p, memory_order order, memory_scope scope) { (void)scope; return eddy_##f(given, order); } \
  EDDY_FN R f##_explicit(p, memory_order order) { return eddy_##f(given, order); } \
  EDDY_FN R f(p) { return eddy_##f(given, memory_order_seq_cst); }
#define EDDY_COMMA ,
#define EDDY_PLAIN(T, p) ((volatile T *)(p))
#define EDDY_OF_WORD(x, T) __builtin_astype(x, T)
#endif
//@ atomic_load atomic_load_explicit
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_ATOMIC_LOAD(T, word) \
  EDDY_FN T eddy_atomic_load(volatile atomic_##T *p, memory_order order) { return EDDY_OF_WORD(__atomic_fetch_or(EDDY_PLAIN(word, p), 0, order), T); } \
  EDDY_ATOMIC_FORMS(T, atomic_load, volatile atomic_##T *p, p)
EDDY_ATOMIC_LOAD(int, int) EDDY_ATOMIC_LOAD(uint, uint) EDDY_ATOMIC_LOAD(float, uint)
// Needs eddy_atomic.
#endif
//@ atomic_exchange atomic_exchange_explicit atomic_store atomic_store_explicit atomic_init
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_ATOMIC_EXCHANGE(T, word) \
  EDDY_FN T eddy_atomic_exchange(volatile atomic_##T *p, T x, memory_order order) { \
    return EDDY_OF_WORD(__atomic_exchange_n(EDDY_PLAIN(word, p), EDDY_OF_WORD(x, word), order), T); } \
  EDDY_ATOMIC_FORMS(T, atomic_exchange, volatile atomic_##T *p EDDY_COMMA T x, p EDDY_COMMA x) \
  EDDY_FN void eddy_atomic_store(volatile atomic_##T *p, T x, memory_order order) { eddy_atomic_exchange(p, x, order); } \
  EDDY_ATOMIC_FORMS(void, atomic_store, volatile atomic_##T *p EDDY_COMMA T x, p EDDY_COMMA x) \
  EDDY_FN void atomic_init(volatile atomic_##T *p, T x) { eddy_atomic_store(p, x, memory_order_relaxed); }
EDDY_ATOMIC_EXCHANGE(int, int) EDDY_ATOMIC_EXCHANGE(uint, uint) EDDY_ATOMIC_EXCHANGE(float, uint)
// Needs eddy_atomic.
#endif
//@ eddy_atomic_change
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_ATOMIC_CHANGE(T, name) EDDY_FN T eddy_atomic_fetch_##name(volatile atomic_##T *p, T x, memory_order order) { \
    return __atomic_fetch_##name(EDDY_PLAIN(T, p), x, order); } \
  EDDY_ATOMIC_FORMS(T, atomic_fetch_##name, volatile atomic_##T *p EDDY_COMMA T x, p EDDY_COMMA x)
// Needs eddy_atomic.
#endif
//@ atomic_fetch_add atomic_fetch_add_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_ATOMIC_CHANGE(int, add) EDDY_ATOMIC_CHANGE(uint, add)
// Needs eddy_atomic_change.
#endif
//@ atomic_fetch_sub atomic_fetch_sub_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_ATOMIC_CHANGE(int, sub) EDDY_ATOMIC_CHANGE(uint, sub)
// Needs eddy_atomic_change.
#endif
//@ atomic_fetch_or atomic_fetch_or_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_ATOMIC_CHANGE(int, or) EDDY_ATOMIC_CHANGE(uint, or)
// Needs eddy_atomic_change.
#endif
//@ atomic_fetch_xor atomic_fetch_xor_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_ATOMIC_CHANGE(int, xor) EDDY_ATOMIC_CHANGE(uint, xor)
// Needs eddy_atomic_change.
#endif
//@ atomic_fetch_and atomic_fetch_and_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_ATOMIC_CHANGE(int, and) EDDY_ATOMIC_CHANGE(uint, and)
// Needs eddy_atomic_change.
#endif
//@ atomic_fetch_min atomic_fetch_min_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_ATOMIC_CHANGE(int, min) EDDY_ATOMIC_CHANGE(uint, min)
// Needs eddy_atomic_change.
#endif
//@ atomic_fetch_max atomic_fetch_max_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_ATOMIC_CHANGE(int, max) EDDY_ATOMIC_CHANGE(uint, max)
// Needs eddy_atomic_change.
#endif
//@ atomic_compare_exchange_strong atomic_compare_exchange_weak atomic_compare_exchange_strong_explicit atomic_compare_exchange_weak_explicit
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_ATOMIC_REPLACE(T, name) \
  EDDY_FN bool name(volatile atomic_##T *p, T *expected, T x) { \
    T old = *expected; \
    const bool done = __atomic_compare_exchange_n(EDDY_PLAIN(T, p), &old, x, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    if (!done) *expected = old; \
    return done; } \
  EDDY_FN bool name##_explicit(volatile atomic_##T *p, T *expected, T x, memory_order order, memory_order other) { \
    (void)order; (void)other; return name(p, expected, x); } \
  EDDY_FN bool name##_explicit(volatile atomic_##T *p, T *expected, T x, memory_order order, memory_order other, memory_scope scope) { \
    (void)order; (void)other; (void)scope; return name(p, expected, x); }
EDDY_ATOMIC_REPLACE(int, atomic_compare_exchange_strong) EDDY_ATOMIC_REPLACE(uint, atomic_compare_exchange_strong)
EDDY_ATOMIC_REPLACE(int, atomic_compare_exchange_weak) EDDY_ATOMIC_REPLACE(uint, atomic_compare_exchange_weak)
// Needs eddy_atomic.
#endif
//@ atomic_flag_test_and_set atomic_flag_test_and_set_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_FN bool eddy_atomic_flag_test_and_set(volatile atomic_flag *p, memory_order order) { return __atomic_exchange_n(EDDY_PLAIN(int, p), 1, order) != 0; }
EDDY_ATOMIC_FORMS(bool, atomic_flag_test_and_set, volatile atomic_flag *p, p)
// Needs eddy_atomic.
#endif
//@ atomic_flag_clear atomic_flag_clear_explicit
#if __OPENCL_C_VERSION__ >= 200
EDDY_FN void eddy_atomic_flag_clear(volatile atomic_flag *p, memory_order order) { __atomic_exchange_n(EDDY_PLAIN(int, p), 0, order); }
EDDY_ATOMIC_FORMS(void, atomic_flag_clear, volatile atomic_flag *p, p)
// Needs eddy_atomic.
#endif
//@ atomic_work_item_fence
#if __OPENCL_C_VERSION__ >= 200
EDDY_FN void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order, memory_scope scope) { (void)order; (void)scope; mem_fence(flags); }
#endif
