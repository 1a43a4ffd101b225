// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Maps: a region in the host's memory from map to unmap, read at the first unless it is to be overwritten, and written
// back at the second where it was mapped for writing.
#include <stdlib.h>

#include "eddy.h"

static struct mapping *make_mapping(cl_mem memory, cl_map_flags flags, const struct geometry *device,
    const struct geometry *host) {
    struct mapping *mapping = calloc(1, sizeof *mapping);
    size_t room = (extent_of(host) + 127) / 128 * 128;
    if (!mapping) return NULL;
    mapping->ours = !memory->host;
    if (memory->host) mapping->pointer = (char *)memory->host + host->offset;
    else mapping->pointer = aligned_alloc(128, room);
    mapping->mapped = true;
    mapping->flags = flags;
    mapping->device = *device;
    mapping->host = *host;
    mapping->host.offset = 0;
    if (mapping->pointer) return mapping;
    free(mapping);
    return NULL;
}

/// A mapping's end, when its commands have ended; nothing where it has ended before.
void end_mapping(cl_mem memory, struct mapping *mapping) {
    struct mapping **place = &memory->mappings;
    while (*place && *place != mapping) place = &(*place)->next;
    if (!*place) return;
    *place = mapping->next;
    if (mapping->ours) free(mapping->pointer);
    drop(mapping->command);
    free(mapping);
}

static cl_int check_map(const char *function, cl_mem memory, cl_map_flags flags) {
    bool overwrite = flags & CL_MAP_WRITE_INVALIDATE_REGION;
    if (flags & ~(cl_map_flags)(CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION) ||
        (overwrite && flags & (CL_MAP_READ | CL_MAP_WRITE)))
        return refuse(function, CL_INVALID_VALUE, "map flags 0x%llx", (unsigned long long)flags);
    bool reads = flags & CL_MAP_READ, writes = flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION);
    if ((reads && memory->flags & (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)) ||
        (writes && memory->flags & (CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)))
        return refuse(function, CL_INVALID_OPERATION, "the host may not do this by the object's flags");
    return CL_SUCCESS;
}

static struct mapping *find_mapping(cl_mem memory, const void *pointer) {
    struct mapping *mapping = memory->mappings;
    while (mapping && (mapping->pointer != pointer || !mapping->mapped)) mapping = mapping->next;
    return mapping;
}

void *map_region(const char *function, cl_command_queue queue, cl_command_type type, cl_mem memory, cl_map_flags flags,
    const struct geometry *device, const struct geometry *host, cl_uint count, const cl_event *list, cl_event *event,
    cl_bool blocking, cl_int *errcode_ret) {
    cl_int code = check_map(function, memory, flags);
    struct mapping *mapping = code ? NULL : make_mapping(memory, flags, device, host);
    if (!mapping) return refuse_null(function, errcode_ret, code ? code : CL_MAP_FAILURE, "the region cannot be mapped");
    void *pointer = mapping->pointer;
    cl_event command = NULL;
    if (flags & CL_MAP_WRITE_INVALIDATE_REGION) {
        command = new_command(queue, type, 0);
        if (!command) code = CL_OUT_OF_HOST_MEMORY;
        else command_holds(command, memory), code = submit(command, count, list, &command, CL_FALSE);
    } else {
        code = enqueue_read(function, queue, type, memory, device, &mapping->host, pointer, count, list, &command,
                            CL_FALSE);
    }
    mapping->next = memory->mappings;
    memory->mappings = mapping;
    if (code) {
        end_mapping(memory, mapping);
        return refuse_null(function, errcode_ret, code, "the region cannot be mapped");
    }
    memory->map_count++;
    hold(mapping->command = command);
    hold(memory);
    if (blocking) code = wait_for(command); // meanwhile others may unmap, or release
    if (event) *event = command;
    else release(function, command, EVENT, CL_INVALID_EVENT);
    if (code && find_mapping(memory, pointer) == mapping) {
        memory->map_count--;
        end_mapping(memory, mapping);
    }
    drop(memory);
    if (code) return refuse_null(function, errcode_ret, code, "the region cannot be read");
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return pointer;
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
    size_t size, cl_uint count, const cl_event *list, cl_event *event, cl_int *errcode_ret) {
    LOCKED;
    cl_int code = check_enqueue(__func__, queue, count, list);
    if (!code) code = check_memory(__func__, queue, buffer, false);
    if (code) REFUSE_NULL(code, "not a queue, buffer or wait list of one context");
    if (!size || offset > buffer->size || size > buffer->size - offset)
        REFUSE_NULL(CL_INVALID_VALUE, "%zu bytes at %zu of a buffer of %zu", size, offset, buffer->size);
    struct geometry device = flat(offset, size), host = flat(offset, size);
    return map_region(__func__, queue, CL_COMMAND_MAP_BUFFER, buffer, flags, &device, &host, count, list, event,
                      blocking, errcode_ret);
}

void *clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
    const size_t *origin, const size_t *region, size_t *row_pitch, size_t *slice_pitch, cl_uint count,
    const cl_event *list, cl_event *event, cl_int *errcode_ret) {
    LOCKED;
    struct geometry device, host;
    cl_int code = check_enqueue(__func__, queue, count, list);
    if (!code) code = check_memory(__func__, queue, image, true);
    if (!code) code = image_geometry(__func__, image, origin, region, &device);
    if (code) REFUSE_NULL(code, "no region of an image");
    bool layers = image->type == CL_MEM_OBJECT_IMAGE3D || image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ||
                  image->type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    if (!row_pitch || (layers && !slice_pitch)) REFUSE_NULL(CL_INVALID_VALUE, "nowhere to put the pitches");
    host = device;
    if (image->host) {
        host.row = image->image.image_row_pitch;
        host.slice = image->image.image_slice_pitch;
        if (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) host.row = host.slice;
        host.offset = origin[2] * host.slice + origin[1] * host.row + origin[0] * image->element;
    }
    *row_pitch = image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? image->image.image_row_pitch : host.row;
    if (slice_pitch) *slice_pitch = !layers ? 0 : image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? host.row : host.slice;
    return map_region(__func__, queue, CL_COMMAND_MAP_IMAGE, image, flags, &device, &host, count, list, event,
                      blocking, errcode_ret);
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *pointer, cl_uint count,
    const cl_event *list, cl_event *event) {
    LOCKED;
    CHECK(check_enqueue(__func__, queue, count, list));
    if (!is_live(memory, MEMORY)) REFUSE(CL_INVALID_MEM_OBJECT, "no memory object");
    if (memory->context != queue->context) REFUSE(CL_INVALID_CONTEXT, "it is another context's");
    struct mapping *mapping = find_mapping(memory, pointer);
    if (!mapping) REFUSE(CL_INVALID_VALUE, "%p is not mapped", pointer);
    // A region that is still to be read has nothing to write back yet, and its memory has to stay until it was.
    bool there = mapping->command->status == CL_COMPLETE;
    bool writes = mapping->flags & CL_MAP_WRITE_INVALIDATE_REGION || (there && mapping->flags & CL_MAP_WRITE);
    mapping->mapped = false;
    memory->map_count--;
    if (writes) {
        cl_event write = NULL;
        cl_int code = enqueue_write(__func__, queue, CL_COMMAND_UNMAP_MEM_OBJECT, memory, &mapping->device,
                                    &mapping->host, pointer, count, list, &write, CL_FALSE);
        if (write && write->status > 0) write->mapping = mapping; // its bytes may still have to be taken
        else end_mapping(memory, mapping);
        if (event) *event = write;
        else if (write) release(__func__, write, EVENT, CL_INVALID_EVENT);
        return code;
    }
    cl_event command = new_command(queue, CL_COMMAND_UNMAP_MEM_OBJECT, 0);
    if (!command) REFUSE(CL_OUT_OF_HOST_MEMORY, "no memory for a command");
    command_holds(command, memory);
    command->mapping = mapping;
    waits_for(command, mapping->command);
    return submit(command, count, list, event, CL_FALSE);
}
