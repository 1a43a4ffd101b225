// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define MIN(a, b) ((a) <= (b) ? (a) : (b))
#define IN_RANGE(x, low, high) ((x) >= (low) && (x) <= (high))
__kernel void walk(int rounds, __global int *wall, __global int *from, __global int *to, int cols, int rows, int start,
                   int border, __local int *prev, __local int *result)
{
    int size = get_local_size(0), bx = get_group_id(0), tx = get_local_id(0);
    int small = size - rounds * 2, x0 = small * bx - border, x1 = x0 + size - 1, x = x0 + tx;
    int left = x0 < 0 ? -x0 : 0, right = x1 > cols - 1 ? size - 1 - (x1 - cols + 1) : size - 1;
    int w = tx - 1 < left ? left : tx - 1, e = tx + 1 > right ? right : tx + 1;
    bool valid = IN_RANGE(tx, left, right);
    if (IN_RANGE(x, 0, cols - 1)) prev[tx] = from[x];
    barrier(CLK_LOCAL_MEM_FENCE);
    bool computed;
    for (int i = 0; i < rounds; i++) {
        computed = false;
        if (IN_RANGE(tx, i + 1, size - i - 2) && valid) {
            computed = true;
            int shortest = MIN(MIN(prev[w], prev[tx]), prev[e]);
            result[tx] = shortest + wall[cols * (start + i) + x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == rounds - 1) break;
        if (computed) prev[tx] = result[tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed) to[x] = result[tx];
}
