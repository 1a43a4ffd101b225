// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The driver calls of Vortex hosts: a device is a session of the helper's whose memory is one buffer, divided here.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eddy.h"
#include "vx_layout.h"

// After eddy.h, as both say what a handle is.
#include "vortex.h"

#define PUBLIC __attribute__((visibility("default")))
#define GRAIN 128u
#define MOST_IMAGE ((uint64_t)1 << 30)

struct piece {
    struct vx_device *device;
    uint64_t address, size, filled; // of a kernel: behind `filled` bytes it is zero when it starts
    bool kernel;
    struct piece *next; // by address
};

struct vx_device {
    uint64_t id, address, size;
    uint32_t generation, threads, warps, cores, local_bytes, line_bytes;
    uint64_t isa;
    struct piece *pieces;
    struct piece *record;
    uint64_t states, printed;
    bool started;
    unsigned users; // calls under way, for which it is kept
    struct vx_device *next;
};

static struct vx_device *devices;

static struct vx_device *find_device(const char *function, vx_device_h handle) {
    for (struct vx_device *device = devices; device; device = device->next)
        if (device == handle) return device;
    refuse(function, CL_INVALID_DEVICE, "%p is no open device", handle);
    return NULL;
}

static struct piece *find_piece(const char *function, vx_buffer_h handle) {
    for (struct vx_device *device = devices; device; device = device->next)
        for (struct piece *piece = device->pieces; piece; piece = piece->next)
            if (piece == handle) return piece;
    refuse(function, CL_INVALID_MEM_OBJECT, "%p is no buffer", handle);
    return NULL;
}

static int call_device(const char *function, struct vx_device *device, uint32_t operation, const uint64_t *values,
    size_t count, struct bytes *reply) {
    struct bytes body = {0};
    if (!channel_lives(device->generation)) return refuse(function, CL_DEVICE_NOT_AVAILABLE, "the helper is gone");
    put_u64(&body, device->id);
    for (size_t k = 0; k < count; k++) put_u64(&body, values[k]);
    device->users++;
    int code = call_helper(function, operation, &body, reply);
    if (!--device->users) pthread_cond_broadcast(&changed);
    clear(&body);
    return code ? -1 : 0;
}

/// Bytes between host memory and the device, through the arena, piece by piece.
static int move(const char *function, struct vx_device *device, bool in, uint64_t address, uint8_t *host, uint64_t size) {
    for (uint64_t at = 0; at < size;) {
        size_t block, length = size - at < ((uint64_t)16 << 20) ? (size_t)(size - at) : (size_t)16 << 20;
        if (!arena_take(length, &block)) return refuse(function, CL_OUT_OF_HOST_MEMORY, "no shared memory"), -1;
        if (in) memcpy(arena_at(block), host + at, length);
        uint64_t values[] = {address - device->address + at, length, block};
        int failed = call_device(function, device, in ? DEVICE_WRITE : DEVICE_READ, values, 3, NULL);
        if (!failed && !in) memcpy(host + at, arena_at(block), length);
        arena_give(block, length);
        if (failed) return -1;
        at += length;
    }
    return 0;
}

static uint64_t rounded(uint64_t size) {
    return (size + GRAIN - 1) / GRAIN * GRAIN;
}

static struct piece *take(const char *function, struct vx_device *device, struct piece **place, uint64_t address,
    uint64_t size) {
    struct piece *piece = calloc(1, sizeof *piece);
    if (!piece) return refuse_null(function, NULL, CL_OUT_OF_HOST_MEMORY, "no memory for a buffer");
    *piece = (struct piece){device, address, size, 0, false, *place};
    return *place = piece;
}

/// Takes memory from the end, so that the beginning, where images are linked to, stays free for them.
static struct piece *allocate(const char *function, struct vx_device *device, uint64_t size) {
    uint64_t at = device->address, wanted = rounded(size), best = 0;
    struct piece **place = &device->pieces, **found = NULL;
    for (;; place = &(*place)->next) {
        uint64_t end = *place ? (*place)->address : device->address + device->size;
        if (end - at >= wanted && size && wanted >= size) found = place, best = end - wanted;
        if (!*place) break;
        at = rounded((*place)->address + (*place)->size);
    }
    if (!found) return refuse_null(function, NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE, "no room for %llu bytes",
                                   (unsigned long long)size);
    return take(function, device, found, best / GRAIN * GRAIN, size);
}

static struct piece *reserve(const char *function, struct vx_device *device, uint64_t address, uint64_t size) {
    uint64_t at = device->address;
    struct piece **place = &device->pieces;
    while (*place && (*place)->address < address) {
        at = (*place)->address + (*place)->size;
        place = &(*place)->next;
    }
    uint64_t end = *place ? (*place)->address : device->address + device->size;
    if (!size || address < at || size > end || address > end - size)
        return refuse_null(function, NULL, CL_MEM_OBJECT_ALLOCATION_FAILURE,
                           "0x%llx to 0x%llx is in use, or not the device's (0x%llx to 0x%llx)",
                           (unsigned long long)address, (unsigned long long)(address + size),
                           (unsigned long long)device->address, (unsigned long long)(device->address + device->size));
    return take(function, device, place, address, size);
}

static void give(struct piece *piece) {
    struct piece **place = &piece->device->pieces;
    while (*place != piece) place = &(*place)->next;
    *place = piece->next;
    free(piece);
}

static void give_device(struct vx_device *device) {
    struct vx_device **place = &devices;
    while (*place && *place != device) place = &(*place)->next;
    if (*place) *place = device->next;
    while (device->users) pthread_cond_wait(&changed, &lock);
    while (device->pieces) give(device->pieces);
    free(device);
}

static bool describe(struct vx_device *device, const struct bytes *reply) {
    struct reader reader = {reply->data, reply->data + reply->size, false};
    device->address = get_u64(&reader);
    device->size = get_u64(&reader);
    device->isa = get_u64(&reader);
    device->threads = get_u32(&reader);
    device->warps = get_u32(&reader);
    device->cores = get_u32(&reader);
    device->local_bytes = get_u32(&reader);
    device->line_bytes = get_u32(&reader);
    return !reader.bad;
}

PUBLIC int vx_dev_open(vx_device_h *handle) {
    LOCKED;
    uint32_t generation = handle ? channel_open(__func__) : 0;
    struct vx_device *device = generation ? calloc(1, sizeof *device) : NULL;
    if (!device) return -1;
    device->id = next_id();
    device->generation = generation;
    struct bytes reply = {0};
    bool good = !call_device(__func__, device, DEVICE_OPEN, NULL, 0, &reply) && describe(device, &reply);
    clear(&reply);
    uint64_t lanes = (uint64_t)device->cores * device->warps * device->threads;
    uint64_t states = (uint64_t)device->cores * STATE_BYTES, printed = (uint64_t)device->cores * PRINTED_BYTES;
    if (good) device->record = allocate(__func__, device, GRAIN + states + printed + lanes * STACK_BYTES);
    if (!device->record) return give_device(device), -1;
    device->states = device->record->address + GRAIN;
    device->printed = device->states + states;
    device->next = devices;
    devices = device;
    *handle = device;
    return 0;
}

PUBLIC int vx_dev_close(vx_device_h handle) {
    LOCKED;
    struct vx_device *device = find_device(__func__, handle);
    if (!device) return -1;
    struct bytes body = {0};
    put_u64(&body, device->id);
    send_frame(CONTEXT_CLOSE, 0, &body);
    clear(&body);
    give_device(device);
    return 0;
}

PUBLIC int vx_dev_caps(vx_device_h handle, uint32_t caps, uint64_t *value) {
    LOCKED;
    struct vx_device *device = find_device(__func__, handle);
    if (!device || !value) return -1;
    switch (caps) {
    case VX_CAPS_VERSION: *value = 2; return 0;
    case VX_CAPS_NUM_THREADS: *value = device->threads; return 0;
    case VX_CAPS_NUM_WARPS: *value = device->warps; return 0;
    case VX_CAPS_NUM_CORES: *value = device->cores; return 0;
    case VX_CAPS_CACHE_LINE_SIZE: *value = device->line_bytes; return 0;
    case VX_CAPS_GLOBAL_MEM_SIZE: *value = device->size; return 0;
    case VX_CAPS_LOCAL_MEM_SIZE: *value = device->local_bytes; return 0;
    case VX_CAPS_ISA_FLAGS: *value = device->isa; return 0;
    case VX_CAPS_NUM_MEM_BANKS: *value = 1; return 0;
    case VX_CAPS_MEM_BANK_SIZE: *value = device->size; return 0;
    }
    return refuse(__func__, CL_INVALID_VALUE, "devices have no capability %u", caps), -1;
}

PUBLIC int vx_mem_alloc(vx_device_h handle, uint64_t size, int flags, vx_buffer_h *buffer) {
    LOCKED;
    (void)flags;
    struct vx_device *device = find_device(__func__, handle);
    struct piece *piece = device && buffer ? allocate(__func__, device, size) : NULL;
    if (piece) *buffer = piece;
    return piece ? 0 : -1;
}

PUBLIC int vx_mem_reserve(vx_device_h handle, uint64_t address, uint64_t size, int flags, vx_buffer_h *buffer) {
    LOCKED;
    (void)flags;
    struct vx_device *device = find_device(__func__, handle);
    struct piece *piece = device && buffer ? reserve(__func__, device, address, size) : NULL;
    if (piece) *buffer = piece;
    return piece ? 0 : -1;
}

PUBLIC int vx_mem_free(vx_buffer_h handle) {
    LOCKED;
    if (!handle) return 0; // hosts clean up what they never made
    struct piece *piece = find_piece(__func__, handle);
    if (!piece || piece == piece->device->record) return -1;
    give(piece);
    return 0;
}

static bool is_within(const char *function, const struct piece *piece, uint64_t offset, uint64_t size) {
    if (offset <= piece->size && size <= piece->size - offset) return true;
    refuse(function, CL_INVALID_VALUE, "bytes %llu to %llu of a buffer of %llu", (unsigned long long)offset,
           (unsigned long long)(offset + size), (unsigned long long)piece->size);
    return false;
}

PUBLIC int vx_mem_access(vx_buffer_h handle, uint64_t offset, uint64_t size, int flags) {
    LOCKED;
    (void)flags;
    struct piece *piece = find_piece(__func__, handle);
    return piece && is_within(__func__, piece, offset, size) ? 0 : -1;
}

PUBLIC int vx_mem_address(vx_buffer_h handle, uint64_t *address) {
    LOCKED;
    struct piece *piece = find_piece(__func__, handle);
    if (!piece || !address) return -1;
    *address = piece->address;
    return 0;
}

PUBLIC int vx_mem_info(vx_device_h handle, uint64_t *free_bytes, uint64_t *used_bytes) {
    LOCKED;
    struct vx_device *device = find_device(__func__, handle);
    if (!device) return -1;
    uint64_t used = 0;
    for (struct piece *piece = device->pieces; piece; piece = piece->next) used += rounded(piece->size);
    if (free_bytes) *free_bytes = device->size > used ? device->size - used : 0;
    if (used_bytes) *used_bytes = used;
    return 0;
}

PUBLIC int vx_copy_to_dev(vx_buffer_h handle, const void *from, uint64_t offset, uint64_t size) {
    LOCKED;
    struct piece *piece = find_piece(__func__, handle);
    if (!piece || !is_within(__func__, piece, offset, size) || (size && !from)) return -1;
    return move(__func__, piece->device, true, piece->address + offset, (uint8_t *)from, size);
}

PUBLIC int vx_copy_from_dev(void *to, vx_buffer_h handle, uint64_t offset, uint64_t size) {
    LOCKED;
    struct piece *piece = find_piece(__func__, handle);
    if (!piece || !is_within(__func__, piece, offset, size) || (size && !to)) return -1;
    return move(__func__, piece->device, false, piece->address + offset, to, size);
}

static int fill(const char *function, struct vx_device *device, uint64_t address, uint64_t size) {
    uint64_t values[] = {address - device->address, size};
    return size ? call_device(function, device, DEVICE_FILL, values, 2, NULL) : 0;
}

PUBLIC int vx_start(vx_device_h handle, vx_buffer_h kernel, vx_buffer_h arguments) {
    LOCKED;
    struct vx_device *device = find_device(__func__, handle);
    struct piece *image = device ? find_piece(__func__, kernel) : NULL;
    struct piece *given = image && arguments ? find_piece(__func__, arguments) : NULL;
    if (!image || image->device != device || (arguments && (!given || given->device != device))) return -1;
    if (device->started) return refuse(__func__, CL_INVALID_OPERATION, "the last start was not waited for"), -1;
    uint64_t record = device->record->address, stacks = device->printed + (uint64_t)device->cores * PRINTED_BYTES;
    uint64_t filled = image->kernel ? image->filled : image->size;
    uint32_t words[RECORD_BYTES / 4] = {given ? (uint32_t)given->address : 0, (uint32_t)device->states,
                                        (uint32_t)stacks, STACK_BYTES, (uint32_t)device->printed};
    if (move(__func__, device, true, record, (uint8_t *)words, sizeof words) ||
        fill(__func__, device, device->states, stacks - device->states) ||
        fill(__func__, device, image->address + filled, image->size - filled))
        return -1;
    uint64_t values[] = {image->address - device->address, record - device->address, device->cores};
    if (call_device(__func__, device, DEVICE_START, values, 3, NULL)) return -1;
    device->started = true;
    return 0;
}

static int print_cores(struct vx_device *device) {
    uint8_t *text = malloc(PRINTED_BYTES);
    for (uint32_t core = 0; text && core < device->cores; core++) {
        uint64_t from = device->printed + (uint64_t)core * PRINTED_BYTES;
        uint32_t size = 0;
        if (move("vx_ready_wait", device, false, from, (uint8_t *)&size, sizeof size)) break;
        uint32_t kept = size < PRINTED_BYTES - 4 ? size : PRINTED_BYTES - 4;
        if (!size || move("vx_ready_wait", device, false, from + 4, text, kept)) continue;
        fwrite(text, 1, kept, stdout);
        if (kept < size) fprintf(stdout, "[%u bytes more were printed and not kept]\n", size - kept);
    }
    free(text);
    return fflush(stdout);
}

PUBLIC int vx_ready_wait(vx_device_h handle, uint64_t timeout_ms) {
    LOCKED;
    struct vx_device *device = find_device(__func__, handle);
    if (!device) return -1;
    if (!device->started) return 0;
    struct bytes reply = {0};
    int failed = call_device(__func__, device, DEVICE_WAIT, &timeout_ms, 1, &reply);
    struct reader reader = {reply.data, reply.data + reply.size, false};
    bool ended = failed || get_u8(&reader);
    clear(&reply);
    if (ended) device->started = false;
    if (ended) print_cores(device);
    return failed || !ended ? -1 : 0;
}

PUBLIC int vx_dcr_read(vx_device_h handle, uint32_t address, uint32_t *value) {
    LOCKED;
    (void)address;
    if (find_device(__func__, handle) && value) *value = 0;
    return refuse(__func__, CL_INVALID_OPERATION, "vx_start sets what a start needs; there are no such registers"), -1;
}

PUBLIC int vx_dcr_write(vx_device_h handle, uint32_t address, uint32_t value) {
    LOCKED;
    (void)address, (void)value;
    if (!find_device(__func__, handle)) return -1;
    return refuse(__func__, CL_INVALID_OPERATION, "vx_start sets what a start needs; there are no such registers"), -1;
}

static int counter(const char *function, struct vx_device *device, uint32_t address, uint32_t core, uint64_t *value) {
    uint64_t at = address == 0xB00 ? STATE_CYCLES : STATE_INSTRUCTIONS;
    if ((address != 0xB00 && address != 0xB02) || core >= device->cores)
        return refuse(function, CL_INVALID_VALUE, "there is no counter 0x%x of core %u", address, core), -1;
    return move(function, device, false, device->states + (uint64_t)core * STATE_BYTES + at, (uint8_t *)value, 8);
}

PUBLIC int vx_mpm_query(vx_device_h handle, uint32_t address, uint32_t core, uint64_t *value) {
    LOCKED;
    struct vx_device *device = find_device(__func__, handle);
    return device && value ? counter(__func__, device, address, core, value) : -1;
}

PUBLIC int vx_upload_bytes(vx_device_h handle, const void *content, uint64_t size, vx_buffer_h *buffer) {
    if (!content || vx_mem_alloc(handle, size, VX_MEM_READ, buffer)) return -1;
    if (!vx_copy_to_dev(*buffer, content, 0, size)) return 0;
    vx_mem_free(*buffer);
    return -1;
}

PUBLIC int vx_upload_kernel_bytes(vx_device_h handle, const void *content, uint64_t size, vx_buffer_h *buffer) {
    uint64_t ends[2];
    if (!content || size <= sizeof ends) return -1;
    memcpy(ends, content, sizeof ends);
    uint64_t filled = size - sizeof ends;
    if (ends[1] <= ends[0] || ends[1] - ends[0] < filled || ends[1] - ends[0] > MOST_IMAGE) return -1;
    if (vx_mem_reserve(handle, ends[0], ends[1] - ends[0], VX_MEM_READ_WRITE, buffer)) return -1;
    struct piece *piece = *buffer;
    piece->kernel = true;
    piece->filled = filled;
    if (!vx_copy_to_dev(*buffer, (const uint8_t *)content + sizeof ends, 0, filled)) return 0;
    vx_mem_free(*buffer);
    return -1;
}

static int upload_file(vx_device_h handle, const char *name, vx_buffer_h *buffer,
    int (*upload)(vx_device_h, const void *, uint64_t, vx_buffer_h *)) {
    FILE *file = name ? fopen(name, "rb") : NULL;
    if (!file) return say("vx_upload: %s cannot be read", name ? name : "(null)"), -1;
    struct bytes content = {0};
    uint8_t part[4096];
    for (size_t got; (got = fread(part, 1, sizeof part, file)) && content.size < MOST_IMAGE;) put(&content, part, got);
    fclose(file);
    int failed = upload(handle, content.data, content.size, buffer);
    clear(&content);
    return failed;
}

PUBLIC int vx_upload_kernel_file(vx_device_h handle, const char *name, vx_buffer_h *buffer) {
    return upload_file(handle, name, buffer, vx_upload_kernel_bytes);
}

PUBLIC int vx_upload_file(vx_device_h handle, const char *name, vx_buffer_h *buffer) {
    return upload_file(handle, name, buffer, vx_upload_bytes);
}

PUBLIC int vx_check_occupancy(vx_device_h handle, uint32_t group_size, uint32_t *local_bytes) {
    LOCKED;
    struct vx_device *device = find_device(__func__, handle);
    if (!device || !group_size) return -1;
    uint32_t warps = group_size / device->threads + (group_size % device->threads != 0);
    if (warps > device->warps) return refuse(__func__, CL_INVALID_WORK_GROUP_SIZE, "a core has too few lanes"), -1;
    uint32_t groups = device->warps / warps;
    if (local_bytes) *local_bytes = device->local_bytes / groups;
    return 0;
}

PUBLIC int vx_dump_perf(vx_device_h handle, FILE *stream) {
    LOCKED;
    struct vx_device *device = find_device(__func__, handle);
    if (!device || !stream) return -1;
    uint64_t all = 0, longest = 0;
    for (uint32_t core = 0; core < device->cores; core++) {
        uint64_t cycles = 0, instructions = 0;
        if (counter(__func__, device, 0xB00, core, &cycles) || counter(__func__, device, 0xB02, core, &instructions))
            return -1;
        fprintf(stream, "PERF: core%u: instrs=%llu, cycles=%llu, IPC=%f\n", core, (unsigned long long)instructions,
                (unsigned long long)cycles, cycles ? (double)instructions / (double)cycles : 0.0);
        all += instructions;
        if (cycles > longest) longest = cycles;
    }
    fprintf(stream, "PERF: instrs=%llu, cycles=%llu, IPC=%f\n", (unsigned long long)all, (unsigned long long)longest,
            longest ? (double)all / (double)longest : 0.0);
    return 0;
}
