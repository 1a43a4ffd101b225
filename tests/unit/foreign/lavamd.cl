// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#include "main.h"
#define DOT(A, B) ((A.x) * (B.x) + (A.y) * (B.y) + (A.z) * (B.z))
__kernel void forces(par_str d_par, dim_str d_dim, __global box_str *d_box, __global FOUR_VECTOR *d_rv, __global fp *d_qv, __global FOUR_VECTOR *d_fv)
{
    int bx = get_group_id(0), tx = get_local_id(0), wtx = tx;
    if (bx < d_dim.number_boxes) {
        fp a2 = 2 * d_par.alpha * d_par.alpha;
        __local FOUR_VECTOR rA[PER_BOX];
        __local FOUR_VECTOR rB[PER_BOX];
        __local fp qB[PER_BOX];
        int first_i = d_box[bx].offset, k = 0, pointer, first_j, j;
        while (wtx < PER_BOX) { rA[wtx] = d_rv[first_i + wtx]; wtx = wtx + NUMBER_THREADS; }
        wtx = tx;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (k = 0; k < 1 + d_box[bx].nn; k++) {
            pointer = k == 0 ? bx : d_box[bx].nei[k - 1].number;
            first_j = d_box[pointer].offset;
            while (wtx < PER_BOX) { rB[wtx] = d_rv[first_j + wtx]; qB[wtx] = d_qv[first_j + wtx]; wtx = wtx + NUMBER_THREADS; }
            wtx = tx;
            barrier(CLK_LOCAL_MEM_FENCE);
            while (wtx < PER_BOX) {
                for (j = 0; j < PER_BOX; j++) {
                    fp r2 = rA[wtx].v + rB[j].v - DOT(rA[wtx], rB[j]), u2 = a2 * r2, vij = exp(-u2), fs = 2 * vij;
                    THREE_VECTOR d = { rA[wtx].x - rB[j].x, rA[wtx].y - rB[j].y, rA[wtx].z - rB[j].z };
                    d_fv[first_i + wtx].v += qB[j] * vij;
                    d_fv[first_i + wtx].x += qB[j] * (fs * d.x);
                    d_fv[first_i + wtx].y += qB[j] * (fs * d.y);
                    d_fv[first_i + wtx].z += qB[j] * (fs * d.z);
                }
                wtx = wtx + NUMBER_THREADS;
            }
            wtx = tx;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
