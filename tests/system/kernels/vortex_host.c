// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// A host for the driver calls of Vortex: sums two arrays on the device, twice, and looks at what calls refuse.
#include <stdlib.h>
#include <string.h>
#include <vortex.h>

#define COUNT 200
#define NEED(holds) \
    do { \
        if (!(holds)) { \
            printf("line %d: %s\n", __LINE__, #holds); \
            return 1; \
        } \
    } while (0)

struct asked {
    uint32_t count, block;
    uint32_t x, y;
};

int main(int count, char **names) {
    vx_device_h device;
    vx_buffer_h x, y, kernel, given, taken, wild;
    uint64_t value, cores, free_bytes, used, more, address;
    uint32_t local_bytes, word;
    int a[COUNT], b[COUNT], found[COUNT];
    NEED(count == 3);
    NEED(vx_dev_open(&device) == 0);
    NEED(vx_dev_caps(device, VX_CAPS_NUM_CORES, &cores) == 0 && cores >= 1);
    NEED(vx_dev_caps(device, VX_CAPS_NUM_WARPS, &value) == 0 && value == 4);
    NEED(vx_dev_caps(device, VX_CAPS_NUM_THREADS, &value) == 0 && value == 4);
    NEED(vx_dev_caps(device, VX_CAPS_LOCAL_MEM_SIZE, &value) == 0 && value == 16384);
    NEED(vx_dev_caps(device, VX_CAPS_ISA_FLAGS, &value) == 0 && (value & VX_ISA_STD_F) && VX_ISA_ARCH(value) == 32);
    NEED(vx_dev_caps(device, 99, &value) != 0);
    NEED(vx_mem_info(device, &free_bytes, &used) == 0 && used > 0);
    NEED(vx_mem_alloc(device, sizeof a, VX_MEM_READ, &x) == 0 && vx_mem_alloc(device, sizeof b, VX_MEM_WRITE, &y) == 0);
    NEED(vx_mem_info(device, &more, NULL) == 0 && more + 2 * sizeof a <= free_bytes && more + 4096 > free_bytes);
    NEED(vx_mem_alloc(device, free_bytes + 1, VX_MEM_READ, &taken) != 0 && vx_mem_alloc(device, 0, 0, &taken) != 0);
    NEED(vx_mem_address(x, &address) == 0 && vx_mem_reserve(device, address, 4, VX_MEM_READ, &taken) != 0);
    NEED(vx_mem_reserve(device, 0x40, 4, VX_MEM_READ, &taken) != 0);
    NEED(vx_mem_access(x, 0, sizeof a, VX_MEM_READ_WRITE) == 0 && vx_mem_access(x, 4, sizeof a, VX_MEM_READ) != 0);
    NEED(vx_copy_to_dev(x, a, 4, sizeof a) != 0 && vx_copy_from_dev(a, x, sizeof a + 1, 0) != 0);
    for (int k = 0; k < COUNT; k++) a[k] = 3 * k, b[k] = 100 - k;
    NEED(vx_copy_to_dev(x, a, 0, sizeof a) == 0 && vx_copy_to_dev(y, b, 0, sizeof b) == 0);
    NEED(vx_upload_kernel_file(device, "there is none", &kernel) != 0);
    NEED(vx_upload_kernel_bytes(device, "short", 5, &kernel) != 0);
    NEED(vx_upload_kernel_file(device, names[1], &kernel) == 0);
    NEED(vx_upload_kernel_file(device, names[1], &wild) != 0); // its addresses are taken
    struct asked asked = {COUNT, 8, 0, 0};
    vx_mem_address(x, &address), asked.x = (uint32_t)address;
    vx_mem_address(y, &address), asked.y = (uint32_t)address;
    NEED(vx_upload_bytes(device, &asked, sizeof asked, &given) == 0);
    NEED(vx_check_occupancy(device, 8, &local_bytes) == 0 && local_bytes == 8192);
    NEED(vx_check_occupancy(device, 17, &local_bytes) != 0);
    NEED(vx_dcr_write(device, 1, 2) != 0 && vx_dcr_read(device, 1, &word) != 0);
    for (int turn = 1; turn <= 2; turn++) {
        NEED(vx_start(device, kernel, given) == 0);
        NEED(vx_start(device, kernel, given) != 0);
        NEED(vx_ready_wait(device, VX_MAX_TIMEOUT) == 0 && vx_ready_wait(device, 1) == 0);
        NEED(vx_copy_from_dev(found, y, 0, sizeof found) == 0);
        for (int k = 0; k < COUNT; k++) NEED(found[k] == 100 - k + turn * 3 * k);
    }
    NEED(vx_mpm_query(device, 0xB02, (uint32_t)cores - 1, &value) == 0 && value > 100);
    NEED(vx_mpm_query(device, 0xB02, (uint32_t)cores, &value) != 0 && vx_mpm_query(device, 0xB05, 0, &value) != 0);
    NEED(vx_dump_perf(device, stdout) == 0);
    NEED(vx_mem_free(kernel) == 0 && vx_mem_free(kernel) != 0);
    NEED(vx_start(device, kernel, given) != 0);
    NEED(vx_upload_kernel_file(device, names[2], &wild) == 0 && vx_start(device, wild, given) == 0);
    NEED(vx_ready_wait(device, VX_MAX_TIMEOUT) != 0); // it stores at a crooked address
    NEED(vx_mem_free(NULL) == 0);
    NEED(vx_dev_close(device) == 0 && vx_dev_close(device) != 0 && vx_mem_free(x) != 0);
    puts("right");
    return 0;
}
