// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/* Wavelets, a merge of sorted runs, digits of keys, squares of a volume. */
#ifndef THREADS
# define THREADS 128
#endif
inline void lift(__local float *s, int k, float by)
{
    int left = k == 0 ? 1 : k - 1, right = k == 2 * THREADS - 1 ? 2 * THREADS - 2 : k + 1;
    s[k] += by * (s[left] + s[right]);
}
__constant float steps[4] = { -1.586134342f, -0.05298011854f, 0.8829110762f, 0.4435068522f };
__kernel void wavelet(__global const float *restrict in, __global float *const restrict out, const int rows)
{
    __local float line[2 * THREADS];
    const int x = get_local_id(0), y = get_group_id(0);
    if (y >= rows) return;
    in += y * 2 * THREADS;
    line[x] = in[x];
    line[x + THREADS] = in[x + THREADS];
    for (int k = 0; k < 4; k++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        lift(line, 2 * x + !(k & 1), steps[k]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[y * 2 * THREADS + x] = line[2 * x] * 1.230174105f;
    out[y * 2 * THREADS + x + THREADS] = line[2 * x + 1] / 1.230174105f;
}
__kernel void merge(__global const int4 *from, __global int4 *to, const uint run)
{
    __global const int *a = (__global const int *)from + get_global_id(0) * 2 * run, *b = a + run;
    __global const int *const a_end = b, *const b_end = b + run;
    for (uint k = 0; k < 2 * run; k += 4) {
        int next[4];
        for (int e = 0; e < 4; e++) next[e] = b == b_end || (a != a_end && *a <= *b) ? *a++ : *b++;
        to[(get_global_id(0) * 2 * run + k) / 4] = vload4(0, next);
    }
}
__kernel void digits(__global const uint *keys, __global uint *counts, uint shift, __local ushort *own)
{
    size_t l = get_local_id(0), n = get_local_size(0), g = get_group_id(0);
    for (int i = 0; i < 16; ++i) own[l * 16 + i] = 0;
    for (int i = 0; i < 8; ++i) own[l * 16 + ((keys[(g * n + l) * 8 + i] >> shift) & 0xFU)]++;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = l; i < 16; i += n) {
        uint sum = 0;
        for (size_t k = 0; k < n; k++) sum += own[k * 16 + i];
        counts[g * 16 + i] = sum;
    }
}
#define AT(x, y, z) ((x) + nx * ((y) + ny * (z)))
__kernel void heat(__global float *p, __global float *in, __global float *out, int nx, int ny, int nz, float side, float rest)
{
    int i = get_global_id(0), j = get_global_id(1), k;
    int w = i == 0 ? i : i - 1, e = i == nx - 1 ? i : i + 1, n = j == 0 ? j : j - 1, s = j == ny - 1 ? j : j + 1;
    float below, here, above;
    below = here = in[AT(i, j, 0)];
    for (k = 0; k < nz; k++) {
        above = k == nz - 1 ? here : in[AT(i, j, k + 1)];
        out[AT(i, j, k)] = rest * here + side * (in[AT(w, j, k)] + in[AT(e, j, k)] + in[AT(i, n, k)] + in[AT(i, s, k)] + below + above) + p[AT(i, j, k)];
        below = here; here = above;
    }
}
