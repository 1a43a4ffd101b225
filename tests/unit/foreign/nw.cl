// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define SCORE(i, j) input_l[j + i * (BLOCK_SIZE + 1)]
#define REF(i, j) reference_l[j + i * BLOCK_SIZE]
int maximum(int a, int b, int c) { int k = a <= b ? b : a; return k <= c ? c : k; }
__kernel void strip(__global const int *reference_d, __global int *items_d, __local int *input_l, __local int *reference_l,
                    int cols, int penalty, int blk, int width, int lower)
{
    int bx = get_group_id(0), tx = get_local_id(0);
    int ix = lower ? bx + width - blk : bx, iy = lower ? width - bx - 1 : blk - 1 - bx;
    int index = cols * BLOCK_SIZE * iy + BLOCK_SIZE * ix + tx + (cols + 1), index_n = index - cols;
    int index_w = cols * BLOCK_SIZE * iy + BLOCK_SIZE * ix + cols, index_nw = cols * BLOCK_SIZE * iy + BLOCK_SIZE * ix;
    if (tx == 0) SCORE(tx, 0) = items_d[index_nw];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int ty = 0; ty < BLOCK_SIZE; ty++) REF(ty, tx) = reference_d[index + cols * ty];
    barrier(CLK_LOCAL_MEM_FENCE);
    SCORE((tx + 1), 0) = items_d[index_w + cols * tx];
    barrier(CLK_LOCAL_MEM_FENCE);
    SCORE(0, (tx + 1)) = items_d[index_n];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < BLOCK_SIZE; m++) {
        if (tx <= m) {
            int x = tx + 1, y = m - tx + 1;
            SCORE(y, x) = maximum(SCORE((y - 1), (x - 1)) + REF((y - 1), (x - 1)), SCORE(y, (x - 1)) - penalty, SCORE((y - 1), x) - penalty);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int m = BLOCK_SIZE - 2; m >= 0; m--) {
        if (tx <= m) {
            int x = tx + BLOCK_SIZE - m, y = BLOCK_SIZE - tx;
            SCORE(y, x) = maximum(SCORE((y - 1), (x - 1)) + REF((y - 1), (x - 1)), SCORE(y, (x - 1)) - penalty, SCORE((y - 1), x) - penalty);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int ty = 0; ty < BLOCK_SIZE; ty++) items_d[index + ty * cols] = SCORE((ty + 1), (tx + 1));
}
