// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Instructions and registers of a core, by the names that programs for Vortex use. Which core it is and how many there
// are is said by the core's state, not by registers: a start may have more cores than run at once.
#ifndef EDDY_VX_INTRINSICS_H
#define EDDY_VX_INTRINSICS_H

#include <VX_types.h>
#include <stddef.h>
#include <stdint.h>

#include "vx_layout.h"

#define __UNIFORM__
#define EDDY_VX static inline __attribute__((always_inline, unused))

#define csr_read(number) __extension__({ \
    size_t csr_value; \
    __asm__ volatile("csrr %0, %1" : "=r"(csr_value) : "i"(number)); \
    csr_value; })
#define csr_write(number, value) __asm__ volatile("csrw %0, %1" ::"i"(number), "r"((size_t)(value)))
#define csr_swap(number, value) __extension__({ \
    size_t csr_value; \
    __asm__ volatile("csrrw %0, %1, %2" : "=r"(csr_value) : "i"(number), "r"((size_t)(value))); \
    csr_value; })
#define csr_read_set(number, value) __extension__({ \
    size_t csr_value; \
    __asm__ volatile("csrrs %0, %1, %2" : "=r"(csr_value) : "i"(number), "r"((size_t)(value))); \
    csr_value; })
#define csr_read_clear(number, value) __extension__({ \
    size_t csr_value; \
    __asm__ volatile("csrrc %0, %1, %2" : "=r"(csr_value) : "i"(number), "r"((size_t)(value))); \
    csr_value; })
#define csr_set(number, value) __asm__ volatile("csrs %0, %1" ::"i"(number), "r"((size_t)(value)))
#define csr_clear(number, value) __asm__ volatile("csrc %0, %1" ::"i"(number), "r"((size_t)(value)))

EDDY_VX uint32_t eddy_vx_state(int offset) {
    uint32_t word;
    __asm__ volatile("lw %0, %1(gp)" : "=r"(word) : "i"(offset));
    return word;
}

EDDY_VX void vx_tmc(int mask) { __asm__ volatile(".insn r 0x0b, 0, 0, x0, %0, x0" ::"r"(mask) : "memory"); }
EDDY_VX void vx_tmc_zero(void) { __asm__ volatile(".insn r 0x0b, 0, 0, x0, x0, x0" ::: "memory"); }
EDDY_VX void vx_tmc_one(void) { vx_tmc(1); }
EDDY_VX void vx_pred(int holds, int otherwise) {
    __asm__ volatile(".insn r 0x0b, 5, 0, x0, %0, %1" ::"r"(holds), "r"(otherwise) : "memory");
}
EDDY_VX void vx_pred_n(int holds, int otherwise) {
    __asm__ volatile(".insn r 0x0b, 5, 0, x1, %0, %1" ::"r"(holds), "r"(otherwise) : "memory");
}
typedef void (*vx_wspawn_pfn)();
EDDY_VX void vx_wspawn(int warps, vx_wspawn_pfn function) {
    __asm__ volatile(".insn r 0x0b, 1, 0, x0, %0, %1" ::"r"(warps), "r"(function) : "memory");
}
EDDY_VX int vx_split(int predicate) {
    int token;
    __asm__ volatile(".insn r 0x0b, 2, 0, %0, %1, x0" : "=r"(token) : "r"(predicate) : "memory");
    return token;
}
EDDY_VX int vx_split_n(int predicate) {
    int token;
    __asm__ volatile(".insn r 0x0b, 2, 0, %0, %1, x1" : "=r"(token) : "r"(predicate) : "memory");
    return token;
}
EDDY_VX void vx_join(int token) { __asm__ volatile(".insn r 0x0b, 3, 0, x0, %0, x0" ::"r"(token) : "memory"); }
EDDY_VX void vx_barrier(int barrier, int warps) {
    __asm__ volatile(".insn r 0x0b, 4, 0, x0, %0, %1" ::"r"(barrier), "r"(warps) : "memory");
}
EDDY_VX void vx_fence(void) { __asm__ volatile("fence iorw, iorw" ::: "memory"); }

EDDY_VX int vx_thread_id(void) { return (int)csr_read(VX_CSR_THREAD_ID); }
EDDY_VX int vx_warp_id(void) { return (int)csr_read(VX_CSR_WARP_ID); }
EDDY_VX int vx_core_id(void) { return (int)eddy_vx_state(STATE_CORE); }
EDDY_VX int vx_active_threads(void) { return (int)csr_read(VX_CSR_ACTIVE_THREADS); }
EDDY_VX int vx_active_warps(void) { return (int)csr_read(VX_CSR_ACTIVE_WARPS); }
EDDY_VX int vx_num_threads(void) { return (int)csr_read(VX_CSR_NUM_THREADS); }
EDDY_VX int vx_num_warps(void) { return (int)csr_read(VX_CSR_NUM_WARPS); }
EDDY_VX int vx_num_cores(void) { return (int)eddy_vx_state(STATE_CORES); }
EDDY_VX int vx_hart_id(void) {
    return (vx_core_id() * vx_num_warps() + vx_warp_id()) * vx_num_threads() + vx_thread_id();
}

#define EDDY_VX_VOTE(name, which) \
    EDDY_VX int name(int predicate) { \
        int value; \
        __asm__ volatile(".insn r 0x0b, " #which ", 1, %0, %1, x0" : "=r"(value) : "r"(predicate)); \
        return value; \
    }
EDDY_VX_VOTE(vx_vote_all, 0)
EDDY_VX_VOTE(vx_vote_any, 1)
EDDY_VX_VOTE(vx_vote_uni, 2)
EDDY_VX_VOTE(vx_vote_ballot, 3)
#undef EDDY_VX_VOTE

#define EDDY_VX_SHUFFLE(name, which) \
    EDDY_VX int name(size_t value, int b, int clamp, int segment) { \
        int result, control = segment << 12 | clamp << 6 | b; \
        __asm__ volatile(".insn r 0x0b, " #which ", 1, %0, %1, %2" : "=r"(result) : "r"(value), "r"(control)); \
        return result; \
    }
EDDY_VX_SHUFFLE(vx_shfl_up, 4)
EDDY_VX_SHUFFLE(vx_shfl_down, 5)
EDDY_VX_SHUFFLE(vx_shfl_bfly, 6)
EDDY_VX_SHUFFLE(vx_shfl_idx, 7)
#undef EDDY_VX_SHUFFLE

#endif
