// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The fast Walsh-Hadamard transform in place: steps of radix four over memory, then transforms of CHUNK numbers, a power
// of two, in local memory, by work-groups of ITEMS items.

kernel void walsh_radix4(global float *data, uint stride) {
  const uint i = get_global_id(0), low = i & (stride - 1), at = ((i - low) << 2) + low;
  const float a = data[at], b = data[at + stride], c = data[at + 2 * stride], d = data[at + 3 * stride];
  const float ac = a + c, bd = b + d, a_c = a - c, b_d = b - d;
  data[at] = ac + bd;
  data[at + stride] = ac - bd;
  data[at + 2 * stride] = a_c + b_d;
  data[at + 3 * stride] = a_c - b_d;
}

kernel void walsh_local(global float *data, local float *part) {
  const uint item = get_local_id(0), start = get_group_id(0) * CHUNK;
  for (uint k = item; k < CHUNK; k += ITEMS) part[k] = data[start + k];
  for (uint stride = CHUNK / 2; stride > 0; stride >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = item; k < CHUNK / 2; k += ITEMS) {
      const uint low = k & (stride - 1), at = ((k - low) << 1) + low;
      const float a = part[at], b = part[at + stride];
      part[at] = a + b;
      part[at + stride] = a - b;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = item; k < CHUNK; k += ITEMS) data[start + k] = part[k];
}
