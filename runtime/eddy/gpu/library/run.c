// Which work-items a lane executes. gp holds the launch block, tp the lane's context; both are set in start.S.

typedef unsigned int u32;
typedef void stub_t(const void *arguments);

#define BLOCK(name) ({ u32 v_; __asm__("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })
#define SET(name, value) __asm__ volatile("sw %0, %1(tp)" : : "r"(value), "i"(EDDY_CTX_##name) : "memory")
#define CSR(number) ({ u32 v_; __asm__("csrr %0, " #number : "=r"(v_)); v_; })

static inline void group_barrier(u32 slot, u32 warps) {
  __asm__ volatile(".insn r 0x0b, 4, 0, x0, %0, %1" : : "r"(slot), "r"(warps) : "memory");
}

/// One lane's share of the slice.
///
/// Work-groups are dealt out in turn: first to the cores, then to the places for groups within each core.
/// slot: the place of this lane's groups within its core; item: linear local id.
void eddy_run(u32 slot, u32 item) {
  const u32 cores = CSR(0xfc2), stride = cores * BLOCK(CORE_GROUPS), warps = BLOCK(GROUP_WARPS);
  const u32 lx = BLOCK(LOCAL_SIZE_0), ly = BLOCK(LOCAL_SIZE_1), lz = BLOCK(LOCAL_SIZE_2);
  const u32 nx = BLOCK(NUM_GROUPS_0), ny = BLOCK(NUM_GROUPS_1);
  const u32 gx = BLOCK(GLOBAL_SIZE_0), gy = BLOCK(GLOBAL_SIZE_1), gz = BLOCK(GLOBAL_SIZE_2);
  const u32 ox = BLOCK(GLOBAL_OFFSET_0), oy = BLOCK(GLOBAL_OFFSET_1), oz = BLOCK(GLOBAL_OFFSET_2);
  const u32 has_barriers = BLOCK(FLAGS) & EDDY_FLAG_BARRIER;
  const u32 count = BLOCK(GROUP_COUNT), first = BLOCK(FIRST_GROUP);
  const u32 line = ly == 1 && lz == 1, row = BLOCK(WORK_DIM) == 1;
  const u32 x = line ? item : item % lx, rest = line ? 0 : item / lx;
  const u32 y = line ? 0 : rest % ly, z = line ? 0 : rest / ly;
  stub_t *const entry = (stub_t *)BLOCK(ENTRY);
  const void *const arguments = (const void *)BLOCK(ARGUMENTS);

  SET(GROUP_SLOT, slot);
  SET(LOCAL_ID_0, x);
  SET(LOCAL_ID_1, y);
  SET(LOCAL_ID_2, z);
  SET(GROUP_ID_1, 0);
  SET(GROUP_ID_2, 0);
  SET(GLOBAL_ID_1, oy + y);
  SET(GLOBAL_ID_2, oz + z);
  for (u32 k = slot * cores + CSR(0xcc2); k < count; k += stride) {
    const u32 group = first + k;
    u32 inside;
    if (row) {
      const u32 i = group * lx + x;
      inside = i < gx;
      SET(GROUP_ID_0, group);
      SET(GLOBAL_ID_0, ox + i);
    } else {
      const u32 plane = group / nx, gi = group - plane * nx, gk = plane / ny, gj = plane - gk * ny;
      const u32 i = gi * lx + x, j = gj * ly + y, l = gk * lz + z;
      inside = i < gx && j < gy && l < gz;
      SET(GROUP_ID_0, gi);
      SET(GROUP_ID_1, gj);
      SET(GROUP_ID_2, gk);
      SET(GLOBAL_ID_0, ox + i);
      SET(GLOBAL_ID_1, oy + j);
      SET(GLOBAL_ID_2, oz + l);
    }
    if (inside) entry(arguments);
    // Local memory is the next group's once all have left it.
    if (has_barriers) group_barrier(slot, warps);
  }
}
