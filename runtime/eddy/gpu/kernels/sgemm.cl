// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// C = A B, row by row; A is m x k, B k x n. Products are added in order, each rounded, as the reference does.

kernel void sgemm(global const float *a, global const float *b, global float *c, uint k, uint n) {
  const uint column = get_global_id(0), row = get_global_id(1);
  global const float *const line = a + row * k;
  float sum = 0.0f;
  for (uint i = 0; i < k; i++) sum += line[i] * b[i * n + column];
  c[row * n + column] = sum;
}

// The same through local memory: squares of side TILE, which divides m, n and k.
kernel void sgemm_tiled(global const float *a, global const float *b, global float *c, uint k, uint n) {
  local float left[TILE][TILE], right[TILE][TILE];
  const uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (uint t = 0; t < k; t += TILE) {
    left[y][x] = a[row * k + t + x];
    right[y][x] = b[(t + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < TILE; i++) sum += left[y][i] * right[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
