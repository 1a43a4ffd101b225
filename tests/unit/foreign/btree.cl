// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
#define ORDER 64
typedef struct { int value; } record;
typedef struct { int location; int indices[ORDER + 1]; int keys[ORDER + 1]; bool is_leaf; int num_keys; } knode;
__kernel void findK(long height, __global knode *knodes, long count, __global record *records, __global long *curr,
                    __global long *offset, __global int *keys, __global record *ans)
{
    int thid = get_local_id(0), bid = get_group_id(0);
    for (int i = 0; i < height; i++) {
        if (knodes[curr[bid]].keys[thid] <= keys[bid] && knodes[curr[bid]].keys[thid + 1] > keys[bid]) {
            if (knodes[offset[bid]].indices[thid] < count) offset[bid] = knodes[offset[bid]].indices[thid];
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (thid == 0) curr[bid] = offset[bid];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (knodes[curr[bid]].keys[thid] == keys[bid]) ans[bid].value = records[knodes[curr[bid]].indices[thid]].value;
}
