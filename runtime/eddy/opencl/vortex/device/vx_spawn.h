// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A grid of blocks of threads on the cores of a start, by the names that programs for Vortex use.
#ifndef EDDY_VX_SPAWN_H
#define EDDY_VX_SPAWN_H

#include <vx_intrinsics.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef union {
    struct {
        uint32_t x, y, z;
    };
    uint32_t m[3];
} dim3_t;

typedef void (*vx_kernel_func_cb)(void *argument);
typedef void (*vx_serial_cb)(void *argument);

// A block's place in the grid, a thread's in its block, and their sizes: of the lane, in the function that
// `vx_spawn_threads` calls.
extern __thread dim3_t blockIdx, threadIdx, gridDim, blockDim;
// The place of the block in its core, and how many warps it has.
extern __thread uint32_t __local_group_id, __warps_per_group;

#define __local_mem(bytes) ((void *)((char *)csr_read(VX_CSR_LOCAL_MEM_BASE) + __local_group_id * (bytes)))
#define __syncthreads() vx_barrier((int)__local_group_id, (int)__warps_per_group)

// Runs the function for each thread of this core's part of the grid and returns when all have ended. `grid` and `block`
// have `dimension` sizes; NULL is a block of one thread. A block has at most the lanes of a core; -1 where it has more.
int vx_spawn_threads(uint32_t dimension, const uint32_t *grid, const uint32_t *block, vx_kernel_func_cb function,
    const void *argument);
// Runs the function for each executing lane of the warp, one after the other.
void vx_serial(vx_serial_cb function, const void *argument);

#ifdef __cplusplus
}
#endif
#endif
