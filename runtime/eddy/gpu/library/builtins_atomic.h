// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Atomic functions of OpenCL C 1.2 on words of global and of local memory, by both names. They order nothing else: mem_fence does.
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
