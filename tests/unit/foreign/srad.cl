// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define fp float
#define NUMBER_THREADS 256
__kernel void extract(long d_Ne, __global fp *d_I)
{
    int ei = get_group_id(0) * NUMBER_THREADS + get_local_id(0);
    if (ei < d_Ne) d_I[ei] = exp(d_I[ei] / 255);
}
__kernel void prepare(long d_Ne, __global fp *d_I, __global fp *sums, __global fp *sums2)
{
    int ei = get_group_id(0) * NUMBER_THREADS + get_local_id(0);
    if (ei < d_Ne) { sums[ei] = d_I[ei]; sums2[ei] = d_I[ei] * d_I[ei]; }
}
__kernel void reduce(long d_Ne, long d_no, int d_mul, __global fp *sums, __global fp *sums2, int groups)
{
    int bx = get_group_id(0), tx = get_local_id(0), ei = bx * NUMBER_THREADS + tx, nf = NUMBER_THREADS - (groups * NUMBER_THREADS - d_no), df = 0, i;
    __local fp d_psum[NUMBER_THREADS];
    __local fp d_psum2[NUMBER_THREADS];
    if (ei < d_no) { d_psum[tx] = sums[ei * d_mul]; d_psum2[tx] = sums2[ei * d_mul]; }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (nf == NUMBER_THREADS) {
        for (i = 2; i <= NUMBER_THREADS; i = 2 * i) {
            if ((tx + 1) % i == 0) { d_psum[tx] = d_psum[tx] + d_psum[tx - i / 2]; d_psum2[tx] = d_psum2[tx] + d_psum2[tx - i / 2]; }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (tx == NUMBER_THREADS - 1) { sums[bx * d_mul * NUMBER_THREADS] = d_psum[tx]; sums2[bx * d_mul * NUMBER_THREADS] = d_psum2[tx]; }
    } else {
        if (bx != groups - 1) {
            for (i = 2; i <= NUMBER_THREADS; i = 2 * i) {
                if ((tx + 1) % i == 0) { d_psum[tx] = d_psum[tx] + d_psum[tx - i / 2]; d_psum2[tx] = d_psum2[tx] + d_psum2[tx - i / 2]; }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (tx == NUMBER_THREADS - 1) { sums[bx * d_mul * NUMBER_THREADS] = d_psum[tx]; sums2[bx * d_mul * NUMBER_THREADS] = d_psum2[tx]; }
        } else {
            for (i = 2; i <= NUMBER_THREADS; i = 2 * i)
                if (nf >= i) df = i;
            for (i = 2; i <= df; i = 2 * i) {
                if ((tx + 1) % i == 0 && tx < df) { d_psum[tx] = d_psum[tx] + d_psum[tx - i / 2]; d_psum2[tx] = d_psum2[tx] + d_psum2[tx - i / 2]; }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (tx == df - 1) {
                for (i = bx * NUMBER_THREADS + df; i < bx * NUMBER_THREADS + nf; i++) { d_psum[tx] += sums[i]; d_psum2[tx] += sums2[i]; }
                sums[bx * d_mul * NUMBER_THREADS] = d_psum[tx];
                sums2[bx * d_mul * NUMBER_THREADS] = d_psum2[tx];
            }
        }
    }
}
__kernel void diffuse(fp lambda, int rows, int cols, __global int *iN, __global int *iS, __global int *jE, __global int *jW,
                      __global fp *dN, __global fp *dS, __global fp *dE, __global fp *dW, fp q0sqr, __global fp *c, __global fp *image)
{
    int ei = get_group_id(0) * NUMBER_THREADS + get_local_id(0), row = (ei + 1) % rows - 1, col = (ei + 1) / rows + 1 - 1;
    if ((ei + 1) % rows == 0) { row = rows - 1; col = col - 1; }
    if (ei < rows * cols) {
        fp jc = image[ei];
        fp n = image[iN[row] + rows * col] - jc, s = image[iS[row] + rows * col] - jc;
        fp w = image[row + rows * jW[col]] - jc, e = image[row + rows * jE[col]] - jc;
        fp g2 = (n * n + s * s + w * w + e * e) / (jc * jc), l = (n + s + w + e) / jc;
        fp num = 0.5f * g2 - (1.0f / 16.0f) * (l * l), den = 1 + 0.25f * l, qsqr = num / (den * den);
        den = (qsqr - q0sqr) / (q0sqr * (1 + q0sqr));
        fp loc = 1.0f / (1.0f + den);
        if (loc < 0) loc = 0; else if (loc > 1) loc = 1;
        dN[ei] = n; dS[ei] = s; dW[ei] = w; dE[ei] = e; c[ei] = loc;
    }
}
