// Which work-items a lane executes. gp holds the launch block, tp the lane's context; both are set in start.S.

typedef unsigned int u32;
typedef void stub_t(const void *arguments);

#define BLOCK(name) ({ u32 v_; __asm__("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })
#define SET(name, value) __asm__ volatile("sw %0, %1(tp)" : : "r"(value), "i"(EDDY_CTX_##name) : "memory")
#define CSR(number) ({ u32 v_; __asm__("csrr %0, " #number : "=r"(v_)); v_; })

static inline void group_barrier(u32 slot, u32 warps) {
  __asm__ volatile(".insn r 0x0b, 4, 0, x0, %0, %1" : : "r"(slot), "r"(warps) : "memory");
}

/// What the loops below need of the launch in every turn: read again each time, so that little is kept in registers.
#define AGAIN(name) ({ u32 v_; __asm__ volatile("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })

/// Local memory is the next group's once all lanes of this one have left it.
static inline void end_of_group(u32 slot) {
  if (AGAIN(FLAGS) & EDDY_FLAG_BARRIER) group_barrier(slot, AGAIN(GROUP_WARPS));
}

/// One dimension: from one group to the next, ids advance by a constant.
static __attribute__((noinline)) void run_row(u32 slot, u32 item, u32 k, u32 step) {
  const u32 count = BLOCK(GROUP_COUNT), first = BLOCK(FIRST_GROUP), size = BLOCK(LOCAL_SIZE_0);
  const u32 end = BLOCK(GLOBAL_SIZE_0), offset = BLOCK(GLOBAL_OFFSET_0), advance = step * size;
  stub_t *const entry = (stub_t *)BLOCK(ENTRY);
  const void *const arguments = (const void *)BLOCK(ARGUMENTS);
  u32 i = (first + k) * size + item;

  for (; k < count; k += step, i += advance) {
    SET(GROUP_ID_0, first + k);
    SET(GLOBAL_ID_0, offset + i);
    if (i < end) entry(arguments);
    end_of_group(slot);
  }
}

/// Two or three dimensions.
static __attribute__((noinline)) void run_grid(u32 slot, u32 item, u32 k, u32 step) {
  const u32 lx = BLOCK(LOCAL_SIZE_0), ly = BLOCK(LOCAL_SIZE_1), rest = item / lx;
  const u32 x = item - rest * lx, z = rest / ly, y = rest - z * ly;

  SET(LOCAL_ID_0, x);
  SET(LOCAL_ID_1, y);
  SET(LOCAL_ID_2, z);
  for (; k < AGAIN(GROUP_COUNT); k += step) {
    const u32 nx = AGAIN(NUM_GROUPS_0), ny = AGAIN(NUM_GROUPS_1), group = AGAIN(FIRST_GROUP) + k;
    const u32 plane = group / nx, gi = group - plane * nx, gl = plane / ny, gj = plane - gl * ny;
    const u32 i = gi * AGAIN(LOCAL_SIZE_0) + x, j = gj * AGAIN(LOCAL_SIZE_1) + y, l = gl * AGAIN(LOCAL_SIZE_2) + z;
    SET(GROUP_ID_0, gi);
    SET(GROUP_ID_1, gj);
    SET(GROUP_ID_2, gl);
    SET(GLOBAL_ID_0, AGAIN(GLOBAL_OFFSET_0) + i);
    SET(GLOBAL_ID_1, AGAIN(GLOBAL_OFFSET_1) + j);
    SET(GLOBAL_ID_2, AGAIN(GLOBAL_OFFSET_2) + l);
    if (i < AGAIN(GLOBAL_SIZE_0) && j < AGAIN(GLOBAL_SIZE_1) && l < AGAIN(GLOBAL_SIZE_2)) {
      ((stub_t *)AGAIN(ENTRY))((const void *)AGAIN(ARGUMENTS));
    }
    end_of_group(slot);
  }
}

/// One lane's share of the slice.
///
/// Neighbouring work-groups go to one core, whose warps then touch the same cache lines at about the same time; the
/// cores take turns.
/// slot: the place of this lane's groups within its core; item: linear local id.
void eddy_run(u32 slot, u32 item) {
  const u32 places = BLOCK(CORE_GROUPS), k = CSR(0xcc2) * places + slot, step = CSR(0xfc2) * places;

  SET(GROUP_SLOT, slot);
  SET(LOCAL_ID_0, item);
  SET(LOCAL_ID_1, 0);
  SET(LOCAL_ID_2, 0);
  SET(GROUP_ID_1, 0);
  SET(GROUP_ID_2, 0);
  SET(GLOBAL_ID_1, BLOCK(GLOBAL_OFFSET_1));
  SET(GLOBAL_ID_2, BLOCK(GLOBAL_OFFSET_2));
  if (BLOCK(WORK_DIM) == 1) run_row(slot, item, k, step);
  else run_grid(slot, item, k, step);
}
