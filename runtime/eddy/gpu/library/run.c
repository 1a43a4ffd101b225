// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Which work-items a lane executes. gp holds the launch block, tp the lane's context; both are set in start.S, whose loop
// advances from item to item. t6 holds the item's local id, a dimension in eleven bits.
//
// Neighbouring work-groups go to one core, whose warps then touch the same cache lines at about the same time; but where
// there are fewer groups than places, each core gets its share first. The host says so by two strides.

typedef unsigned int u32;

#define BLOCK(name) ({ u32 v_; __asm__ volatile("lw %0, %1(gp)" : "=r"(v_) : "i"(EDDY_##name)); v_; })
#define CONTEXT(name) ({ u32 v_; __asm__ volatile("lw %0, %1(tp)" : "=r"(v_) : "i"(EDDY_CTX_##name)); v_; })
#define SET(name, value) __asm__ volatile("sw %0, %1(tp)" : : "r"(value), "i"(EDDY_CTX_##name) : "memory")
#define CSR(number) ({ u32 v_; __asm__("csrr %0, " #number : "=r"(v_)); v_; })

static inline u32 first(u32 local) { return local & EDDY_LOCAL_MASK; }
static inline u32 second(u32 local) { return local >> EDDY_LOCAL_BITS & EDDY_LOCAL_MASK; }
static inline u32 third(u32 local) { return local >> 2 * EDDY_LOCAL_BITS; }

/// From a lane's item of a group to its next, which there is.
static inline u32 next_local(u32 local) {
  const u32 lx = BLOCK(LOCAL_SIZE_0), ly = BLOCK(LOCAL_SIZE_1);
  local += BLOCK(LOCAL_STEP);
  if (first(local) >= lx) local += (1 << EDDY_LOCAL_BITS) - lx;
  if (second(local) >= ly) local += ((1 << EDDY_LOCAL_BITS) - ly) << EDDY_LOCAL_BITS;
  return local;
}

/// Without a division where the ND-range has no such dimension.
static inline u32 quotient(u32 a, u32 b) { return a < b ? 0 : a / b; }

/// Where a lane with several work-items of a group keeps what is theirs, and which it has.
///
/// item: which lane of the group; lane: which of the core; local: the first work-item's id.
__attribute__((noinline)) static void begin_several(u32 item, u32 lane, u32 local) {
  const u32 lanes = BLOCK(PLACE_LANES), stride = BLOCK(FIBER_STRIDE), count = (BLOCK(GROUP_ITEMS) - item + lanes - 1) / lanes;
  const u32 rows = CSR(0xfc0) * CSR(0xfc1), across = (rows + EDDY_ROW_LANES - 1) / EDDY_ROW_LANES;
  u32 at = BLOCK(FIBER_BASE) + CSR(0xcc2) * BLOCK(FIBER_CORE);
  at += (lane / EDDY_ROW_LANES) * (stride / across) + lane % EDDY_ROW_LANES * 4;
  SET(FIRST, at);
  SET(LAST, at + (count - 1) * stride);
  SET(FIBERS, count);
  if (BLOCK(FLAGS) & EDDY_FLAG_LOOPS) {
    // The stub goes from item to item by itself, along lines: how many of them there are.
    const u32 grid = BLOCK(LOCAL_STEP), gx = first(grid), gy = second(grid), gz = third(grid);
    const u32 deep = (BLOCK(LOCAL_SIZE_2) - third(local) + gz - 1) / gz;
    SET(LINES, deep * ((BLOCK(LOCAL_SIZE_0) - first(local) + gx - 1) / gx));
    SET(COLUMNS, deep * ((BLOCK(LOCAL_SIZE_1) - second(local) + gy - 1) / gy));
    return;
  }
  for (;; at += stride) {
    *(volatile u32 *)(at + EDDY_FIBER_LOCAL) = local;
    if (at == CONTEXT(LAST)) return;
    local = next_local(local);
  }
}

/// Where a lane begins its walk and where it ends.
///
/// at: which lane of those that walk.
static inline void begin_walk(u32 at) {
  const u32 axis = BLOCK(WALK_AXIS), first = BLOCK(WALK_FIRST) + at, lanes = BLOCK(WALK_LANES), share = BLOCK(WALK_SHARE);
  const u32 turn = quotient(first, lanes), lane = first - turn * lanes, sides = BLOCK(WALK_SIDE), length = BLOCK(WALK_LENGTH);
  // Lanes of a warp lie along a line of the first dimension, and across others.
  const u32 part = axis ? sides : share, major = quotient(lane, part), minor = lane - major * part;
  const u32 side = axis ? minor : major, place = turn * share + (axis ? major : minor), line = quotient(place, length);
  const u32 strips = BLOCK(WALK_STRIPS), deep = quotient(line, strips);
  const u32 along = place - line * length, across = (line - deep * strips) * sides + side;
  const u32 more = lane <= BLOCK(WALK_LAST_LANE), last_line = more ? BLOCK(WALK_LINE_MORE) : BLOCK(WALK_LINE_LESS);

  SET(WALKS, at < BLOCK(WALK_COUNT) && line <= last_line);
  SET(WALK_LINES, last_line - line);
  SET(WALK_LAST, more ? BLOCK(WALK_LAST_MORE) : BLOCK(WALK_LAST_LESS));
  SET(START_0, BLOCK(GLOBAL_OFFSET_0) + (axis == 0 ? along : across));
  SET(START_1, BLOCK(GLOBAL_OFFSET_1) + (axis == 0 ? across : axis == 1 ? along : deep));
  SET(START_2, BLOCK(GLOBAL_OFFSET_2) + (axis == 2 ? along : deep));
}

/// A lane's context before it enters its first group.
///
/// slot: the place of this lane's groups within its core; item: which lane of the group; lane: which of the core.
void eddy_begin(u32 slot, u32 item, u32 lane) {
  const u32 turn = CSR(0xcc2) * BLOCK(CORE_STRIDE) + slot * BLOCK(PLACE_STRIDE), group = BLOCK(FIRST_GROUP) + turn;
  if (BLOCK(FLAGS) & EDDY_FLAG_WALK) {
    begin_walk(turn * BLOCK(PLACE_LANES) + item);
    return;
  }
  // Where a stub goes from item to item by itself, lanes begin side by side and step by their number in each dimension.
  const u32 loops = BLOCK(FLAGS) & EDDY_FLAG_LOOPS, grid = BLOCK(LOCAL_STEP);
  const u32 lx = loops ? first(grid) : BLOCK(LOCAL_SIZE_0), ly = loops ? second(grid) : BLOCK(LOCAL_SIZE_1);
  const u32 row = quotient(item, lx), plane = quotient(row, ly);
  const u32 nx = BLOCK(NUM_GROUPS_0), ny = BLOCK(NUM_GROUPS_1), line = quotient(group, nx), layer = quotient(line, ny);
  u32 local = item - row * lx + ((row - plane * ly) << EDDY_LOCAL_BITS) + (plane << 2 * EDDY_LOCAL_BITS);

  SET(BARRIER, BLOCK(FLAGS) & EDDY_FLAG_FIBERS ? slot | 1u << 31 : slot);
  SET(GROUP, group);
  SET(LOCAL, local);
  SET(ROUND, 0);
  SET(GROUP_ID_0, group - line * nx);
  SET(GROUP_ID_1, line - layer * ny - BLOCK(STEP_1));
  SET(GROUP_ID_2, layer - BLOCK(STEP_2));
  SET(START_1, BLOCK(GLOBAL_OFFSET_1));
  SET(START_2, BLOCK(GLOBAL_OFFSET_2));
  if (BLOCK(FLAGS) & (EDDY_FLAG_FIBERS | EDDY_FLAG_LOOPS)) begin_several(item, lane, local);
}
