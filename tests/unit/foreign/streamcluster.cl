// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
typedef struct { float weight; long assign; float cost; } Point_Struct;
__kernel void pgain(__global Point_Struct *p, __global float *coord_d, __global float *work, __global int *center_table,
                    __global char *switched, __local float *coord_s, int num, int dim, long x, int K)
{
    const int thread_id = get_global_id(0), local_id = get_local_id(0);
    if (thread_id < num) {
        if (local_id == 0)
            for (int i = 0; i < dim; i++) coord_s[i] = coord_d[i * num + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread_id < num) {
        float cost = 0.0;
        for (int i = 0; i < dim; i++) cost += (coord_d[i * num + thread_id] - coord_s[i]) * (coord_d[i * num + thread_id] - coord_s[i]);
        cost = cost * p[thread_id].weight;
        float current = p[thread_id].cost;
        int base = thread_id * (K + 1);
        if (cost < current) { switched[thread_id] = '1'; work[base + K] = cost - current; }
        else { int assign = p[thread_id].assign; work[base + center_table[assign]] += current - cost; }
    }
}
