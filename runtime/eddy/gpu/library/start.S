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
  add   a2, t0, t1                      // lane of the cluster
  addi  t0, a2, 1
  lw    t1, EDDY_STACK_STRIDE(gp)
  mul   t0, t0, t1
  lw    sp, EDDY_STACK_BASE(gp)
  add   sp, sp, t0
  call  eddy_run
finish:
  .insn r 0x0b, 0, 0, x0, x0, x0        // tmc 0: this lane has ended
  j     finish
