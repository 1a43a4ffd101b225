// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Vectors from and to arrays, halves, permutations, copies of work-groups of OpenCL C 1.2. A section begins with the names it defines; a source gets the sections it names.
//@ eddy_vector
#define EDDY_AT(n, o, p) __auto_type eddy_p = (p) + (n) * (o)
#define EDDY_ELEMENT __typeof_unqual__(eddy_p[0])
#define EDDY_VLOAD(n, o, p) ({ EDDY_AT(n, o, p); EDDY_ELEMENT __attribute__((ext_vector_type(n))) eddy_r; \
  for (int eddy_i = 0; eddy_i < n; eddy_i++) eddy_r[eddy_i] = eddy_p[eddy_i]; eddy_r; })
// Nothing is narrowed on its way to memory: elements are of one type, or integers of one size.
#define EDDY_IS(T, S, U) (__builtin_types_compatible_p(T, S) || __builtin_types_compatible_p(T, U))
#define EDDY_ARE(A, B, S, U) (EDDY_IS(A, S, U) && EDDY_IS(B, S, U))
#define EDDY_ALIKE(A, B) (__builtin_types_compatible_p(A, B) || EDDY_ARE(A, B, char, uchar) || EDDY_ARE(A, B, short, ushort) \
  || EDDY_ARE(A, B, int, uint) || EDDY_ARE(A, B, long, ulong))
#define EDDY_SAME(a, b, name) \
  _Static_assert(EDDY_ALIKE(__typeof_unqual__(a), __typeof_unqual__(b)), name ": its arguments have elements of different types")
#define EDDY_VSTORE(n, v, o, p) ({ EDDY_AT(n, o, p); const __auto_type eddy_v = (v); EDDY_SAME(eddy_p[0], eddy_v[0], "vstore" #n); \
  for (int eddy_i = 0; eddy_i < n; eddy_i++) eddy_p[eddy_i] = eddy_v[eddy_i]; })
//@ vload2
#define vload2(o, p) EDDY_VLOAD(2, o, p)
// Needs eddy_vector.
//@ vstore2
#define vstore2(v, o, p) EDDY_VSTORE(2, v, o, p)
// Needs eddy_vector.
//@ vload3
#define vload3(o, p) EDDY_VLOAD(3, o, p)
// Needs eddy_vector.
//@ vstore3
#define vstore3(v, o, p) EDDY_VSTORE(3, v, o, p)
// Needs eddy_vector.
//@ vload4
#define vload4(o, p) EDDY_VLOAD(4, o, p)
// Needs eddy_vector.
//@ vstore4
#define vstore4(v, o, p) EDDY_VSTORE(4, v, o, p)
// Needs eddy_vector.
//@ vload8
#define vload8(o, p) EDDY_VLOAD(8, o, p)
// Needs eddy_vector.
//@ vstore8
#define vstore8(v, o, p) EDDY_VSTORE(8, v, o, p)
// Needs eddy_vector.
//@ vload16
#define vload16(o, p) EDDY_VLOAD(16, o, p)
// Needs eddy_vector.
//@ vstore16
#define vstore16(v, o, p) EDDY_VSTORE(16, v, o, p)
// Needs eddy_vector.
//@ eddy_halves
float eddy_from_half(uint);
uint eddy_to_half(float, uint);
EDDY_ALSO(uint eddy_to_half64(double, uint);)
// Rounding as eddy_to_half takes it.
#define EDDY_HALF_ 0
#define EDDY_HALF_rte 0
#define EDDY_HALF_rtz 1
#define EDDY_HALF_rtp 2
#define EDDY_HALF_rtn 3
#define EDDY_HALF_SPACES(M, ...) EDDY_SPACES(M, __VA_ARGS__) M(__constant, __VA_ARGS__)
#define EDDY_VLOAD_HALF(space, name, n, stride) EDDY_FN float##n name(size_t o, const space half *p) { \
  const space ushort *eddy_p = (const space ushort *)p + stride * o; float##n r; \
  for (int i = 0; i < n; i++) r[i] = eddy_from_half(eddy_p[i]); return r; }
#define EDDY_VSTORE_HALF_T(space, T, of, name, n, stride, how) EDDY_FN void name(T##n v, size_t o, space half *p) { \
  space ushort *eddy_p = (space ushort *)p + stride * o; \
  for (int i = 0; i < n; i++) eddy_p[i] = (ushort)of(v[i], how); }
#define EDDY_VSTORE_HALF(space, name, n, stride, how) EDDY_VSTORE_HALF_T(space, float, eddy_to_half, name, n, stride, how) \
  EDDY_ALSO(EDDY_VSTORE_HALF_T(space, double, eddy_to_half64, name, n, stride, how))
#define EDDY_VLOAD_HALF_1(space, name) EDDY_FN float name(size_t o, const space half *p) { \
  return eddy_from_half(((const space ushort *)p)[o]); }
#define EDDY_VSTORE_HALF_1T(space, T, of, name, how) EDDY_FN void name(T v, size_t o, space half *p) { \
  ((space ushort *)p)[o] = (ushort)of(v, how); }
#define EDDY_VSTORE_HALF_1(space, name, how) EDDY_VSTORE_HALF_1T(space, float, eddy_to_half, name, how) \
  EDDY_ALSO(EDDY_VSTORE_HALF_1T(space, double, eddy_to_half64, name, how))
//@ vload_half
EDDY_HALF_SPACES(EDDY_VLOAD_HALF_1, vload_half)
// Needs eddy_halves.
//@ vstore_half
EDDY_SPACES(EDDY_VSTORE_HALF_1, vstore_half, EDDY_HALF_)
// Needs eddy_halves.
//@ vstore_half_rte
EDDY_SPACES(EDDY_VSTORE_HALF_1, vstore_half_rte, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstore_half_rtz
EDDY_SPACES(EDDY_VSTORE_HALF_1, vstore_half_rtz, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstore_half_rtp
EDDY_SPACES(EDDY_VSTORE_HALF_1, vstore_half_rtp, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstore_half_rtn
EDDY_SPACES(EDDY_VSTORE_HALF_1, vstore_half_rtn, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vload_half2
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vload_half2, 2, 2)
// Needs eddy_halves.
//@ vstore_half2
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half2, 2, 2, EDDY_HALF_)
// Needs eddy_halves.
//@ vstore_half2_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half2_rte, 2, 2, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstore_half2_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half2_rtz, 2, 2, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstore_half2_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half2_rtp, 2, 2, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstore_half2_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half2_rtn, 2, 2, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vloada_half2
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vloada_half2, 2, 2)
// Needs eddy_halves.
//@ vstorea_half2
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half2, 2, 2, EDDY_HALF_)
// Needs eddy_halves.
//@ vstorea_half2_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half2_rte, 2, 2, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstorea_half2_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half2_rtz, 2, 2, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstorea_half2_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half2_rtp, 2, 2, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstorea_half2_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half2_rtn, 2, 2, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vload_half3
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vload_half3, 3, 3)
// Needs eddy_halves.
//@ vstore_half3
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half3, 3, 3, EDDY_HALF_)
// Needs eddy_halves.
//@ vstore_half3_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half3_rte, 3, 3, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstore_half3_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half3_rtz, 3, 3, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstore_half3_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half3_rtp, 3, 3, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstore_half3_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half3_rtn, 3, 3, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vloada_half3
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vloada_half3, 3, 4)
// Needs eddy_halves.
//@ vstorea_half3
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half3, 3, 4, EDDY_HALF_)
// Needs eddy_halves.
//@ vstorea_half3_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half3_rte, 3, 4, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstorea_half3_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half3_rtz, 3, 4, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstorea_half3_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half3_rtp, 3, 4, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstorea_half3_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half3_rtn, 3, 4, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vload_half4
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vload_half4, 4, 4)
// Needs eddy_halves.
//@ vstore_half4
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half4, 4, 4, EDDY_HALF_)
// Needs eddy_halves.
//@ vstore_half4_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half4_rte, 4, 4, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstore_half4_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half4_rtz, 4, 4, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstore_half4_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half4_rtp, 4, 4, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstore_half4_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half4_rtn, 4, 4, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vloada_half4
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vloada_half4, 4, 4)
// Needs eddy_halves.
//@ vstorea_half4
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half4, 4, 4, EDDY_HALF_)
// Needs eddy_halves.
//@ vstorea_half4_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half4_rte, 4, 4, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstorea_half4_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half4_rtz, 4, 4, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstorea_half4_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half4_rtp, 4, 4, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstorea_half4_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half4_rtn, 4, 4, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vload_half8
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vload_half8, 8, 8)
// Needs eddy_halves.
//@ vstore_half8
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half8, 8, 8, EDDY_HALF_)
// Needs eddy_halves.
//@ vstore_half8_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half8_rte, 8, 8, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstore_half8_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half8_rtz, 8, 8, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstore_half8_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half8_rtp, 8, 8, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstore_half8_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half8_rtn, 8, 8, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vloada_half8
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vloada_half8, 8, 8)
// Needs eddy_halves.
//@ vstorea_half8
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half8, 8, 8, EDDY_HALF_)
// Needs eddy_halves.
//@ vstorea_half8_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half8_rte, 8, 8, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstorea_half8_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half8_rtz, 8, 8, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstorea_half8_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half8_rtp, 8, 8, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstorea_half8_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half8_rtn, 8, 8, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vload_half16
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vload_half16, 16, 16)
// Needs eddy_halves.
//@ vstore_half16
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half16, 16, 16, EDDY_HALF_)
// Needs eddy_halves.
//@ vstore_half16_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half16_rte, 16, 16, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstore_half16_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half16_rtz, 16, 16, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstore_half16_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half16_rtp, 16, 16, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstore_half16_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstore_half16_rtn, 16, 16, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ vloada_half16
EDDY_HALF_SPACES(EDDY_VLOAD_HALF, vloada_half16, 16, 16)
// Needs eddy_halves.
//@ vstorea_half16
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half16, 16, 16, EDDY_HALF_)
// Needs eddy_halves.
//@ vstorea_half16_rte
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half16_rte, 16, 16, EDDY_HALF_rte)
// Needs eddy_halves.
//@ vstorea_half16_rtz
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half16_rtz, 16, 16, EDDY_HALF_rtz)
// Needs eddy_halves.
//@ vstorea_half16_rtp
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half16_rtp, 16, 16, EDDY_HALF_rtp)
// Needs eddy_halves.
//@ vstorea_half16_rtn
EDDY_SPACES(EDDY_VSTORE_HALF, vstorea_half16_rtn, 16, 16, EDDY_HALF_rtn)
// Needs eddy_halves.
//@ shuffle
#define shuffle(x, mask) ({ const __auto_type eddy_x = (x); const __auto_type eddy_m = (mask); \
  __typeof_unqual__(eddy_x[0]) __attribute__((ext_vector_type(vec_step(eddy_m)))) eddy_r; \
  for (int eddy_i = 0; eddy_i < vec_step(eddy_m); eddy_i++) eddy_r[eddy_i] = eddy_x[eddy_m[eddy_i] & (vec_step(eddy_x) - 1)]; \
  eddy_r; })
//@ shuffle2
#define shuffle2(x, y, mask) ({ const __auto_type eddy_x = (x); const __auto_type eddy_y = (y); const __auto_type eddy_m = (mask); \
  EDDY_SAME(eddy_x[0], eddy_y[0], "shuffle2"); \
  __typeof_unqual__(eddy_x[0]) __attribute__((ext_vector_type(vec_step(eddy_m)))) eddy_r; \
  for (int eddy_i = 0; eddy_i < vec_step(eddy_m); eddy_i++) { const uint eddy_k = eddy_m[eddy_i] & (2 * vec_step(eddy_x) - 1); \
    eddy_r[eddy_i] = eddy_k < vec_step(eddy_x) ? eddy_x[eddy_k] : eddy_y[eddy_k & (vec_step(eddy_x) - 1)]; } \
  eddy_r; })
// Needs eddy_vector.
//@ eddy_copies
EDDY_FN event_t eddy_event(event_t event) { return event; }
EDDY_FN uint eddy_linear(void) { return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) + get_local_id(0); }
EDDY_FN uint eddy_group(void) { return get_local_size(0) * get_local_size(1) * get_local_size(2); }
#define EDDY_COPY(to, ts, from, fs, n, event) ({ __auto_type eddy_t = (to); const __auto_type eddy_f = (from); const uint eddy_n = (n); \
  EDDY_SAME(*eddy_t, *eddy_f, "async_work_group_copy"); \
  for (uint eddy_i = eddy_linear(); eddy_i < eddy_n; eddy_i += eddy_group()) eddy_t[eddy_i * (ts)] = eddy_f[eddy_i * (fs)]; \
  eddy_event(event); })
// Needs eddy_vector.
//@ async_work_group_copy
#define async_work_group_copy(to, from, n, event) EDDY_COPY(to, 1, from, 1, n, event)
// Needs eddy_copies.
//@ async_work_group_strided_copy
#define EDDY_STRIDED(T) \
  EDDY_FN event_t async_work_group_strided_copy(__local T *to, const __global T *from, size_t n, size_t by, event_t event) { \
    return EDDY_COPY(to, 1, from, by, n, event); } \
  EDDY_FN event_t async_work_group_strided_copy(__global T *to, const __local T *from, size_t n, size_t by, event_t event) { \
    return EDDY_COPY(to, by, from, 1, n, event); }
#define EDDY_STRIDED_N(n, T) EDDY_STRIDED(T##n)
#define EDDY_STRIDED_ALL(T, U, S, width, is_signed) EDDY_STRIDED(T) EDDY_WIDTHS(EDDY_STRIDED_N, T)
EDDY_INTEGERS(EDDY_STRIDED_ALL)
EDDY_STRIDED_ALL(float, uint, int, 32, 1)
EDDY_ALSO(EDDY_STRIDED_ALL(double, ulong, long, 64, 1))
// Needs eddy_copies.
//@ wait_group_events
EDDY_FN void wait_group_events(int count, event_t *events) { (void)count; (void)events; barrier(CLK_LOCAL_MEM_FENCE); }
//@ prefetch
#define prefetch(p, n) ((void)(p), (void)(n))
