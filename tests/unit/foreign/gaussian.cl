// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
typedef struct latLong { float lat; float lng; } LatLong;
__kernel void Fan1(__global float *m_dev, __global float *a_dev, __global float *b_dev, const int size, const int t)
{
    int id = get_global_id(0);
    if (id < size - 1 - t) *(m_dev + size * (id + t + 1) + t) = *(a_dev + size * (id + t + 1) + t) / *(a_dev + size * t + t);
}
__kernel void Fan2(__global float *m_dev, __global float *a_dev, __global float *b_dev, const int size, const int t)
{
    int gid = get_global_id(0), idx = get_global_id(0), idy = get_global_id(1);
    if (idx < size - 1 - t && idy < size - t) {
        a_dev[size * (idx + 1 + t) + (idy + t)] -= m_dev[size * (idx + 1 + t) + t] * a_dev[size * t + (idy + t)];
        if (idy == 0) b_dev[idx + 1 + t] -= m_dev[size * (idx + 1 + t) + (idy + t)] * b_dev[t];
    }
}
__kernel void nearest(__global LatLong *places, __global float *distances, const int count, const float lat, const float lng)
{
    int id = get_global_id(0) + get_global_size(0) * get_global_id(1);
    if (id < count) {
        __global LatLong *p = places + id;
        __global float *d = distances + id;
        *d = (float)sqrt((lat - p->lat) * (lat - p->lat) + (lng - p->lng) * (lng - p->lng));
    }
}
