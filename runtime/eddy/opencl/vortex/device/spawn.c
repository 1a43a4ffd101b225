// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A grid on the cores of a start: blocks in order are divided between cores, in order between a core's places for them.
#include <vx_print.h>
#include <vx_spawn.h>

void eddy_vx_warp(void);
void eddy_vx_here(void);
void eddy_vx_wait(uint32_t warps);

__thread dim3_t blockIdx, threadIdx, gridDim, blockDim;
__thread uint32_t __local_group_id, __warps_per_group;

static volatile uint32_t *core_state(void) {
    uint32_t *state;
    __asm__("mv %0, gp" : "=r"(state));
    return state;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static void place_block(uint32_t block, uint32_t x, uint32_t y) {
    blockIdx.x = block % x;
    blockIdx.y = block / x % y;
    blockIdx.z = block / x / y;
}

// What each lane of the warps that take part does.
void eddy_vx_work(void) {
    vx_kernel_func_cb function = (vx_kernel_func_cb)eddy_vx_state(STATE_FUNCTION);
    void *argument = (void *)eddy_vx_state(STATE_ARGUMENT);
    uint32_t threads = (uint32_t)vx_num_threads(), warp = (uint32_t)vx_warp_id(), thread = (uint32_t)vx_thread_id();
    uint32_t last = eddy_vx_state(STATE_LAST), slots = eddy_vx_state(STATE_SLOTS), step, block, item = 0;
    if (slots == 0) {
        step = threads * (uint32_t)vx_num_warps();
        block = eddy_vx_state(STATE_FIRST) + warp * threads + thread;
        __local_group_id = __warps_per_group = 0;
    } else {
        uint32_t warps = eddy_vx_state(STATE_GROUP_WARPS), slot = warp / warps;
        item = (warp - slot * warps) * threads + thread;
        if (slot >= slots || item >= eddy_vx_state(STATE_GROUP_ITEMS)) return;
        step = slots;
        block = eddy_vx_state(STATE_FIRST) + slot;
        __local_group_id = slot;
        __warps_per_group = warps;
    }
    for (int k = 0; k < 3; k++) {
        gridDim.m[k] = core_state()[STATE_GRID / 4 + k];
        blockDim.m[k] = core_state()[STATE_BLOCK / 4 + k];
    }
    uint32_t x = blockDim.x, y = blockDim.y, across = gridDim.x, down = gridDim.y;
    threadIdx.x = item % x;
    threadIdx.y = item / x % y;
    threadIdx.z = item / x / y;
    for (; block < last; block += step) {
        place_block(block, across, down);
        function(argument);
    }
}

int vx_spawn_threads(uint32_t dimension, const uint32_t *grid, const uint32_t *block, vx_kernel_func_cb function,
    const void *argument) {
    volatile uint32_t *state = core_state();
    uint32_t blocks = 1, items = 1;
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t across = grid && k < dimension ? grid[k] : 1, within = block && k < dimension ? block[k] : 1;
        state[STATE_GRID / 4 + k] = across;
        state[STATE_BLOCK / 4 + k] = within;
        blocks *= across;
        items *= within;
    }
    uint32_t threads = (uint32_t)vx_num_threads(), warps = (uint32_t)vx_num_warps();
    if (items > warps * threads) {
        vx_printf("a block of %u threads does not fit a core of %u lanes\n", (unsigned)items, (unsigned)(warps * threads));
        return -1;
    }
    uint32_t cores = (uint32_t)vx_num_cores(), core = (uint32_t)vx_core_id();
    uint32_t share = blocks / cores, more = blocks % cores;
    uint32_t first = core * share + smaller(core, more), count = share + (core < more);
    if (items == 0 || count == 0) return 0;
    uint32_t group_warps = (items + threads - 1) / threads, slots = items > 1 ? smaller(warps / group_warps, count) : 0;
    uint32_t active = slots ? slots * group_warps : smaller((count + threads - 1) / threads, warps);
    state[STATE_FUNCTION / 4] = (uint32_t)function;
    state[STATE_ARGUMENT / 4] = (uint32_t)argument;
    state[STATE_FIRST / 4] = first;
    state[STATE_LAST / 4] = first + count;
    state[STATE_GROUP_ITEMS / 4] = items;
    state[STATE_GROUP_WARPS / 4] = group_warps;
    state[STATE_SLOTS / 4] = slots;
    vx_wspawn((int)active, eddy_vx_warp);
    eddy_vx_here();
    eddy_vx_wait(active);
    return 0;
}

void vx_serial(vx_serial_cb function, const void *argument) {
    int token = vx_split(1), threads = vx_num_threads();
    for (int turn = 0; turn < threads; turn++) {
        if (turn == vx_thread_id()) function((void *)argument);
        vx_join(token);
    }
}
