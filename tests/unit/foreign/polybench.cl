// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#elif defined(cl_amd_fp64)
#pragma OPENCL EXTENSION cl_amd_fp64 : enable
#endif
typedef float DATA_TYPE;
__kernel void gemm(__global DATA_TYPE *a, __global DATA_TYPE *b, __global DATA_TYPE *c, DATA_TYPE alpha, DATA_TYPE beta, int ni, int nj, int nk)
{
    int j = get_global_id(0), i = get_global_id(1);
    if ((i < ni) && (j < nj)) {
        c[i * nj + j] *= beta;
        for (int k = 0; k < nk; k++) c[i * nj + j] += alpha * a[i * nk + k] * b[k * nj + j];
    }
}
__kernel void atax1(__global DATA_TYPE *A, __global DATA_TYPE *x, __global DATA_TYPE *tmp, int nx, int ny)
{
    int i = get_global_id(0);
    if (i < nx) for (int j = 0; j < ny; j++) tmp[i] += A[i * ny + j] * x[j];
}
__kernel void atax2(__global DATA_TYPE *A, __global DATA_TYPE *y, __global DATA_TYPE *tmp, int nx, int ny)
{
    int j = get_global_id(0);
    if (j < ny) for (int i = 0; i < nx; i++) y[j] += A[i * ny + j] * tmp[i];
}
__kernel void gesummv(__global DATA_TYPE *a, __global DATA_TYPE *b, __global DATA_TYPE *x, __global DATA_TYPE *y, __global DATA_TYPE *tmp,
                      DATA_TYPE alpha, DATA_TYPE beta, int n)
{
    int i = get_global_id(0);
    if (i < n) {
        for (int j = 0; j < n; j++) { tmp[i] += a[i * n + j] * x[j]; y[i] += b[i * n + j] * x[j]; }
        y[i] = alpha * tmp[i] + beta * y[i];
    }
}
__kernel void conv2d(__global DATA_TYPE *A, __global DATA_TYPE *B, int ni, int nj)
{
    int j = get_global_id(0), i = get_global_id(1);
    DATA_TYPE c11 = +0.2, c21 = +0.5, c31 = -0.8, c12 = -0.3, c22 = +0.6, c32 = -0.9, c13 = +0.4, c23 = +0.7, c33 = +0.10;
    if ((i < (ni - 1)) && (j < (nj - 1)) && (i > 0) && (j > 0))
        B[i * nj + j] = c11 * A[(i - 1) * nj + (j - 1)] + c21 * A[(i - 1) * nj + j] + c31 * A[(i - 1) * nj + (j + 1)] +
            c12 * A[i * nj + (j - 1)] + c22 * A[i * nj + j] + c32 * A[i * nj + (j + 1)] +
            c13 * A[(i + 1) * nj + (j - 1)] + c23 * A[(i + 1) * nj + j] + c33 * A[(i + 1) * nj + (j + 1)];
}
__kernel void fdtd1(__global DATA_TYPE *fict, __global DATA_TYPE *ex, __global DATA_TYPE *ey, __global DATA_TYPE *hz, int t, int nx, int ny)
{
    int j = get_global_id(0), i = get_global_id(1);
    if ((i < nx) && (j < ny)) {
        if (i == 0) ey[i * ny + j] = fict[t];
        else ey[i * ny + j] = ey[i * ny + j] - 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]);
    }
}
__kernel void fdtd2(__global DATA_TYPE *ex, __global DATA_TYPE *ey, __global DATA_TYPE *hz, int nx, int ny)
{
    int j = get_global_id(0), i = get_global_id(1);
    if ((i < nx) && (j < ny) && (j > 0)) ex[i * (ny + 1) + j] = ex[i * (ny + 1) + j] - 0.5f * (hz[i * ny + j] - hz[i * ny + (j - 1)]);
}
__kernel void mean_kernel(__global DATA_TYPE *mean, __global DATA_TYPE *data, DATA_TYPE float_n, int m, int n)
{
    int j = get_global_id(0) + 1;
    if ((j >= 1) && (j < (m + 1))) {
        mean[j] = 0.0;
        for (int i = 1; i < (n + 1); i++) mean[j] += data[i * (m + 1) + j];
        mean[j] /= (DATA_TYPE)float_n;
    }
}
__kernel void std_kernel(__global DATA_TYPE *mean, __global DATA_TYPE *std, __global DATA_TYPE *data, DATA_TYPE float_n, DATA_TYPE eps, int m, int n)
{
    int j = get_global_id(0) + 1;
    if ((j >= 1) && (j < (m + 1))) {
        std[j] = 0.0;
        for (int i = 1; i < (n + 1); i++) std[j] += (data[i * (m + 1) + j] - mean[j]) * (data[i * (m + 1) + j] - mean[j]);
        std[j] /= float_n;
        std[j] = sqrt(std[j]);
        if (std[j] <= eps) std[j] = 1.0;
    }
}
__kernel void corr_kernel(__global DATA_TYPE *symmat, __global DATA_TYPE *data, int m, int n)
{
    int j1 = get_global_id(0) + 1;
    if ((j1 >= 1) && (j1 < m)) {
        symmat[j1 * (m + 1) + j1] = 1.0;
        for (int j2 = (j1 + 1); j2 < (m + 1); j2++) {
            for (int i = 1; i < (n + 1); i++) symmat[j1 * (m + 1) + j2] += data[i * (m + 1) + j1] * data[i * (m + 1) + j2];
            symmat[j2 * (m + 1) + j1] = symmat[j1 * (m + 1) + j2];
        }
    }
}
__kernel void gram1(__global DATA_TYPE *a, __global DATA_TYPE *r, __global DATA_TYPE *q, int k, int ni, int nj)
{
    int tid = get_global_id(0);
    if (tid == 0) {
        DATA_TYPE nrm = 0.0;
        for (int i = 0; i < ni; i++) nrm += a[i * nj + k] * a[i * nj + k];
        r[k * nj + k] = sqrt(nrm);
    }
}
__kernel void conv3d(__global DATA_TYPE *A, __global DATA_TYPE *B, int n)
{
    size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x > 0 && y > 0 && z > 0 && x < n - 1 && y < n - 1 && z < n - 1)
        B[(z * n + y) * n + x] = 2 * A[((z - 1) * n + y) * n + x] - 3 * A[((z + 1) * n + y) * n + x] + 4 * A[(z * n + y - 1) * n + x] +
            5 * A[(z * n + y + 1) * n + x] - 6 * A[(z * n + y) * n + x - 1] + 7 * A[(z * n + y) * n + x + 1];
}
