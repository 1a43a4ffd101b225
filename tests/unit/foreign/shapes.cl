// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Ways through a kernel that programs take, and what they keep over barriers: one of each.

typedef struct node {
  int value;
  struct node *next;
} node_t;
typedef union {
  float f[2];
  uint u[2];
  uchar c[8];
} bits_t;

// A switch on what all items read, with barriers in its cases, a case that goes on into the next, and a `continue`.
__kernel void machine(__global const int *operations, int count, __global int *data, __local int *t) {
  int l = get_local_id(0), n = get_local_size(0), g = get_global_id(0);
  t[l] = data[g];
  for (int k = 0; k < count; k++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    int v = t[l], w;
    switch (operations[k]) {
      case 0: w = t[(l + 1) % n]; barrier(CLK_LOCAL_MEM_FENCE); t[l] = w + v; break;
      case 1: w = t[n - 1 - l]; barrier(CLK_LOCAL_MEM_FENCE); t[l] = w;
      case 2: t[l] = t[l] * 3 + k; break;
      case 7: continue;
      default: t[l] = v ^ operations[k];
    }
  }
  data[g] = t[l];
}

// Loops that differ in length from item to item, with atomics on local memory; then all items together again.
__kernel void collatz(__global const uint *seed, __global uint *histogram, __global int *steps, __local uint *own, int bins) {
  int l = get_local_id(0), n = get_local_size(0), g = get_global_id(0), count = 0;
  for (int i = l; i < bins; i += n) own[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint v = seed[g];
  while (v != 1 && count < 60) {
    v = v & 1 ? 3 * v + 1 : v >> 1;
    count++;
    atomic_inc(&own[v % bins]);
    if (v > 100000u) break;
  }
  steps[g] = count;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = l; i < bins; i += n) atomic_add(&histogram[i], own[i]);
}

// Rounds until nothing changes in the group, by a flag that one item clears and any sets.
__kernel void labels(__global int *label, __global int *rounds, __local int *t, __local int *again) {
  int l = get_local_id(0), n = get_local_size(0), g = get_global_id(0), r = 0;
  t[l] = label[g];
  do {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) *again = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int m = t[l];
    if (l > 0) m = max(m, t[l - 1]);
    if (l < n - 1) m = max(m, t[l + 1]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (m != t[l]) {
      t[l] = m;
      *again = 1;
    }
    r++;
    barrier(CLK_LOCAL_MEM_FENCE);
  } while (*again);
  label[g] = t[l];
  rounds[g] = r;
}

// A return in the middle of a loop, taken by whole groups.
__kernel void leaves(__global const int *stop, __global int *out, __local int *t) {
  int l = get_local_id(0), n = get_local_size(0), g = get_global_id(0), w = stop[get_group_id(0)];
  t[l] = l;
  for (int i = 0; i < 10; i++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == w) {
      out[g] = -t[(l + i) % n];
      return;
    }
    int v = t[(l + 1) % n];
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = v + 1;
  }
  out[g] = t[l];
}

// Barriers in the inner of two loops, left by a break.
__kernel void nested(__global const int *limits, __global int *data, __local int *t) {
  int l = get_local_id(0), n = get_local_size(0), g = get_global_id(0), sum = 0;
  t[l] = data[g];
  for (int i = 0; i < 3; i++) {
    int j = 0;
    for (;; j++) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (j >= limits[i]) break;
      sum += t[(l + j) % n] * (i + 1);
      barrier(CLK_LOCAL_MEM_FENCE);
      t[l] += j;
    }
    sum ^= j << i;
  }
  data[g] = sum;
}

// A ring of structures on the stack, changed through links alone.
__kernel void ring(__global int *data, __local int *t) {
  node_t a, b;
  int l = get_local_id(0), n = get_local_size(0), g = get_global_id(0);
  a.value = data[g];
  a.next = &b;
  b.value = l;
  b.next = l & 1 ? &a : &b;
  node_t *at = &a;
  for (int r = 0; r < 5; r++) {
    t[l] = at->value;
    barrier(CLK_LOCAL_MEM_FENCE);
    at = at->next;
    at->value += t[(l + 1) % n];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  data[g] = a.value * 3 + b.value;
}

// A union and vectors of two and four bytes, kept over barriers.
__kernel void packed(__global const float *in, __global uint *out, __local float *t) {
  int l = get_local_id(0), n = get_local_size(0), g = get_global_id(0);
  bits_t p;
  bool odd = l & 1;
  short4 s = (short4)(l, -l, g, 7);
  uchar4 c = (uchar4)(l, 2, g, 4);
  p.f[0] = in[g];
  p.f[1] = -in[g];
  t[l] = p.f[1];
  barrier(CLK_LOCAL_MEM_FENCE);
  p.f[odd] = t[(l + 1) % n];
  s.yz = s.zy + (short2)(1, c.z);
  barrier(CLK_LOCAL_MEM_FENCE);
  t[l] = odd ? p.f[0] : p.f[1];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[g] = (p.u[0] ^ rotate(p.u[1], 7u)) + p.c[3] + s.x * 3 + s.y * 5 + s.z * 7 + c.x + as_uint(t[n - 1 - l]);
}

// Local memory of three dimensions, turned over twice.
__kernel void turned(__global const int *in, __global int *out, __local int *t) {
  int x = get_local_id(0), y = get_local_id(1), z = get_local_id(2);
  int X = get_local_size(0), Y = get_local_size(1), Z = get_local_size(2);
  int g = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
  t[(z * Y + y) * X + x] = in[g];
  barrier(CLK_LOCAL_MEM_FENCE);
  int v = t[(z * Y + (Y - 1 - y)) * X + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  t[(z * Y + y) * X + x] = v * 2;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[g] = t[((Z - 1 - z) * Y + y) * X + (X - 1 - x)] + v;
}

// A pointer to one of two variables, by the row.
__kernel void chosen(__global const int *a, __global int *out, int w, int n) {
  int x = get_global_id(0), y = get_global_id(1), u = 1, v = 2, *p = y & 1 ? &u : &v;
  for (int k = 0; k < n; k++) {
    *p += a[k * w + x];
    u ^= k;
  }
  out[y * w + x] = u * 1000 + v;
}
