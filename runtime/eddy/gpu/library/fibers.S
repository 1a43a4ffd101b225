/* Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0 */
// Work-groups larger than a core: a lane takes several of their work-items, each a fiber with a stack of its own.
//
// `barrier` calls eddy_switch, which keeps the fiber's registers and goes on to the lane's next fiber; compiler.py writes
// eddy_switch, eddy_next_fiber and eddy_resume for each program, with the registers it uses. The lane's last fiber goes to
// eddy_round, where the lanes wait for each other, and then the first fiber goes on.
//
// eddy_resume returns into a fiber, so that calls and returns of a lane are in balance: lanes that execute together are
// at the same depth of calls.

  .section .text.fibers, "ax"

// A fiber has done its item. It is passed over until all of the group have.
  .globl eddy_fiber_end
eddy_fiber_end:
  li    t0, -1
  .insn r 0x0b, 3, 0, x0, t0, x0        // join: lanes go on together
  lw    t0, EDDY_CTX_FIBER(tp)
  la    t1, passed_over
  lw    t2, EDDY_CTX_LIVE(tp)
  sw    t1, EDDY_FIBER_RESUME(t0)
  addi  t2, t2, -1
  sw    t2, EDDY_CTX_LIVE(tp)
  call  eddy_next_fiber
passed_over:
  lw    t0, EDDY_CTX_FIBER(tp)
  call  eddy_next_fiber

// All fibers of the lane are at a barrier, or have returned. Rounds are as in start.S.
  .globl eddy_round
eddy_round:
  lw    t1, EDDY_CTX_LIVE(tp)
  lw    t2, EDDY_CTX_ROUND(tp)
  lw    t3, EDDY_ROUNDS(gp)
  lw    t4, EDDY_CTX_BARRIER(tp)
  lw    t5, EDDY_GROUP_WARPS(gp)
  andi  t4, t4, 31
  addi  t2, t2, 1
  sw    t2, EDDY_CTX_ROUND(tp)
  beqz  t1, wait
  sw    t2, 0(t3)
wait:
  .insn r 0x0b, 4, 0, x0, t4, t5        // bar
  beqz  t1, all_returned
  lw    t0, EDDY_CTX_FIRST(tp)
  sw    t0, EDDY_CTX_FIBER(tp)
  tail  eddy_resume
all_returned:
  lw    t0, 0(t3)
  bgeu  t0, t2, eddy_round
  .insn r 0x0b, 4, 0, x0, t4, t5        // bar
  tail  eddy_advance

// The lane's next work-group: every fiber begins with an empty stack. Comes in as a call that does not return.
  .globl eddy_group_start
eddy_group_start:
  lw    t0, EDDY_CTX_FIRST(tp)
  lw    t1, EDDY_CTX_LAST(tp)
  lw    t2, EDDY_CTX_STACK(tp)
  lw    t3, EDDY_STACK_STRIDE(gp)
  la    t4, eddy_item
  lw    t5, EDDY_FIBER_STRIDE(gp)
  lw    a0, EDDY_CTX_FIBERS(tp)
  sw    t0, EDDY_CTX_FIBER(tp)
  sw    a0, EDDY_CTX_LIVE(tp)
  mv    a0, t0
empty:
  sw    t4, EDDY_FIBER_RESUME(a0)
  sw    t2, EDDY_FIBER_STACK(a0)
  beq   a0, t1, begin
  sub   t2, t2, t3
  add   a0, a0, t5
  j     empty
begin:
  tail  eddy_resume
