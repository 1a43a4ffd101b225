/* Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0 */
// Which place comes first of those at which lanes of a warp wait for each other (builtins_subgroup.h, work_items/fibers.py).

  .section .text.eddy_lowest, "ax"

// a7 = the lanes of the warp, a bit each, whose word that says where they wait is the lowest. Changes t0 to t5 and ra.
  .globl eddy_lowest
eddy_lowest:
  csrr  t0, 0xcc1                       // this warp
  csrr  t1, 0xfc0                       // lanes of a warp
  lw    t2, EDDY_GROUP_WARPS(gp)
  mul   t3, t0, t1                      // the first of its lanes, of those of the core
  remu  t0, t0, t2
  mul   t0, t0, t1
  lw    t2, EDDY_GROUP_ITEMS(gp)
  sub   t2, t2, t0
  bgeu  t2, t1, whole
  mv    t1, t2                          // as many as began
whole:
  add   t1, t3, t1
  lw    t0, EDDY_CONTEXT_BASE(gp)
  csrr  t4, 0xcc2
  lw    t5, EDDY_CONTEXT_CORE(gp)
  mul   t4, t4, t5
  add   t0, t0, t4
  addi  t0, t0, EDDY_CTX_MEETING
  li    t2, -1
  li    a7, 0
  // From the last lane on. Contexts lie in rows of 16 lanes.
lane:
  addi  t1, t1, -1
  lw    t4, EDDY_CONTEXT_ROWS(gp)
  srli  t5, t1, EDDY_ROW_SHIFT
  mul   t4, t4, t5
  andi  t5, t1, EDDY_ROW_LANES - 1
  slli  t5, t5, 2
  add   t4, t4, t5
  add   t4, t4, t0
  lw    t4, 0(t4)
  slli  a7, a7, 1
  bltu  t2, t4, later
  beq   t2, t4, as_low
  mv    t2, t4
  li    a7, 0
as_low:
  ori   a7, a7, 1
later:
  bltu  t3, t1, lane
  ret
