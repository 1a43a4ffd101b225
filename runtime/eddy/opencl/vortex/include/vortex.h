// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The driver calls that hosts for Vortex make, as this library has them (docs/reference/vortex-hosts.md). Every call answers 0
// where it went well. Names and numbers are those of Vortex's public interface.
#ifndef EDDY_VORTEX_H
#define EDDY_VORTEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void *vx_device_h;
typedef void *vx_buffer_h;

// What vx_dev_caps tells.
#define VX_CAPS_VERSION 0x0
#define VX_CAPS_NUM_THREADS 0x1
#define VX_CAPS_NUM_WARPS 0x2
#define VX_CAPS_NUM_CORES 0x3
#define VX_CAPS_CACHE_LINE_SIZE 0x4
#define VX_CAPS_GLOBAL_MEM_SIZE 0x5
#define VX_CAPS_LOCAL_MEM_SIZE 0x6
#define VX_CAPS_ISA_FLAGS 0x7
#define VX_CAPS_NUM_MEM_BANKS 0x8
#define VX_CAPS_MEM_BANK_SIZE 0x9

// Bits of the instruction set's flags: letters as in misa, the length of registers in bits 31:30, extensions from bit 32 on.
#define VX_ISA_STD_A (1ull << 0)
#define VX_ISA_STD_C (1ull << 2)
#define VX_ISA_STD_D (1ull << 3)
#define VX_ISA_STD_E (1ull << 4)
#define VX_ISA_STD_F (1ull << 5)
#define VX_ISA_STD_H (1ull << 7)
#define VX_ISA_STD_I (1ull << 8)
#define VX_ISA_STD_M (1ull << 12)
#define VX_ISA_STD_N (1ull << 13)
#define VX_ISA_STD_Q (1ull << 16)
#define VX_ISA_STD_S (1ull << 18)
#define VX_ISA_STD_V (1ull << 21)
#define VX_ISA_ARCH(flags) (1ull << ((((flags) >> 30) & 0x3) + 4))
#define VX_ISA_EXT_ICACHE (1ull << 32)
#define VX_ISA_EXT_DCACHE (1ull << 33)
#define VX_ISA_EXT_L2CACHE (1ull << 34)
#define VX_ISA_EXT_L3CACHE (1ull << 35)
#define VX_ISA_EXT_LMEM (1ull << 36)
#define VX_ISA_EXT_ZICOND (1ull << 37)
#define VX_ISA_EXT_TEX (1ull << 38)
#define VX_ISA_EXT_RASTER (1ull << 39)
#define VX_ISA_EXT_OM (1ull << 40)
#define VX_ISA_EXT_TCU (1ull << 41)

#define VX_MAX_TIMEOUT (24 * 60 * 60 * 1000) // milliseconds

#define VX_MEM_READ 0x1
#define VX_MEM_WRITE 0x2
#define VX_MEM_READ_WRITE 0x3
#define VX_MEM_PIN_MEMORY 0x4

// A device is a session on the board. Its memory is given back when it is closed, or when the host ends.
int vx_dev_open(vx_device_h *device);
int vx_dev_close(vx_device_h device);
int vx_dev_caps(vx_device_h device, uint32_t caps, uint64_t *value);

// Flags are accepted and not enforced: a start may read and write all memory of its device, and nothing else.
int vx_mem_alloc(vx_device_h device, uint64_t size, int flags, vx_buffer_h *buffer);
int vx_mem_reserve(vx_device_h device, uint64_t address, uint64_t size, int flags, vx_buffer_h *buffer);
int vx_mem_free(vx_buffer_h buffer);
int vx_mem_access(vx_buffer_h buffer, uint64_t offset, uint64_t size, int flags);
int vx_mem_address(vx_buffer_h buffer, uint64_t *address);
int vx_mem_info(vx_device_h device, uint64_t *free_bytes, uint64_t *used_bytes);

int vx_copy_to_dev(vx_buffer_h buffer, const void *from, uint64_t offset, uint64_t size);
int vx_copy_from_dev(void *to, vx_buffer_h buffer, uint64_t offset, uint64_t size);

// Starts an image on all cores; vx_ready_wait returns 0 once it has ended well, and prints what it printed.
int vx_start(vx_device_h device, vx_buffer_h kernel, vx_buffer_h arguments);
int vx_ready_wait(vx_device_h device, uint64_t timeout_ms);

int vx_dcr_read(vx_device_h device, uint32_t address, uint32_t *value);
int vx_dcr_write(vx_device_h device, uint32_t address, uint32_t value);
// Counters of the last start: 0xB00 cycles, 0xB02 instructions of warps.
int vx_mpm_query(vx_device_h device, uint32_t address, uint32_t core, uint64_t *value);

int vx_upload_kernel_bytes(vx_device_h device, const void *content, uint64_t size, vx_buffer_h *buffer);
int vx_upload_kernel_file(vx_device_h device, const char *name, vx_buffer_h *buffer);
int vx_upload_bytes(vx_device_h device, const void *content, uint64_t size, vx_buffer_h *buffer);
int vx_upload_file(vx_device_h device, const char *name, vx_buffer_h *buffer);
// Bytes of local memory that each group of so many threads may have where a core runs as many groups as fit.
int vx_check_occupancy(vx_device_h device, uint32_t group_size, uint32_t *local_bytes);
int vx_dump_perf(vx_device_h device, FILE *stream);

#ifdef __cplusplus
}
#endif
#endif
