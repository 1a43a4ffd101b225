// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// How an image begins: warp 0, lane 0 of a core enters at _start for each slice, and is the slice's cores one by one.
#include "vx_layout.h"

  .macro tmc register
  .insn r 0x0b, 0, 0, x0, \register, x0
  .endm

  .section .text.start, "ax"
  .globl _start
_start:
  csrr  t0, mscratch
  lw    t1, SLICE_CORE(t0)
  lw    t2, SLICE_END(t0)
  bgeu  t1, t2, over
  csrr  t3, 0xfc1                       // warps of a core
  la    t4, warp_begins
  .insn r 0x0b, 1, 0, x0, t3, t4        // wspawn: each sets up its lanes and ends
  li    t3, -1
  tmc   t3
  call  lane_begins
  li    t3, 1
  tmc   t3
  csrr  s0, mscratch
  csrr  s1, mcycle
  csrr  s2, minstret
  lw    t0, STATE_ARGUMENTS(gp)
  csrw  mscratch, t0
  call  main
  sw    a0, STATE_EXIT(gp)
  csrr  t0, mcycle
  sub   t0, t0, s1
  sw    t0, STATE_CYCLES(gp)
  csrr  t0, minstret
  sub   t0, t0, s2
  sw    t0, STATE_INSTRUCTIONS(gp)
  csrw  mscratch, s0
  lw    t1, SLICE_CORE(s0)
  addi  t1, t1, 1
  sw    t1, SLICE_CORE(s0)
  j     _start
over:
  fence
warp_ends:
  tmc   x0

warp_begins:
  li    t3, -1
  tmc   t3
  call  lane_begins
  tmc   x0

  // gp, tp, sp and the bounds of the stack of each executing lane; uses t0 to t6.
lane_begins:
  csrr  t0, mscratch
  lw    t1, SLICE_RECORD(t0)
  lw    t2, SLICE_CORE(t0)
  lw    t3, SLICE_CORES(t0)
  lw    t4, RECORD_STATES(t1)
  slli  t5, t2, 7                       // STATE_BYTES
  add   gp, t4, t5
  sw    t2, STATE_CORE(gp)
  sw    t3, STATE_CORES(gp)
  lw    t3, RECORD_ARGUMENTS(t1)
  sw    t3, STATE_ARGUMENTS(gp)
  lw    t3, RECORD_PRINTED(t1)
  slli  t4, t2, 14                      // PRINTED_BYTES
  add   t3, t3, t4
  sw    t3, STATE_PRINTED(gp)
  csrr  t3, 0xfc1
  csrr  t4, 0xfc0
  mul   t2, t2, t3
  csrr  t3, 0xcc1
  add   t2, t2, t3
  mul   t2, t2, t4
  csrr  t3, 0xcc0
  add   t2, t2, t3                      // this lane among those of all cores
  lw    t3, RECORD_STACK_BYTES(t1)
  lw    t4, RECORD_STACKS(t1)
  mul   t2, t2, t3
  add   t2, t2, t4
  csrw  0x7c1, t2
  csrw  0x7c2, t3
  add   t2, t2, t3
  addi  tp, t2, -LANE_BYTES
  mv    sp, tp
  ret

  // Warps that `vx_spawn_threads` spawned: all lanes work, and end.
  .text
  .globl eddy_vx_warp
eddy_vx_warp:
  li    t0, -1
  tmc   t0
  mv    sp, tp
  call  eddy_vx_work
  tmc   x0

  // Lane 0 of warp 0 has its whole warp work, and goes on alone once all lanes are back.
  .globl eddy_vx_here
eddy_vx_here:
  addi  sp, sp, -16
  sw    ra, 12(sp)
  sw    s0, 8(sp)
  li    t0, -1
  tmc   t0
  .insn r 0x0b, 2, 0, s0, x0, x0        // split: the token of all lanes
  csrr  t0, 0xcc0
  beqz  t0, 1f
  mv    sp, tp
1:
  call  eddy_vx_work
  .insn r 0x0b, 3, 0, x0, s0, x0        // join
  li    t0, 1
  tmc   t0
  lw    ra, 12(sp)
  lw    s0, 8(sp)
  addi  sp, sp, 16
  ret

  // Returns once warps 1 .. a0 - 1 have ended.
  .globl eddy_vx_wait
eddy_vx_wait:
  la    t0, warp_ends
  .insn r 0x0b, 1, 0, x0, a0, t0
  ret
