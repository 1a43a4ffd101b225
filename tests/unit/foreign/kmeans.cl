// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#ifndef FLT_MAX
#define FLT_MAX 3.40282347e+38
#endif
__kernel void assign(__global float *feature, __global float *clusters, __global int *membership, int points, int k,
                     int features, int offset, int size)
{
    unsigned int id = get_global_id(0);
    int index = 0;
    if (id < points) {
        float least = FLT_MAX;
        for (int i = 0; i < k; i++) {
            float sum = 0;
            for (int l = 0; l < features; l++) {
                float d = feature[l * points + id] - clusters[i * features + l];
                sum += d * d;
            }
            if (sum < least) { least = sum; index = i; }
        }
        membership[id] = index;
    }
    return;
}
__kernel void swap(__global float *feature, __global float *swapped, int points, int features)
{
    unsigned int id = get_global_id(0);
    for (int i = 0; i < features; i++) swapped[i * points + id] = feature[id * features + i];
}
