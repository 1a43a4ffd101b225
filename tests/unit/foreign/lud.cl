// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
__kernel void diagonal(__global float *m, __local float *shadow, int dim, int offset)
{
    int i, j, tx = get_local_id(0), at = offset * dim + offset;
    for (i = 0; i < BLOCK_SIZE; i++) { shadow[i * BLOCK_SIZE + get_local_id(0)] = m[at + get_local_id(0)]; at += dim; }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (i = 0; i < BLOCK_SIZE - 1; i++) {
        if (tx > i) {
            for (j = 0; j < i; j++) shadow[tx * BLOCK_SIZE + i] -= shadow[tx * BLOCK_SIZE + j] * shadow[j * BLOCK_SIZE + i];
            shadow[tx * BLOCK_SIZE + i] /= shadow[i * BLOCK_SIZE + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tx > i)
            for (j = 0; j < i + 1; j++)
                shadow[(i + 1) * BLOCK_SIZE + tx] -= shadow[(i + 1) * BLOCK_SIZE + j] * shadow[j * BLOCK_SIZE + tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    at = (offset + 1) * dim + offset;
    for (i = 1; i < BLOCK_SIZE; i++) { m[at + get_local_id(0)] = shadow[i * BLOCK_SIZE + get_local_id(0)]; at += dim; }
}
__kernel void perimeter(__global float *m, __local float *dia, __local float *row, __local float *col, int dim, int offset)
{
    int i, j, at, idx, bx = get_group_id(0), tx = get_local_id(0);
    if (tx < BLOCK_SIZE) {
        idx = tx;
        at = offset * dim + offset;
        for (i = 0; i < BLOCK_SIZE / 2; i++) { dia[i * BLOCK_SIZE + idx] = m[at + idx]; at += dim; }
        at = offset * dim + offset;
        for (i = 0; i < BLOCK_SIZE; i++) { row[i * BLOCK_SIZE + idx] = m[at + (bx + 1) * BLOCK_SIZE + idx]; at += dim; }
    } else {
        idx = tx - BLOCK_SIZE;
        at = (offset + BLOCK_SIZE / 2) * dim + offset;
        for (i = BLOCK_SIZE / 2; i < BLOCK_SIZE; i++) { dia[i * BLOCK_SIZE + idx] = m[at + idx]; at += dim; }
        at = (offset + (bx + 1) * BLOCK_SIZE) * dim + offset;
        for (i = 0; i < BLOCK_SIZE; i++) { col[i * BLOCK_SIZE + idx] = m[at + idx]; at += dim; }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tx < BLOCK_SIZE) {
        idx = tx;
        for (i = 1; i < BLOCK_SIZE; i++)
            for (j = 0; j < i; j++) row[i * BLOCK_SIZE + idx] -= dia[i * BLOCK_SIZE + j] * row[j * BLOCK_SIZE + idx];
    } else {
        idx = tx - BLOCK_SIZE;
        for (i = 0; i < BLOCK_SIZE; i++) {
            for (j = 0; j < i; j++) col[idx * BLOCK_SIZE + i] -= col[idx * BLOCK_SIZE + j] * dia[j * BLOCK_SIZE + i];
            col[idx * BLOCK_SIZE + i] /= dia[i * BLOCK_SIZE + i];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (tx < BLOCK_SIZE) {
        idx = tx;
        at = (offset + 1) * dim + offset;
        for (i = 1; i < BLOCK_SIZE; i++) { m[at + (bx + 1) * BLOCK_SIZE + idx] = row[i * BLOCK_SIZE + idx]; at += dim; }
    } else {
        idx = tx - BLOCK_SIZE;
        at = (offset + (bx + 1) * BLOCK_SIZE) * dim + offset;
        for (i = 0; i < BLOCK_SIZE; i++) { m[at + idx] = col[i * BLOCK_SIZE + idx]; at += dim; }
    }
}
__kernel void internal(__global float *m, __local float *row, __local float *col, int dim, int offset)
{
    int bx = get_group_id(0), by = get_group_id(1), tx = get_local_id(0), ty = get_local_id(1), i;
    float sum;
    int r = offset + (by + 1) * BLOCK_SIZE, c = offset + (bx + 1) * BLOCK_SIZE;
    row[ty * BLOCK_SIZE + tx] = m[(offset + ty) * dim + c + tx];
    col[ty * BLOCK_SIZE + tx] = m[(r + ty) * dim + offset + tx];
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (i = 0; i < BLOCK_SIZE; i++) sum += col[ty * BLOCK_SIZE + i] * row[i * BLOCK_SIZE + tx];
    m[(r + ty) * dim + c + tx] -= sum;
}
