// Which work-items a lane executes. gp holds the launch block, tp the lane's context; both are set in start.S, whose loop
// advances from item to item.
//
// Neighbouring work-groups go to one core, whose warps then touch the same cache lines at about the same time; but where
// there are fewer groups than places, each core gets its share first. The host says so by two strides.

typedef unsigned int u32;

#define BLOCK(name) ({ u32 v_; __asm__("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })
#define CONTEXT(name) ({ u32 v_; __asm__ volatile("lw %0, %1(tp)" : "=r"(v_) : "i"(EDDY_CTX_##name)); v_; })
#define SET(name, value) __asm__ volatile("sw %0, %1(tp)" : : "r"(value), "i"(EDDY_CTX_##name) : "memory")
#define CSR(number) ({ u32 v_; __asm__("csrr %0, " #number : "=r"(v_)); v_; })

/// A lane's context before its first item: one step before it.
///
/// slot: the place of this lane's groups within its core; item: linear local id.
void eddy_begin(u32 slot, u32 item) {
  const u32 turn = CSR(0xcc2) * BLOCK(CORE_STRIDE) + slot * BLOCK(PLACE_STRIDE);
  const u32 group = BLOCK(FIRST_GROUP) + turn - BLOCK(GROUP_STEP);
  const u32 lx = BLOCK(LOCAL_SIZE_0), ly = BLOCK(LOCAL_SIZE_1), rest = item / lx;
  const u32 x = item - rest * lx, z = rest / ly, y = rest - z * ly;

  SET(GROUP_SLOT, slot);
  SET(GROUP, group);
  SET(LOCAL_ID_0, x);
  SET(LOCAL_ID_1, y);
  SET(LOCAL_ID_2, z);
  SET(GROUP_ID_0, group);
  SET(GROUP_ID_1, 0);
  SET(GROUP_ID_2, 0);
  SET(GLOBAL_ID_0, BLOCK(GLOBAL_OFFSET_0) + group * lx + x);
  SET(GLOBAL_ID_1, BLOCK(GLOBAL_OFFSET_1));
  SET(GLOBAL_ID_2, BLOCK(GLOBAL_OFFSET_2));
}

/// Ids of the lane's item of a work-group, in several dimensions: whether there is such an item.
u32 eddy_place(u32 group) {
  const u32 nx = BLOCK(NUM_GROUPS_0), ny = BLOCK(NUM_GROUPS_1);
  const u32 plane = group / nx, gi = group - plane * nx, gl = plane / ny, gj = plane - gl * ny;
  const u32 i = gi * BLOCK(LOCAL_SIZE_0) + CONTEXT(LOCAL_ID_0), j = gj * BLOCK(LOCAL_SIZE_1) + CONTEXT(LOCAL_ID_1);
  const u32 l = gl * BLOCK(LOCAL_SIZE_2) + CONTEXT(LOCAL_ID_2);

  SET(GROUP_ID_0, gi);
  SET(GROUP_ID_1, gj);
  SET(GROUP_ID_2, gl);
  SET(GLOBAL_ID_0, BLOCK(GLOBAL_OFFSET_0) + i);
  SET(GLOBAL_ID_1, BLOCK(GLOBAL_OFFSET_1) + j);
  SET(GLOBAL_ID_2, BLOCK(GLOBAL_OFFSET_2) + l);
  return i < BLOCK(GLOBAL_SIZE_0) && j < BLOCK(GLOBAL_SIZE_1) && l < BLOCK(GLOBAL_SIZE_2);
}
