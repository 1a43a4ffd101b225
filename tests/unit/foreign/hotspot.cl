// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define IN_RANGE(x, low, high) ((x) >= (low) && (x) <= (high))
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif
__kernel __attribute__((reqd_work_group_size(BLOCK_SIZE, BLOCK_SIZE, 1)))
void hotspot(int rounds, global float *power, global float *from, global float *to, int cols, int rows, int border,
             float cap, float rx, float ry, float rz, float step)
{
    local float now[BLOCK_SIZE][BLOCK_SIZE];
    local float heat[BLOCK_SIZE][BLOCK_SIZE];
    local float then[BLOCK_SIZE][BLOCK_SIZE];
    float factor = step / cap;
    int bx = get_group_id(0), by = get_group_id(1), tx = get_local_id(0), ty = get_local_id(1);
    int small = BLOCK_SIZE - rounds * 2;
    int y0 = small * by - border, x0 = small * bx - border, y1 = y0 + BLOCK_SIZE - 1, x1 = x0 + BLOCK_SIZE - 1;
    int y = y0 + ty, x = x0 + tx, index = cols * y + x;
    if (IN_RANGE(y, 0, rows - 1) && IN_RANGE(x, 0, cols - 1)) { now[ty][tx] = from[index]; heat[ty][tx] = power[index]; }
    barrier(CLK_LOCAL_MEM_FENCE);
    int top = y0 < 0 ? -y0 : 0, bottom = y1 > rows - 1 ? BLOCK_SIZE - 1 - (y1 - rows + 1) : BLOCK_SIZE - 1;
    int left = x0 < 0 ? -x0 : 0, right = x1 > cols - 1 ? BLOCK_SIZE - 1 - (x1 - cols + 1) : BLOCK_SIZE - 1;
    int n = ty - 1 < top ? top : ty - 1, s = ty + 1 > bottom ? bottom : ty + 1;
    int w = tx - 1 < left ? left : tx - 1, e = tx + 1 > right ? right : tx + 1;
    bool computed;
    for (int i = 0; i < rounds; i++) {
        computed = false;
        if (IN_RANGE(tx, i + 1, BLOCK_SIZE - i - 2) && IN_RANGE(ty, i + 1, BLOCK_SIZE - i - 2) &&
            IN_RANGE(tx, left, right) && IN_RANGE(ty, top, bottom)) {
            computed = true;
            then[ty][tx] = now[ty][tx] + factor * (heat[ty][tx] + (now[s][tx] + now[n][tx] - 2.0f * now[ty][tx]) * ry +
                           (now[ty][e] + now[ty][w] - 2.0f * now[ty][tx]) * rx + (80.0f - now[ty][tx]) * rz);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == rounds - 1) break;
        if (computed) now[ty][tx] = then[ty][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed) to[index] = then[ty][tx];
}
