// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
/* Breadth first search, a level at a time. */
#pragma OPENCL EXTENSION cl_khr_byte_addressable_store : enable
typedef struct { int first; int degree; } vertex;
__kernel void visit(__global const vertex *vertices, __global const int *edges, __global char *front, __global char *next,
                    __global char *seen, __global int *cost, int count)
{
    int id = get_global_id(0);
    if (id < count && front[id]) {
        front[id] = false;
        for (int e = vertices[id].first; e < vertices[id].first + vertices[id].degree; e++) {
            int to = edges[e];
            if (!seen[to]) { cost[to] = cost[id] + 1; next[to] = true; }
        }
    }
}
__kernel void turn(__global char *front, __global char *next, __global char *seen, __global char *again, const int count)
{
    int id = get_global_id(0);
    if (id >= count) return;
    if (next[id]) { front[id] = true; seen[id] = true; *again = true; next[id] = false; }
}
