// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define LOG_BANKS 4
#define CONFLICT_FREE(n) ((n) >> LOG_BANKS)
__kernel void scan(__global int *out, __global const int *in, __local int *temp, const int n)
{
    int thid = get_local_id(0), offset = 1, base = get_group_id(0) * n;
    int ai = thid, bi = thid + n / 2, ca = CONFLICT_FREE(ai), cb = CONFLICT_FREE(bi);
    temp[ai + ca] = in[base + ai];
    temp[bi + cb] = in[base + bi];
    for (int d = n >> 1; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
            a += CONFLICT_FREE(a); b += CONFLICT_FREE(b);
            temp[b] += temp[a];
        }
        offset *= 2;
    }
    if (thid == 0) temp[n - 1 + CONFLICT_FREE(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
            a += CONFLICT_FREE(a); b += CONFLICT_FREE(b);
            int t = temp[a]; temp[a] = temp[b]; temp[b] += t;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + ai] = temp[ai + ca];
    out[base + bi] = temp[bi + cb];
}
__kernel __attribute__((work_group_size_hint(256, 1, 1))) __attribute__((vec_type_hint(uint)))
void bitonic(__global uint *keys, uint size, uint stage, uint pass, uint up)
{
    uint up_now = up, id = get_global_id(0), distance = 1 << (stage - pass), width = 2 * distance;
    uint left = (id % distance) + (id / distance) * width, right = left + distance;
    uint a = keys[left], b = keys[right], block = 1 << stage;
    if ((id / block) % 2 == 1) up_now = 1 - up_now;
    uint greater = a > b ? a : b, lesser = a > b ? b : a;
    keys[left] = up_now ? lesser : greater;
    keys[right] = up_now ? greater : lesser;
}
__kernel void histogram(__global const uint *data, __local uchar *shared, __global uint *bins)
{
    size_t lid = get_local_id(0), gid = get_global_id(0), group = get_group_id(0), size = get_local_size(0);
    __local uchar4 *vectors = (__local uchar4 *)shared;
    for (int i = 0; i < 64; ++i) vectors[size * i + lid] = (uchar4)(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 32; ++i) { uint value = data[gid * 32 + i]; shared[lid * 256 + value]++; }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 256 / size; ++i) {
        uint sum = 0;
        for (int j = 0; j < size; ++j) sum += shared[j * 256 + i * size + lid];
        bins[group * 256 + i * size + lid] = sum;
    }
}
union word { float f; uint u; uchar c[4]; };
__kernel void bytes(__global const float *x, __global uchar4 *y)
{
    union word w;
    w.f = x[get_global_id(0) - get_global_offset(0)];
    y[get_global_id(0) - get_global_offset(0)] = (uchar4)(w.c[3], w.c[2], w.c[1], (uchar)(w.u & 255u));
}
