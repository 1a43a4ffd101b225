/* Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0 */
// How a kernel begins: every core enters at _start with warp 0, lane 0, and the launch block in mscratch.

// a0 = t0 / warps of a group, t2 = the rest. Groups of one warp, or one group, need no division, which takes 26 cycles and more.
  .macro find_place
  lw    t1, EDDY_GROUP_WARPS(gp)
  mv    a0, x0
  mv    t2, t0
  bltu  t0, t1, 1f
  mv    a0, t0
  mv    t2, x0
  addi  t1, t1, -1
  beqz  t1, 1f
  addi  t1, t1, 1
  divu  a0, t0, t1
  remu  t2, t0, t1
1:
  .endm

  .section .text.start, "ax"
  .globl _start
_start:
  // Rounds of barriers count from 0, before any warp has one.
  csrr  gp, mscratch
  lw    t2, EDDY_FLAGS(gp)
  lw    t0, EDDY_ROUNDS(gp)
  andi  t2, t2, EDDY_FLAG_FIBERS | EDDY_FLAG_ROUNDS
  beqz  t2, spawn
  addi  t1, t0, 64
rounds:
  sw    x0, 0(t0)
  addi  t0, t0, 4
  bltu  t0, t1, rounds
spawn:
  csrr  t0, 0xfc1                       // warps of a core
  la    t1, warp_start
  .insn r 0x0b, 1, 0, x0, t0, t1        // wspawn: the others begin below
warp_start:
  csrr  gp, mscratch
  csrr  t0, 0xcc1                       // this warp
  find_place                            // which of the core's work-groups, which warp of the group
  lw    t3, EDDY_CORE_GROUPS(gp)
  bgeu  a0, t3, eddy_finish
  // As many lanes as the group has work-items left for this warp.
  csrr  t4, 0xfc0                       // lanes of a warp
  mul   t2, t2, t4
  lw    t5, EDDY_GROUP_ITEMS(gp)
  sub   t5, t5, t2
  bgeu  t4, t5, partial
  mv    t5, t4
partial:
  li    t3, -1
  sll   t3, t3, t5
  not   t3, t3
  .insn r 0x0b, 0, 0, x0, t3, x0        // tmc: all of them go on from here
  // Lanes just woken have no registers yet.
  csrr  gp, mscratch
  csrr  t0, 0xcc1
  find_place
  csrr  t4, 0xfc0
  csrr  t5, 0xcc0                       // this lane
  mul   t2, t2, t4
  add   a1, t2, t5                      // which lane of the group
  mul   t0, t0, t4
  add   a2, t0, t5                      // which lane of the core
  // Context: row of 16 lanes, then the lane's word.
  srli  t1, a2, EDDY_ROW_SHIFT
  lw    t2, EDDY_CONTEXT_ROWS(gp)
  mul   t1, t1, t2
  andi  t2, a2, EDDY_ROW_LANES - 1
  slli  t2, t2, 2
  lw    tp, EDDY_CONTEXT_BASE(gp)
  add   tp, tp, t1
  csrr  t1, 0xcc2                       // this core
  lw    t3, EDDY_CONTEXT_CORE(gp)
  mul   t3, t3, t1
  add   tp, tp, t3
  add   tp, tp, t2
  // Stack: by core, then by the lane's number in it.
  lw    t3, EDDY_STACK_CORE(gp)
  mul   t1, t1, t3
  lw    t3, EDDY_STACK_BASE(gp)
  add   t1, t1, t3
  lw    t2, EDDY_LANE_STACK(gp)
  addi  t3, a2, 1
  mul   t3, t3, t2
  add   t1, t1, t3
  sub   t3, t1, t2
  csrw  0x7c1, t3                       // from here on a stack pointer below or above the lane's stack is a fault
  csrw  0x7c2, t2
  mv    sp, t1
  sw    sp, EDDY_CTX_STACK(tp)
  call  eddy_begin
  // A walk has no groups: the stub does all of the lane's items.
  lw    t1, EDDY_FLAGS(gp)
  andi  t2, t1, EDDY_FLAG_WALK
  beqz  t2, first_group
  lw    t2, EDDY_CTX_WALKS(tp)
  bnez  t2, eddy_item
  j     eddy_finish
first_group:
  // The first group is entered as the others are; a0 and a1 are its index, and that in its row. Fibers begin as calls.
  lw    a0, EDDY_CTX_GROUP(tp)
  lw    a1, EDDY_CTX_GROUP_ID_0(tp)
  lw    t1, EDDY_FLAGS(gp)
  andi  t2, t1, EDDY_FLAG_FIBERS
  beqz  t2, place
  jal   ra, place

// Where every kernel goes when it has done an item. Nothing is kept in registers but gp, tp and t6, so kernels save none:
// what the loop needs is in the lane's context, which a warp reads at once.
  .globl eddy_next
eddy_next:
  lw    t1, EDDY_FLAGS(gp)
  andi  t2, t1, EDDY_FLAG_BARRIER | EDDY_FLAG_ITEMS
  bnez  t2, together
  // On to the lane's next work-group with an item for it; if there is none, the lane has ended. a0 and a1 are the group's
  // linear index and its index in the row, t1 the flags; nothing lies on the stack.
  .globl eddy_advance
eddy_advance:
  lw    a0, EDDY_CTX_GROUP(tp)
  lw    a1, EDDY_CTX_GROUP_ID_0(tp)
  lw    t1, EDDY_FLAGS(gp)
next_group:
  lw    t2, EDDY_GROUP_STEP(gp)
  lw    t3, EDDY_STEP_0(gp)
  add   a0, a0, t2
  add   a1, a1, t3
place:
  lw    t2, EDDY_GROUP_END(gp)
  bgeu  a0, t2, eddy_finish
  sw    a0, EDDY_CTX_GROUP(tp)
  andi  t2, t1, EDDY_FLAG_GRID
  bnez  t2, grid
  // One row of work-groups.
row:
  lw    t3, EDDY_LOCAL_SIZE_0(gp)
  lw    t4, EDDY_GLOBAL_OFFSET_0(gp)
  sw    a1, EDDY_CTX_GROUP_ID_0(tp)
  mul   t3, t3, a1
  add   t3, t3, t4
  sw    t3, EDDY_CTX_START_0(tp)
  andi  t2, t1, EDDY_FLAG_EDGE
  bnez  t2, edge
entered:
  andi  t2, t1, EDDY_FLAG_FIBERS
  bnez  t2, fibers
  // A lane's item of its work-group, from the first on.
eddy_enter:
  lw    t6, EDDY_CTX_LOCAL(tp)
  lw    sp, EDDY_CTX_STACK(tp)
  .globl eddy_item
eddy_item:
  lw    t1, EDDY_ENTRY(gp)
  lw    a0, EDDY_ARGUMENTS(gp)
  jr    t1
fibers:
  tail  eddy_group_start

grid:
  lw    t3, EDDY_NUM_GROUPS_0(gp)
  lw    a2, EDDY_CTX_GROUP_ID_1(tp)
  lw    t4, EDDY_STEP_1(gp)
  lw    t5, EDDY_NUM_GROUPS_1(gp)
  add   a2, a2, t4
  bltu  a1, t3, same_line
  sub   a1, a1, t3
  addi  a2, a2, 1
same_line:
  lw    t2, EDDY_NUM_GROUPS_2(gp)
  addi  t2, t2, -1
  beqz  t2, flat
  lw    a3, EDDY_CTX_GROUP_ID_2(tp)
  lw    t4, EDDY_STEP_2(gp)
  add   a3, a3, t4
  bltu  a2, t5, same_layer
  sub   a2, a2, t5
  addi  a3, a3, 1
same_layer:
  lw    t2, EDDY_LOCAL_SIZE_2(gp)
  lw    t3, EDDY_GLOBAL_OFFSET_2(gp)
  sw    a3, EDDY_CTX_GROUP_ID_2(tp)
  mul   t2, t2, a3
  add   t2, t2, t3
  sw    t2, EDDY_CTX_START_2(tp)
flat:
  lw    t2, EDDY_LOCAL_SIZE_1(gp)
  lw    t3, EDDY_GLOBAL_OFFSET_1(gp)
  sw    a2, EDDY_CTX_GROUP_ID_1(tp)
  mul   t2, t2, a2
  add   t2, t2, t3
  sw    t2, EDDY_CTX_START_1(tp)
  j     row

  // Groups at the edge of the ND-range may be cut off.
edge:
  lw    t4, EDDY_GLOBAL_END_0(gp)
  lw    t5, EDDY_CTX_LOCAL(tp)
  andi  t2, t5, EDDY_LOCAL_MASK
  add   t2, t2, t3
  bgeu  t2, t4, next_group
  lw    t2, EDDY_CTX_START_1(tp)
  lw    t3, EDDY_GLOBAL_END_1(gp)
  srli  t4, t5, EDDY_LOCAL_BITS
  andi  t4, t4, EDDY_LOCAL_MASK
  add   t2, t2, t4
  bgeu  t2, t3, next_group
  lw    t2, EDDY_CTX_START_2(tp)
  lw    t3, EDDY_GLOBAL_END_2(gp)
  srli  t4, t5, 2 * EDDY_LOCAL_BITS
  add   t2, t2, t4
  bgeu  t2, t3, next_group
  j     entered

  .globl eddy_finish
eddy_finish:
  .insn r 0x0b, 0, 0, x0, x0, x0        // tmc 0: this lane has ended
  j     eddy_finish

together:
  andi  t2, t1, EDDY_FLAG_FIBERS
  bnez  t2, eddy_fiber_end
  andi  t2, t1, EDDY_FLAG_ITEMS
  beqz  t2, group_end

  // The lane's next item of the same group: its local id, with the carries from dimension to dimension.
  lw    t2, EDDY_LOCAL_STEP(gp)
  lw    t3, EDDY_LOCAL_SIZE_0(gp)
  lw    t4, EDDY_LOCAL_SIZE_1(gp)
  lw    t5, EDDY_LOCAL_SIZE_2(gp)
  add   t6, t6, t2
  andi  t2, t6, EDDY_LOCAL_MASK
  bltu  t2, t3, same_row
  sub   t6, t6, t3
  addi  t6, t6, 1 << (EDDY_LOCAL_BITS - 1)
  addi  t6, t6, 1 << (EDDY_LOCAL_BITS - 1)
same_row:
  srli  t2, t6, EDDY_LOCAL_BITS
  andi  t2, t2, EDDY_LOCAL_MASK
  bltu  t2, t4, same_plane
  slli  t4, t4, EDDY_LOCAL_BITS
  sub   t6, t6, t4
  lui   t4, 1 << (2 * EDDY_LOCAL_BITS - 12)
  add   t6, t6, t4
same_plane:
  srli  t2, t6, 2 * EDDY_LOCAL_BITS
  bgeu  t2, t5, eddy_advance
  lw    sp, EDDY_CTX_STACK(tp)
  j     eddy_item

group_end:
  // Local memory is the next group's once all lanes of this one have left it.
  andi  t1, t1, EDDY_FLAG_ROUNDS
  lw    t2, EDDY_CTX_BARRIER(tp)
  lw    t3, EDDY_GROUP_WARPS(gp)
  bnez  t1, rounds_end
  .insn r 0x0b, 4, 0, x0, t2, t3        // bar
  j     eddy_advance

  // Who has returned takes part in the rounds of those that have not. A round in which nobody was inside is the last; one
  // more barrier holds back who would begin the next group, and its rounds, before everybody has seen that.
rounds_end:
  lw    t4, EDDY_ROUNDS(gp)
  slli  t5, t2, 2
  add   t4, t4, t5
again:
  lw    t1, EDDY_CTX_ROUND(tp)
  addi  t1, t1, 1
  sw    t1, EDDY_CTX_ROUND(tp)
  .insn r 0x0b, 4, 0, x0, t2, t3        // bar
  lw    t5, 0(t4)
  bgeu  t5, t1, again
  .insn r 0x0b, 4, 0, x0, t2, t3        // bar
  j     eddy_advance
