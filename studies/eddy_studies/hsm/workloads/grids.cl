// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Stencils in pyramids: several steps in local memory between reads, at the price of a border that is computed twice.

#ifdef STEPS
// Heat on a chip: SIDE x SIDE tiles, of which SIDE - 2 STEPS are left after STEPS steps. Sixteen items, a column each.
kernel void hotspot(global const float *power, global const float *in, global float *out, int width, int height, float cap,
                    float rx, float ry, float rz, float ambient, local float *tile, local float *next, local float *heat) {
  const int item = get_local_id(0), inner = 16 - 2 * STEPS;
  const int x = get_group_id(0) * inner - STEPS + item, top = get_group_id(1) * inner - STEPS;
  const int column = clamp(x, 0, width - 1);
  for (int k = 0; k < 16; k++) {
    const int row = clamp(top + k, 0, height - 1);
    tile[k * 16 + item] = in[row * width + column];
    heat[k * 16 + item] = power[row * width + column];
  }
  const int west = max(item - (x > 0), 0), east = min(item + (x < width - 1), 15);
  for (int step = 0; step < STEPS; step++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++) {
      const int y = top + k;
      const float here = tile[k * 16 + item];
      const float n = tile[max(k - (y > 0), 0) * 16 + item], s = tile[min(k + (y < height - 1), 15) * 16 + item];
      const float w = tile[k * 16 + west], e = tile[k * 16 + east];
      next[k * 16 + item] = here + cap * (heat[k * 16 + item] + (s + n - 2.0f * here) * ry + (e + w - 2.0f * here) * rx + (ambient - here) * rz);
    }
    local float *swap = tile;
    tile = next;
    next = swap;
  }
  if (item < STEPS || item >= 16 - STEPS || x >= width) return;
  for (int k = STEPS; k < 16 - STEPS && top + k < height; k++) out[(top + k) * width + x] = tile[k * 16 + item];
}
#endif

#ifdef ROWS
// The cheapest way down a wall: ROWS rows a launch, TILE columns a work-group of sixteen items, ROWS on each side twice.
kernel void pathfinder(global const int *wall, global const int *in, global int *out, int width, local int *now, local int *next) {
  const int item = get_local_id(0), first = get_group_id(0) * (TILE - 2 * ROWS) - ROWS;
  for (int k = item; k < TILE; k += 16) now[k] = in[clamp(first + k, 0, width - 1)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int row = 0; row < ROWS; row++) {
    for (int k = item; k < TILE; k += 16) {
      const int x = first + k;
      const int left = now[max(k - (x > 0), 0)], right = now[min(k + (x < width - 1), TILE - 1)];
      next[k] = min(now[k], min(left, right)) + wall[row * width + clamp(x, 0, width - 1)];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    local int *swap = now;
    now = next;
    next = swap;
  }
  for (int k = ROWS + item; k < TILE - ROWS; k += 16) if (first + k < width) out[first + k] = now[k];
}
#endif
