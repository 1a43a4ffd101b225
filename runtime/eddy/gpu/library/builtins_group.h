// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What OpenCL C 2.0 and 3.0 have over the items of a work-group. Items read each other's stacks: all come to a call with the same
// frames, so a variable of another item lies as far from one's own as the two stacks.
//@ EDDY_EACH_NUMBER EDDY_EACH_LEAST EDDY_EACH_GREATEST
// What is reduced and scanned, with the identity of the least and of the greatest.
#define EDDY_EACH_NUMBER(M, ...) M(int, __VA_ARGS__) M(uint, __VA_ARGS__) M(long, __VA_ARGS__) M(ulong, __VA_ARGS__) \
  M(float, __VA_ARGS__) EDDY_ALSO(M(double, __VA_ARGS__)) EDDY_HALF_ALSO(M(half, __VA_ARGS__))
#define EDDY_EACH_LEAST(M) M(int, INT_MAX) M(uint, UINT_MAX) M(long, LONG_MAX) M(ulong, ULONG_MAX) \
  M(float, INFINITY) EDDY_ALSO(M(double, INFINITY)) EDDY_HALF_ALSO(M(half, INFINITY))
#define EDDY_EACH_GREATEST(M) M(int, INT_MIN) M(uint, 0) M(long, LONG_MIN) M(ulong, 0) \
  M(float, -INFINITY) EDDY_ALSO(M(double, -INFINITY)) EDDY_HALF_ALSO(M(half, -INFINITY))
//@ get_local_linear_id
#if __OPENCL_C_VERSION__ >= 200
EDDY_FN size_t get_local_linear_id(void) { return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0); }
#endif
//@ get_global_linear_id
#if __OPENCL_C_VERSION__ >= 200
EDDY_FN size_t get_global_linear_id(void) {
  const size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1), z = get_global_id(2) - get_global_offset(2);
  return (z * get_global_size(1) + y) * get_global_size(0) + x;
}
#endif
//@ get_enqueued_local_size
#if __OPENCL_C_VERSION__ >= 200
EDDY_FN size_t get_enqueued_local_size(uint dimension) { return get_local_size(dimension); }
#endif
//@ eddy_peers
// Where a variable of this item lies that others read behind the next barrier; such a kernel has no loops over items, in which
// they would share one stack.
EDDY_FN uint eddy_shown(const __private void *p) { uint v; __asm__ volatile("mv %0, %1 # eddy-subgroup" : "=r"(v) : "r"(p) : "memory"); return v; }
// An item of the group: which lane has it, and how far its stack is from the first one's.
typedef struct { uint lane, away; } eddy_peer;
EDDY_FN eddy_peer eddy_later(eddy_peer one, uint items) {
  const uint lanes = EDDY_PLACED_WORD(PLACE_LANES), by = EDDY_WORD(LANE_STACK), turn = lanes * by + EDDY_WORD(STACK_STRIDE);
  one.lane += items; one.away += items * by;
  while (one.lane >= lanes) { one.lane -= lanes; one.away -= turn; }
  return one;
}
EDDY_FN eddy_peer eddy_item(uint item) { const eddy_peer first = {0, 0}; return eddy_later(first, item); }
//@ EDDY_PEER
#define EDDY_PEER(T, shown, own, one) (*(const volatile __private T *)((shown) - (own).away + (one).away))
//@ work_group_broadcast
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_GROUP_BROADCAST(T, unused) \
  EDDY_FN T work_group_broadcast(T x, size_t i, size_t j, size_t k) { \
    const __private T v = x; const uint shown = eddy_shown(&v); \
    const eddy_peer own = eddy_item(get_local_linear_id()), one = eddy_item((k * get_local_size(1) + j) * get_local_size(0) + i); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    const T r = EDDY_PEER(T, shown, own, one); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    return r; \
  } \
  EDDY_FN T work_group_broadcast(T x, size_t i, size_t j) { return work_group_broadcast(x, i, j, 0); } \
  EDDY_FN T work_group_broadcast(T x, size_t i) { return work_group_broadcast(x, i, 0, 0); }
EDDY_EACH_NUMBER(EDDY_GROUP_BROADCAST, )
#endif
//@ EDDY_OVER_GROUP
// In the order of the items, sixteen at a time: so each number is the same on every cluster. First and last item are of a scan; a
// reduction is over all.
#define EDDY_OVER_GROUP(T, name, operation, identity) \
  EDDY_FN T eddy_group_##name(T x, int scans, int itself) { \
    const uint me = get_local_linear_id(), items = get_local_size(0) * get_local_size(1) * get_local_size(2), begin = me & ~15u; \
    const eddy_peer own = eddy_item(me), first = eddy_item(begin); \
    __private T v = x, sum = x; \
    const uint each = eddy_shown(&v), sums = eddy_shown(&sum); \
    barrier(CLK_LOCAL_MEM_FENCE); \
    if (me == begin) { \
      eddy_peer one = own; T r = x; \
      for (uint k = me + 1; k < items && k < me + 16; k++) { \
        one = eddy_later(one, 1); const T a = r, b = EDDY_PEER(T, each, own, one); r = operation; } \
      sum = r; \
    } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    T r = identity; int seen = 0; eddy_peer one = {0, 0}; \
    for (uint k = 0; k < (scans ? begin : items); k += 16) { \
      const T a = r, b = EDDY_PEER(T, sums, own, one); r = seen ? operation : b; seen = 1; one = eddy_later(one, 16); } \
    one = first; \
    for (uint k = begin; scans && k < me + itself; k++) { \
      const T a = r, b = EDDY_PEER(T, each, own, one); r = seen ? operation : b; seen = 1; one = eddy_later(one, 1); } \
    barrier(CLK_LOCAL_MEM_FENCE); \
    return r; \
  }
#define EDDY_GROUP_FUNCTIONS(T, name) \
  EDDY_FN T work_group_reduce_##name(T x) { return eddy_group_##name(x, 0, 0); } \
  EDDY_FN T work_group_scan_inclusive_##name(T x) { return eddy_group_##name(x, 1, 1); } \
  EDDY_FN T work_group_scan_exclusive_##name(T x) { return eddy_group_##name(x, 1, 0); }
// Needs get_local_linear_id, eddy_peers, EDDY_PEER.
//@ work_group_all work_group_any
#if __OPENCL_C_VERSION__ >= 200
EDDY_OVER_GROUP(int, both, a & b, 1)
EDDY_OVER_GROUP(int, either, a | b, 0)
EDDY_FN int work_group_all(int x) { return eddy_group_both(x != 0, 0, 0); }
EDDY_FN int work_group_any(int x) { return eddy_group_either(x != 0, 0, 0); }
#endif
//@ work_group_reduce_add work_group_scan_inclusive_add work_group_scan_exclusive_add
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_GROUP_ADD(T, unused) EDDY_OVER_GROUP(T, add, a + b, 0) EDDY_GROUP_FUNCTIONS(T, add)
EDDY_EACH_NUMBER(EDDY_GROUP_ADD, )
#endif
//@ work_group_reduce_min work_group_scan_inclusive_min work_group_scan_exclusive_min
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_GROUP_MIN(T, identity) EDDY_OVER_GROUP(T, min, b < a ? b : a, identity) EDDY_GROUP_FUNCTIONS(T, min)
EDDY_EACH_LEAST(EDDY_GROUP_MIN)
#endif
//@ work_group_reduce_max work_group_scan_inclusive_max work_group_scan_exclusive_max
#if __OPENCL_C_VERSION__ >= 200
#define EDDY_GROUP_MAX(T, identity) EDDY_OVER_GROUP(T, max, a < b ? b : a, identity) EDDY_GROUP_FUNCTIONS(T, max)
EDDY_EACH_GREATEST(EDDY_GROUP_MAX)
#endif
