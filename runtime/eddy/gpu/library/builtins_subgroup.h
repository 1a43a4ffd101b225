// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Subgroups (cl_khr_subgroups and what goes with it): the items that a warp does in one turn, whose lanes read each other's registers.
//@ EDDY_WORDS EDDY_EACH_SCALAR
#define EDDY_WORDS(M) M(char, uchar, char, 8, 1) M(uchar, uchar, char, 8, 0) M(short, ushort, short, 16, 1) \
  M(ushort, ushort, short, 16, 0) M(int, uint, int, 32, 1) M(uint, uint, int, 32, 0)
// What every scalar type has.
#define EDDY_EACH_SCALAR(M, ...) M(char, __VA_ARGS__) M(uchar, __VA_ARGS__) M(short, __VA_ARGS__) M(ushort, __VA_ARGS__) \
  M(int, __VA_ARGS__) M(uint, __VA_ARGS__) M(long, __VA_ARGS__) M(ulong, __VA_ARGS__) M(float, __VA_ARGS__) \
  EDDY_ALSO(M(double, __VA_ARGS__)) EDDY_HALF_ALSO(M(half, __VA_ARGS__))
//@ get_max_sub_group_size
EDDY_FN uint get_max_sub_group_size(void) { uint v; __asm__("csrr %0, 0xfc0" : "=r"(v)); return v; }
//@ get_sub_group_local_id
EDDY_FN uint get_sub_group_local_id(void) { return EDDY_PLACED("csrr %0, 0xcc0", ); }
//@ eddy_group_items
#define eddy_group_items() EDDY_PLACED_WORD(GROUP_ITEMS)
//@ get_sub_group_id
EDDY_FN uint get_sub_group_id(void) {
  const uint row = get_local_id(1) + EDDY_PLACED_WORD(LOCAL_SIZE_1) * get_local_id(2);
  return (get_local_id(0) + EDDY_PLACED_WORD(LOCAL_SIZE_0) * row) / get_max_sub_group_size();
}
//@ get_sub_group_size
EDDY_FN uint get_sub_group_size(void) {
  const uint most = get_max_sub_group_size(), left = eddy_group_items() - get_sub_group_id() * most;
  return left < most ? left : most;
}
//@ get_num_sub_groups get_enqueued_num_sub_groups
EDDY_FN uint get_num_sub_groups(void) {
  const uint most = get_max_sub_group_size();
  return (eddy_group_items() + most - 1) / most;
}
EDDY_FN uint get_enqueued_num_sub_groups(void) { return get_num_sub_groups(); }
//@ eddy_first
EDDY_FN uint eddy_first(uint lanes) { uint at = 0; for (; !(lanes >> at & 1); at++) {} return at; }
//@ eddy_lanes eddy_before
/// The lanes of a subgroup, and those before this one.
EDDY_FN uint eddy_lanes(void) { return (2u << (get_sub_group_size() - 1)) - 1; }
EDDY_FN uint eddy_before(void) { return (1u << get_sub_group_local_id()) - 1; }
//@ eddy_meet
// A number for the place, in the order of the source (work_items/meetings.py).
uint eddy_place(void);
// Waits for the other items of the subgroup and says which are here, a bit each. Where some cannot come, since they wait at
// another place or have returned, those go on that wait at the first place; so the others come
// behind the branch where they meet. A lane's word says where it waits, 0 while it runs (docs/decisions/work-groups-on-lanes.md).
EDDY_FN uint eddy_meet(void) {
  const uint all = eddy_lanes();
  uint here;
  __asm__ volatile("sw %3, %2(tp) # eddy-subgroup\n\tli t1, -1\n"
    "1:\t.insn r 0x0b, 3, 0, x0, t1, x0\n\tcsrr %0, 0xcc4\n\tbeq %0, %1, 2f\n\tcall eddy_lowest\n\t"
    "li t1, -1\n\tbne %0, a7, 1b\n2:\tsw x0, %2(tp)"
    : "=&r"(here) : "r"(all), "i"(EDDY_CTX_MEETING), "r"(eddy_place()) : "ra", "t0", "t1", "t2", "t3", "t4", "t5", "a7");
  return here;
}
//@ eddy_vote
#define EDDY_VOTE(how, value, here) ({ uint v_; __asm__ volatile(".insn r 0x0b, 3, 0, x0, %2, x0\n\t.insn r 0x0b, " how ", 1, %0, %1, x0" \
  : "=r"(v_) : "r"(value), "r"(here)); v_; })
/// Those of the lanes that are here for which it is true.
EDDY_FN uint eddy_vote(uint value, uint here) { return EDDY_VOTE("3", value, here); }
//@ eddy_from
// The value of another lane of those that are here; another lane's is one's own. They come to the shuffle together.
EDDY_FN uint eddy_from_word(uint x, uint lane, uint here) {
  uint v;
  const uint which = (lane & 63) | 63 << 6;
  __asm__ volatile(".insn r 0x0b, 3, 0, x0, %3, x0\n\t.insn r 0x0b, 7, 1, %0, %1, %2" : "=r"(v) : "r"(x), "r"(which), "r"(here));
  return v;
}
#define EDDY_FROM(T, U, S, width, is_signed) EDDY_FN T eddy_from(T x, uint lane, uint here) { return (T)eddy_from_word((uint)x, lane, here); }
#define EDDY_FROM_LONG(T) EDDY_FN T eddy_from(T x, uint lane, uint here) { \
  uint2 w = __builtin_astype(x, uint2); w.x = eddy_from_word(w.x, lane, here); w.y = eddy_from_word(w.y, lane, here); return __builtin_astype(w, T); }
EDDY_WORDS(EDDY_FROM)
EDDY_FROM_LONG(long) EDDY_FROM_LONG(ulong)
EDDY_FN float eddy_from(float x, uint lane, uint here) { return __builtin_astype(eddy_from_word(__builtin_astype(x, uint), lane, here), float); }
EDDY_ALSO(EDDY_FROM_LONG(double))
EDDY_HALF_ALSO(EDDY_FN half eddy_from(half x, uint lane, uint here) { \
  return __builtin_astype((ushort)eddy_from_word(__builtin_astype(x, ushort), lane, here), half); })
//@ sub_group_barrier
EDDY_FN void sub_group_barrier(cl_mem_fence_flags flags) { eddy_meet(); mem_fence(flags & CLK_GLOBAL_MEM_FENCE); }
EDDY_FN void sub_group_barrier(cl_mem_fence_flags flags, uint scope) { sub_group_barrier(flags); }
//@ sub_group_all sub_group_any sub_group_non_uniform_all sub_group_non_uniform_any
#define EDDY_ALL_ANY(name) \
  EDDY_FN int name##_all(int x) { const uint here = eddy_meet(); return eddy_vote(x != 0, here) == here; } \
  EDDY_FN int name##_any(int x) { const uint here = eddy_meet(); return eddy_vote(x != 0, here) != 0; }
EDDY_ALL_ANY(sub_group)
EDDY_ALL_ANY(sub_group_non_uniform)
//@ sub_group_elect
EDDY_FN int sub_group_elect(void) { const uint here = eddy_meet(); return (here & ((1u << get_sub_group_local_id()) - 1)) == 0; }
//@ sub_group_non_uniform_all_equal
#define EDDY_ALL_EQUAL(T, unused) EDDY_FN int sub_group_non_uniform_all_equal(T x) { \
  const uint here = eddy_meet(); return eddy_vote(eddy_from(x, eddy_first(here), here) == x, here) == here; }
EDDY_EACH_SCALAR(EDDY_ALL_EQUAL, )
//@ sub_group_broadcast sub_group_non_uniform_broadcast sub_group_shuffle intel_sub_group_shuffle
#define EDDY_SHUFFLE(T, name) EDDY_FN T name(T x, uint lane) { return eddy_from(x, lane, eddy_meet()); }
EDDY_EACH_SCALAR(EDDY_SHUFFLE, sub_group_broadcast)
EDDY_EACH_SCALAR(EDDY_SHUFFLE, sub_group_non_uniform_broadcast)
EDDY_EACH_SCALAR(EDDY_SHUFFLE, sub_group_shuffle)
EDDY_EACH_SCALAR(EDDY_SHUFFLE, intel_sub_group_shuffle)
//@ sub_group_shuffle_xor intel_sub_group_shuffle_xor
#define EDDY_SHUFFLE_XOR(T, name) EDDY_FN T name(T x, uint mask) { return eddy_from(x, get_sub_group_local_id() ^ mask, eddy_meet()); }
EDDY_EACH_SCALAR(EDDY_SHUFFLE_XOR, sub_group_shuffle_xor)
EDDY_EACH_SCALAR(EDDY_SHUFFLE_XOR, intel_sub_group_shuffle_xor)
//@ sub_group_shuffle_up sub_group_shuffle_down
#define EDDY_SHUFFLE_BY(T, unused) \
  EDDY_FN T sub_group_shuffle_up(T x, uint delta) { return eddy_from(x, get_sub_group_local_id() - delta, eddy_meet()); } \
  EDDY_FN T sub_group_shuffle_down(T x, uint delta) { return eddy_from(x, get_sub_group_local_id() + delta, eddy_meet()); }
EDDY_EACH_SCALAR(EDDY_SHUFFLE_BY, )
//@ intel_sub_group_shuffle_up intel_sub_group_shuffle_down
// Of two values side by side, as if the second one's lanes came behind the first one's.
#define EDDY_SHUFFLE_PAIR(T, unused) \
  EDDY_FN T intel_sub_group_shuffle_up(T x, T y, uint delta) { \
    const uint here = eddy_meet(), most = get_max_sub_group_size(), at = get_sub_group_local_id() + most - delta; \
    const T a = eddy_from(x, at, here), b = eddy_from(y, at - most, here); return at < most ? a : b; } \
  EDDY_FN T intel_sub_group_shuffle_down(T x, T y, uint delta) { \
    const uint here = eddy_meet(), most = get_max_sub_group_size(), at = get_sub_group_local_id() + delta; \
    const T a = eddy_from(x, at, here), b = eddy_from(y, at - most, here); return at < most ? a : b; }
EDDY_EACH_SCALAR(EDDY_SHUFFLE_PAIR, )
//@ sub_group_broadcast_first
#define EDDY_BROADCAST_FIRST(T, unused) EDDY_FN T sub_group_broadcast_first(T x) { const uint here = eddy_meet(); return eddy_from(x, eddy_first(here), here); }
EDDY_EACH_SCALAR(EDDY_BROADCAST_FIRST, )
//@ sub_group_ballot
EDDY_FN uint4 sub_group_ballot(int x) { return (uint4)(eddy_vote(x != 0, eddy_meet()), 0, 0, 0); }
//@ sub_group_inverse_ballot
EDDY_FN int sub_group_inverse_ballot(uint4 x) { return x.x >> get_sub_group_local_id() & 1; }
//@ sub_group_ballot_bit_extract
EDDY_FN int sub_group_ballot_bit_extract(uint4 x, uint lane) { return lane < 32 ? x.x >> lane & 1 : 0; }
//@ sub_group_ballot_bit_count
EDDY_FN uint sub_group_ballot_bit_count(uint4 x) { return popcount(x.x & eddy_lanes()); }
//@ sub_group_ballot_inclusive_scan
EDDY_FN uint sub_group_ballot_inclusive_scan(uint4 x) { return popcount(x.x & (2 * eddy_before() + 1)); }
//@ sub_group_ballot_exclusive_scan
EDDY_FN uint sub_group_ballot_exclusive_scan(uint4 x) { return popcount(x.x & eddy_before()); }
//@ sub_group_ballot_find_lsb
EDDY_FN uint sub_group_ballot_find_lsb(uint4 x) { return eddy_first(x.x & eddy_lanes()); }
//@ sub_group_ballot_find_msb
EDDY_FN uint sub_group_ballot_find_msb(uint4 x) { return 31 - clz(x.x & eddy_lanes()); }
//@ get_sub_group_eq_mask
EDDY_FN uint4 get_sub_group_eq_mask(void) { return (uint4)(eddy_before() + 1, 0, 0, 0); }
//@ get_sub_group_ge_mask
EDDY_FN uint4 get_sub_group_ge_mask(void) { return (uint4)(eddy_lanes() & ~eddy_before(), 0, 0, 0); }
//@ get_sub_group_gt_mask
EDDY_FN uint4 get_sub_group_gt_mask(void) { return (uint4)(eddy_lanes() & ~(2 * eddy_before() + 1), 0, 0, 0); }
//@ get_sub_group_le_mask
EDDY_FN uint4 get_sub_group_le_mask(void) { return (uint4)(2 * eddy_before() + 1, 0, 0, 0); }
//@ get_sub_group_lt_mask
EDDY_FN uint4 get_sub_group_lt_mask(void) { return (uint4)(eddy_before(), 0, 0, 0); }
//@ EDDY_OVER_LANES
// Reductions and scans, from the first lane on: over those that are here, those up to this one, those before it.
#define EDDY_OVER_LANES(T, name, operation, identity) \
  EDDY_FN T eddy_lanes_##name(T x, uint lanes, uint here) { \
    T r = identity; uint seen = 0, k = 0; \
    for (uint left = here; left; left >>= 1, k++) if (left & 1) { \
      const T b = eddy_from(x, k, here), a = r; \
      if (lanes >> k & 1) { r = seen ? operation : b; seen = 1; } \
    } \
    return r; \
  } \
  EDDY_FN T sub_group_reduce_##name(T x) { const uint here = eddy_meet(); return eddy_lanes_##name(x, here, here); } \
  EDDY_FN T sub_group_scan_inclusive_##name(T x) { const uint here = eddy_meet(); return eddy_lanes_##name(x, here & (2 * eddy_before() + 1), here); } \
  EDDY_FN T sub_group_scan_exclusive_##name(T x) { const uint here = eddy_meet(); return eddy_lanes_##name(x, here & eddy_before(), here); }
//@ sub_group_reduce_add sub_group_scan_inclusive_add sub_group_scan_exclusive_add
#define EDDY_LANES_ADD(T, unused) EDDY_OVER_LANES(T, add, a + b, 0)
EDDY_EACH_NUMBER(EDDY_LANES_ADD, )
//@ sub_group_reduce_min sub_group_scan_inclusive_min sub_group_scan_exclusive_min
#define EDDY_LANES_MIN(T, identity) EDDY_OVER_LANES(T, min, b < a ? b : a, identity)
EDDY_EACH_LEAST(EDDY_LANES_MIN)
//@ sub_group_reduce_max sub_group_scan_inclusive_max sub_group_scan_exclusive_max
#define EDDY_LANES_MAX(T, identity) EDDY_OVER_LANES(T, max, a < b ? b : a, identity)
EDDY_EACH_GREATEST(EDDY_LANES_MAX)
