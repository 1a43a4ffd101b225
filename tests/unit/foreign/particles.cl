// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define REAL(x) x##f
#pragma OPENCL EXTENSION cl_khr_local_int32_base_atomics : enable
enum { CENTRE = 0, NORTH, SOUTH, FLOWS };
#define CELL(i, flow) ((i) * FLOWS + (flow))
#define LOAD(name, flow) const float name = from[CELL(i, flow)];
/* A step of a lattice, charges on a grid, resampling, and counts of angles between all pairs. */
__kernel void relax(__global const float *restrict from, __global float *restrict to, const int cells)
{
    const int i = get_global_id(0);
    if (i >= cells) return;
    LOAD(centre, CENTRE) LOAD(north, NORTH) LOAD(south, SOUTH)
    const float mass = +centre + north + south, speed = (north - south) / mass;
    to[CELL(i, CENTRE)] = (1.0f - OMEGA) * centre + OMEGA * (2.0f / 3) * mass * (1.0f - REAL(1.5) * speed * speed);
    to[CELL(i, NORTH)] = to[CELL(i, SOUTH)] = 0.5 * (mass - to[CELL(i, CENTRE)]);
}
__kernel void potential(__global float *grid, __constant float4 *atoms, int count, float spacing, float cutoff2)
{
    int x = get_group_id(0) * get_local_size(0) + get_local_id(0), y = get_group_id(1) * get_local_size(1) + get_local_id(1);
    float2 here = spacing * (float2)(x, y);
    float energy = 0.f;
    for (int a = 0; a < count; a++) {
        float4 atom = atoms[a];
        float3 d = (float3)(here - atom.xy, atom.z);
        float r2 = dot(d, d), s = 1.f - r2 / cutoff2;
        if (r2 < cutoff2) energy += atom.w * native_rsqrt(r2) * s * s;
    }
    grid[y * get_global_size(0) + x] += energy;
}
int first_not_below(__global float *sums, int n, float value)
{
    int low = 0, high = n - 1;
    while (low < high) {
        int middle = (low + high) >> 1;
        if (sums[middle] >= value) high = middle; else low = middle + 1;
    }
    return low;
}
__kernel void resample(__global float *weights, __global float *sums, __global int *chosen, __global uint *seed, int n)
{
    __local float scale, start;
    int i = get_global_id(0), l = get_local_id(0);
    if (l == 0) {
        float total = 0;
        for (int k = 0; k < n; k++) sums[k] = total += weights[k];
        seed[0] = seed[0] * 1103515245u + 12345u;
        scale = total / n;
        start = (seed[0] >> 8) / (float)(1 << 24);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (i < n) chosen[i] = first_not_below(sums, n, (start + i) * scale);
    barrier(CLK_GLOBAL_MEM_FENCE);
}
__kernel void angles(__global const float2 *points, int n, __constant float *bounds, volatile __global uint *counts)
{
    __local uint copies[8][16];
    const uint t = get_local_id(0), i = get_group_id(0);
    for (uint k = t; k < 8 * 16; k += get_local_size(0)) copies[k / 16][k % 16] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = i + 1 + t; j < n; j += get_local_size(0)) {
        float cosine = dot(points[i], points[j]);
        int bin = 0;
        while (bin < 7 && cosine < bounds[bin]) ++bin;
        atom_inc(&copies[bin][t & 15]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t >= 8) return;
    uint sum = 0;
    #pragma unroll 4
    for (int k = 0; k < 16; k++) sum += copies[t][k];
    atomic_add(counts + t, sum);
}
