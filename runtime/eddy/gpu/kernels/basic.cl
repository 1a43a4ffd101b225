// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// One loop each: the patterns that everything else is made of.

kernel void vecadd(global const float *a, global const float *b, global float *c) {
  const uint i = get_global_id(0);
  c[i] = a[i] + b[i];
}

kernel void saxpy(global float *y, global const float *x, float a) {
  const uint i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}

// Sums of work-groups, by halves; n is a power of two.
kernel void reduction(global const int *x, global int *sums, local int *t) {
  const uint l = get_local_id(0), n = get_local_size(0);
  t[l] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint part = n / 2; part > 0; part /= 2) {
    if (l < part) t[l] += t[l + part];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) sums[get_group_id(0)] = t[0];
}

// Through local memory, so that both sides are read and written in order; groups are squares of side n.
kernel void transpose(global const float *in, global float *out, uint width, uint height, local float *tile) {
  const uint n = get_local_size(0), x = get_local_id(0), y = get_local_id(1);
  tile[y * (n + 1) + x] = in[get_global_id(1) * width + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(get_group_id(0) * n + y) * height + get_group_id(1) * n + x] = tile[x * (n + 1) + y];
}

kernel void divergent(global const uint *seeds, global uint *out, uint rounds) {
  uint s = seeds[get_global_id(0)], sum = 0;
  for (uint r = 0; r < rounds; r++) {
    s = s * 1664525u + 1013904223u;
    if (s & 0x80000000u) {
      sum += s >> 7;
      if (s & 0x40000000u) sum ^= s << 3;
      else sum = rotate(sum, 5u);
    } else {
      for (uint k = 0; k < (s >> 28); k++) sum = sum * 31u + k;
    }
    switch ((s >> 16) & 3) {
      case 0: sum += 17; break;
      case 1: sum -= s & 255; break;
      case 2: sum ^= sum >> 11; break;
      default: break;
    }
  }
  out[get_global_id(0)] = sum;
}
