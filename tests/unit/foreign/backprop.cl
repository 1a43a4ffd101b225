// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define SIDE 16
#define AT(y, x) ((y) * SIDE + (x))
__kernel void forward(__global float *input, __global float *partial, __global float *weights, __local float *nodes,
                      __local float *products, int hidden)
{
    int by = get_group_id(1), tx = get_local_id(0), ty = get_local_id(1);
    int index = (hidden + 1) * SIDE * by + (hidden + 1) * ty + tx + 1 + (hidden + 1);
    int in = SIDE * by + ty + 1;
    if (tx == 0) nodes[ty] = input[in];
    barrier(CLK_LOCAL_MEM_FENCE);
    products[AT(ty, tx)] = weights[index];
    barrier(CLK_LOCAL_MEM_FENCE);
    products[AT(ty, tx)] = products[AT(ty, tx)] * nodes[ty];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 1; i <= SIDE; i = i * 2) {
        int step = i;
        if (ty % (2 * step) == 0) products[AT(ty, tx)] = products[AT(ty, tx)] + products[AT(ty + step, tx)];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (2 * step >= SIDE) break;
    }
    weights[index] = products[AT(ty, tx)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tx == 0) partial[by * hidden + ty] = products[AT(0, ty)];
}
__kernel void adjust(__global float *delta, int hidden, __global float *input, __global float *weights, __global float *old)
{
    int by = get_group_id(1), tx = get_local_id(0), ty = get_local_id(1);
    int index = (hidden + 1) * SIDE * by + (hidden + 1) * ty + tx + 1 + (hidden + 1), y = SIDE * by + ty + 1, x = tx + 1;
    weights[index] += 0.3f * delta[x] * input[y] + 0.3f * old[index];
    old[index] = 0.3f * delta[x] * input[y] + 0.3f * old[index];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (ty == 0 && by == 0) {
        weights[x] += 0.3f * delta[x] + 0.3f * old[x];
        old[x] = 0.3f * delta[x] + 0.3f * old[x];
    }
}
