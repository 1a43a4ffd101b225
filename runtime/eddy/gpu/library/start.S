// How a kernel begins: every core enters at _start with warp 0, lane 0, and the launch block in mscratch.

  .section .text.start, "ax"
  .globl _start
_start:
  csrr  t0, 0xfc1                       // warps of a core
  la    t1, warp_start
  .insn r 0x0b, 1, 0, x0, t0, t1        // wspawn: the others begin below
warp_start:
  csrr  gp, mscratch
  csrr  t0, 0xcc1                       // this warp
  lw    t1, EDDY_GROUP_WARPS(gp)
  divu  a0, t0, t1                      // which of the core's work-groups
  remu  t2, t0, t1                      // which warp of the group
  lw    t3, EDDY_CORE_GROUPS(gp)
  bgeu  a0, t3, finish
  // As many lanes as the group has work-items left for this warp.
  csrr  t4, 0xfc0                       // lanes of a warp
  mul   t2, t2, t4
  lw    t5, EDDY_GROUP_ITEMS(gp)
  sub   t5, t5, t2
  bgeu  t4, t5, partial
  mv    t5, t4
partial:
  li    t6, -1
  sll   t6, t6, t5
  not   t6, t6
  .insn r 0x0b, 0, 0, x0, t6, x0        // tmc: all of them go on from here
  // Lanes just woken have no registers yet.
  csrr  gp, mscratch
  csrr  t0, 0xcc1
  lw    t1, EDDY_GROUP_WARPS(gp)
  divu  a0, t0, t1
  remu  t2, t0, t1
  csrr  t4, 0xfc0
  csrr  t5, 0xcc0                       // this lane
  mul   t2, t2, t4
  add   a1, t2, t5                      // work-item within the group
  mul   t0, t0, t4
  add   t0, t0, t5                      // lane of the core
  // Context: row of 16 lanes, then the lane's word.
  srli  t1, t0, EDDY_ROW_SHIFT
  li    t2, EDDY_CTX_BYTES
  mul   t1, t1, t2
  andi  t2, t0, EDDY_ROW_LANES - 1
  slli  t2, t2, 2
  lw    tp, EDDY_CONTEXT_BASE(gp)
  add   tp, tp, t1
  add   tp, tp, t2
  // Stack: by the lane's number in the cluster.
  csrr  t1, 0xcc2                       // this core
  csrr  t2, 0xfc1
  mul   t2, t2, t4
  mul   t1, t1, t2
  add   t1, t1, t0
  addi  t1, t1, 1
  lw    t2, EDDY_STACK_STRIDE(gp)
  mul   t1, t1, t2
  lw    sp, EDDY_STACK_BASE(gp)
  add   sp, sp, t1
  sw    sp, EDDY_CTX_STACK(tp)
  call  eddy_begin

// Where every kernel goes when it has done an item. Nothing is kept in registers but gp and tp, so kernels save none:
// what the loop needs is in the lane's context, which a warp reads at once.
  .globl eddy_next
eddy_next:
  lw    t1, EDDY_FLAGS(gp)
  beqz  t1, row
  andi  t2, t1, EDDY_FLAG_BARRIER
  beqz  t2, no_barrier
  // Local memory is the next group's once all lanes of this one have left it.
  lw    t2, EDDY_CTX_GROUP_SLOT(tp)
  lw    t3, EDDY_GROUP_WARPS(gp)
  .insn r 0x0b, 4, 0, x0, t2, t3        // bar
no_barrier:
  andi  t2, t1, EDDY_FLAG_GRID
  beqz  t2, row

  // More dimensions: ids from the linear index.
  lw    a0, EDDY_CTX_GROUP(tp)
  lw    t1, EDDY_GROUP_STEP(gp)
  add   a0, a0, t1
  sw    a0, EDDY_CTX_GROUP(tp)
  lw    t2, EDDY_GROUP_END(gp)
  bgeu  a0, t2, finish
  lw    sp, EDDY_CTX_STACK(tp)
  call  eddy_place
  beqz  a0, eddy_next
  j     enter

  // One dimension: ids advance by a constant.
row:
  lw    t0, EDDY_CTX_GROUP_ID_0(tp)
  lw    t1, EDDY_GROUP_STEP(gp)
  lw    t2, EDDY_GROUP_END(gp)
  add   t0, t0, t1
  lw    t3, EDDY_CTX_GLOBAL_ID_0(tp)
  sw    t0, EDDY_CTX_GROUP_ID_0(tp)
  bgeu  t0, t2, finish
  lw    t4, EDDY_ADVANCE(gp)
  lw    t5, EDDY_GLOBAL_END_0(gp)
  add   t3, t3, t4
  sw    t3, EDDY_CTX_GLOBAL_ID_0(tp)
  lw    sp, EDDY_CTX_STACK(tp)
  bgeu  t3, t5, eddy_next
enter:
  lw    t0, EDDY_ENTRY(gp)
  lw    a0, EDDY_ARGUMENTS(gp)
  jr    t0
finish:
  .insn r 0x0b, 0, 0, x0, x0, x0        // tmc 0: this lane has ended
  j     finish
