// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#include "./../frame.h"
/* Matching of templates, absolute differences of blocks, dilation: the two latter read an image. */
sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void match(common_str common, __global fp *frame, __global int *rows, __global int *cols, __global fp *templates,
                    __global fp *score, __global int *best)
{
    int bx = get_group_id(0), tx = get_local_id(0), at, i, j;
    __local fp top[NUMBER_THREADS];
    __local int place[NUMBER_THREADS];
    __global fp *mine = &score[bx * common.places], *t = &templates[bx * common.rows * common.cols];
    for (at = tx; at < common.places; at += NUMBER_THREADS) {
        int r = at % common.place_rows, c = at / common.place_rows;
        fp sum = 0;
        for (j = 0; j < common.cols; j++)
            for (i = 0; i < common.rows; i++)
                sum += t[j * common.rows + i] * frame[(cols[bx] + c + j) * common.frame_rows + rows[bx] + r + i];
        mine[at] = sum * common.scale;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    top[tx] = -1e30f;
    for (at = tx; at < common.places; at += NUMBER_THREADS)
        if (mine[at] > top[tx]) { top[tx] = mine[at]; place[tx] = at; }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (i = NUMBER_THREADS / 2; i; i >>= 1) {
        if (tx < i && top[tx + i] > top[tx]) { top[tx] = top[tx + i]; place[tx] = place[tx + i]; }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (!tx) best[bx] = place[0];
}
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void differences(__global ushort *sums, __read_only image2d_t reference, __global const uchar *frame, const int width)
{
    int dx = (int)get_local_id(0) - 4, dy = (int)get_local_id(1) - 4, x, y;
    size_t bx = get_group_id(0), by = get_group_id(1), block = by * get_num_groups(0) + bx;
    ushort sum = 0;
    for (y = 0; y < 4; y++)
        for (x = 0; x < 4; x++) {
            uint4 texel = read_imageui(reference, nearest, (int2)(bx * 4 + x + dx, by * 4 + y + dy));
            sum += abs_diff((uchar)texel.x, frame[(by * 4 + y) * width + bx * 4 + x]);
        }
    sums[(block << 6) + (get_local_id(1) << 3) + get_local_id(0)] = sum;
}
__kernel void dilate(int rows, int cols, __constant uchar *element, int side, __read_only image2d_t image, __global float *out)
{
    int at = get_global_id(0), i = at % rows, j = at / rows, y, x;
    if (j >= cols) return;
    float most = 0.0f;
    for (y = 0; y < side; y++)
        for (x = 0; x < side; x++) {
            int from_y = i + y - side / 2, from_x = j + x - side / 2;
            if (from_y < 0 || from_y >= rows || from_x < 0 || from_x >= cols || !element[y * side + x]) continue;
            most = fmax(most, read_imagef(image, nearest, (int2)(from_x, from_y)).s0);
        }
    out[i * cols + j] = most;
}
