// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// DXT1 compression of blocks of sixteen colours: principal axis by power iteration, colours in order along it, then all
// cuts of that order into four clusters, each with the end colours of least squares; sixteen items share the last of a block's three cuts.

constant const float WEIGHT[4] = {1.0f, 2.0f / 3, 1.0f / 3, 0.0f};

float3 quantised(float3 c) {
  const float3 grid = (float3)(31.0f, 63.0f, 31.0f);
  return floor(clamp(c, 0.0f, 1.0f) * grid + 0.5f) / grid;
}

kernel void dxtc(global const float *pixels, global uint *codes, global float *errors, local float *colour, local float *sorted,
                 local float *sums, local int *order, local float *best, local int *cut) {
  const uint item = get_local_id(0), block = get_group_id(0);
  for (uint k = 0; k < 3; k++) colour[16 * k + item] = pixels[(block * 3 + k) * 16 + item];
  barrier(CLK_LOCAL_MEM_FENCE);
  float3 mean = 0.0f;
  for (uint i = 0; i < 16; i++) mean += (float3)(colour[i], colour[16 + i], colour[32 + i]);
  mean *= 1.0f / 16;
  float xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0;
  for (uint i = 0; i < 16; i++) {
    const float x = colour[i] - mean.x, y = colour[16 + i] - mean.y, z = colour[32 + i] - mean.z;
    xx += x * x; xy += x * y; xz += x * z; yy += y * y; yz += y * z; zz += z * z;
  }
  float3 axis = 1.0f;
  for (uint turn = 0; turn < 8; turn++) {
    const float3 next = (float3)(xx * axis.x + xy * axis.y + xz * axis.z, xy * axis.x + yy * axis.y + yz * axis.z, xz * axis.x + yz * axis.y + zz * axis.z);
    const float largest = fmax(fabs(next.x), fmax(fabs(next.y), fabs(next.z)));
    axis = largest > 0.0f ? next / largest : axis;
  }
  best[item] = colour[item] * axis.x + colour[16 + item] * axis.y + colour[32 + item] * axis.z;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint rank = 0;
  for (uint i = 0; i < 16; i++) rank += best[i] < best[item] || (best[i] == best[item] && i < item);
  order[rank] = item;
  for (uint k = 0; k < 3; k++) sorted[16 * k + rank] = colour[16 * k + item];
  barrier(CLK_LOCAL_MEM_FENCE);
  // Sums over the first 0 to 16 colours of the order, a row of 17 for each component.
  for (uint k = 0; k < 3; k++) {
    float sum = 0.0f;
    for (uint c = 0; c <= item; c++) sum += sorted[16 * k + c];
    sums[17 * k + item + 1] = sum;
    if (item == 0) sums[17 * k] = 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float3 all = (float3)(sums[16], sums[33], sums[50]);
  float least = MAXFLOAT;
  int found = 0;
  for (int i = 0; i <= 16; i++) {
    for (int j = i; j <= 16; j++) {
      for (int k = j + item; k <= 16; k += 16) {
        const float near = i + (j - i) * (4.0f / 9) + (k - j) * (1.0f / 9), far = (16 - k) + (k - j) * (4.0f / 9) + (j - i) * (1.0f / 9);
        const float cross = (k - i) * (2.0f / 9), det = near * far - cross * cross;
        if (det < 1e-4f) continue;
        const float3 a = ((float3)(sums[i], sums[17 + i], sums[34 + i]) + (float3)(sums[j], sums[17 + j], sums[34 + j]) +
                          (float3)(sums[k], sums[17 + k], sums[34 + k])) * (1.0f / 3), b = all - a;
        const float3 start = quantised((a * far - b * cross) / det), end = quantised((b * near - a * cross) / det);
        const float3 e = start * start * near + end * end * far + 2.0f * (start * end * cross - start * a - end * b);
        const float error = e.x + e.y + e.z;
        if (error < least) {
          least = error;
          found = i | j << 8 | k << 16;
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  best[item] = least;
  cut[item] = found;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item) return;
  uint first = 0;
  for (uint i = 1; i < 16; i++) first = best[i] < best[first] ? i : first;
  const int i = cut[first] & 255, j = cut[first] >> 8 & 255, k = cut[first] >> 16;
  const float near = i + (j - i) * (4.0f / 9) + (k - j) * (1.0f / 9), far = (16 - k) + (k - j) * (4.0f / 9) + (j - i) * (1.0f / 9);
  const float cross = (k - i) * (2.0f / 9), det = near * far - cross * cross;
  float3 a = 0.0f, b = 0.0f;
  float square = 0.0f;
  uint indices = 0;
  for (int c = 0; c < 16; c++) {
    const float3 here = (float3)(sorted[c], sorted[16 + c], sorted[32 + c]);
    const uint cluster = (c >= i) + (c >= j) + (c >= k);
    a += WEIGHT[cluster] * here;
    b += (1.0f - WEIGHT[cluster]) * here;
    square += dot(here, here);
    // DXT1 numbers them: start, end, two thirds of start, one third.
    indices |= (cluster == 0 ? 0u : cluster == 3 ? 1u : cluster + 1) << (2 * order[c]);
  }
  const float3 start = quantised((a * far - b * cross) / det), end = quantised((b * near - a * cross) / det);
  const uint from = (uint)(start.x * 31.0f + 0.5f) << 11 | (uint)(start.y * 63.0f + 0.5f) << 5 | (uint)(start.z * 31.0f + 0.5f);
  const uint to = (uint)(end.x * 31.0f + 0.5f) << 11 | (uint)(end.y * 63.0f + 0.5f) << 5 | (uint)(end.z * 31.0f + 0.5f);
  codes[2 * block] = from | to << 16;
  codes[2 * block + 1] = indices;
  errors[block] = best[first] + square;
}
