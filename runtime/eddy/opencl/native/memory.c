// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Buffers, parts of buffers, and what all memory objects have in common.
#include <stdlib.h>
#include <string.h>

#include "eddy.h"

#define DEVICE_ACCESS (CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY)
#define HOST_ACCESS (CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
#define HOST_POINTER (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR)

static bool at_most_one(cl_mem_flags flags) {
    return !(flags & (flags - 1));
}

cl_int check_flags(const char *function, cl_mem_flags flags, const void *host_ptr) {
    if (flags & ~(cl_mem_flags)(DEVICE_ACCESS | HOST_ACCESS | HOST_POINTER) || !at_most_one(flags & DEVICE_ACCESS) ||
        !at_most_one(flags & HOST_ACCESS))
        return refuse(function, CL_INVALID_VALUE, "flags 0x%llx do not go together", (unsigned long long)flags);
    if ((flags & CL_MEM_USE_HOST_PTR) && (flags & HOST_POINTER) != CL_MEM_USE_HOST_PTR)
        return refuse(function, CL_INVALID_VALUE, "CL_MEM_USE_HOST_PTR goes with no other host pointer flag");
    bool wanted = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    if (wanted != (host_ptr != NULL))
        return refuse(function, CL_INVALID_HOST_PTR, wanted ? "no host pointer" : "a host pointer without a flag for it");
    return CL_SUCCESS;
}

/// Has the helper make the storage, with what is at `host` in it; `host_rows` says how that lies there.
static cl_int open_storage(const char *function, cl_mem memory, const void *host, const struct geometry *host_rows) {
    struct bytes body = {0};
    size_t block = 0;
    if (!channel_lives(memory->context->generation))
        return refuse(function, CL_MEM_OBJECT_ALLOCATION_FAILURE, "the context is lost: its helper ended");
    if (host && !wait_for_room(memory->size, &block))
        return refuse(function, CL_OUT_OF_HOST_MEMORY, "no shared memory for %zu bytes", memory->size);
    struct geometry go = packed(host_rows);
    if (host) copy_rows(arena_at(block), &go, host, host_rows);
    put_u64(&body, memory->context->id);
    put_u64(&body, memory->id);
    put_u64(&body, memory->size);
    put_u8(&body, host != NULL);
    put_u64(&body, block);
    cl_int code = call_helper(function, BUFFER_CREATE, &body, NULL);
    clear(&body);
    if (host && channel_lives(memory->context->generation)) arena_give(block, memory->size); // not the next helper's
    return code;
}

/// A memory object with storage of its own; NULL with the code where there is none.
cl_mem make_storage(const char *function, cl_context context, cl_mem_flags flags, size_t size, void *host,
    const struct geometry *host_rows, cl_int *errcode_ret) {
    cl_mem memory = make_object(MEMORY, sizeof *memory);
    if (!memory) return refuse_null(function, errcode_ret, CL_OUT_OF_HOST_MEMORY, "no memory for an object");
    memory->context = context;
    memory->id = next_id();
    memory->size = size;
    memory->flags = flags & DEVICE_ACCESS ? flags : flags | CL_MEM_READ_WRITE;
    memory->type = CL_MEM_OBJECT_BUFFER;
    if (flags & CL_MEM_USE_HOST_PTR) memory->host = host;
    hold(context);
    cl_int code = open_storage(function, memory, host, host_rows);
    if (code) {
        memory->id = 0;
        release(function, memory, MEMORY, CL_INVALID_MEM_OBJECT);
        return refuse_null(function, errcode_ret, code, "no storage of %zu bytes", size);
    }
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return memory;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host_ptr, cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(context, CONTEXT, CL_INVALID_CONTEXT);
    cl_int code = check_flags(__func__, flags, host_ptr);
    if (code) REFUSE_NULL(code, "wrong flags or host pointer");
    cl_device_id device = the_device(__func__);
    if (!size || (device && size > device->allocation_limit))
        REFUSE_NULL(CL_INVALID_BUFFER_SIZE, "a buffer of %zu bytes; there can be 1 to %zu", size,
                    device ? device->allocation_limit : 0);
    struct geometry whole = flat(0, size);
    return make_storage(__func__, context, flags, size, host_ptr, &whole, errcode_ret);
}

static cl_int part_flags(const char *function, cl_mem parent, cl_mem_flags *flags) {
    if (*flags & HOST_POINTER || *flags & ~(cl_mem_flags)(DEVICE_ACCESS | HOST_ACCESS) ||
        !at_most_one(*flags & DEVICE_ACCESS) || !at_most_one(*flags & HOST_ACCESS))
        return refuse(function, CL_INVALID_VALUE, "flags 0x%llx of a part", (unsigned long long)*flags);
    cl_mem_flags of = parent->flags & DEVICE_ACCESS, here = *flags & DEVICE_ACCESS;
    cl_mem_flags host = parent->flags & HOST_ACCESS, there = *flags & HOST_ACCESS;
    bool wider = (here && of != CL_MEM_READ_WRITE && here != of) ||
                 (there && host && there != host && there != CL_MEM_HOST_NO_ACCESS);
    if (wider) return refuse(function, CL_INVALID_VALUE, "a part may not be accessed in more ways than its buffer");
    if (!here) *flags |= of;
    if (!there) *flags |= host;
    *flags |= parent->flags & HOST_POINTER;
    return CL_SUCCESS;
}

cl_mem clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type, const void *info,
    cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(buffer, MEMORY, CL_INVALID_MEM_OBJECT);
    if (buffer->type != CL_MEM_OBJECT_BUFFER || buffer->parent)
        REFUSE_NULL(CL_INVALID_MEM_OBJECT, "only a whole buffer has parts");
    cl_int code = part_flags(__func__, buffer, &flags);
    if (code) REFUSE_NULL(code, "wrong flags");
    if (type != CL_BUFFER_CREATE_TYPE_REGION || !info) REFUSE_NULL(CL_INVALID_VALUE, "parts are regions");
    const cl_buffer_region *region = info;
    if (!region->size) REFUSE_NULL(CL_INVALID_BUFFER_SIZE, "a part of no bytes");
    if (region->origin > buffer->size || region->size > buffer->size - region->origin)
        REFUSE_NULL(CL_INVALID_VALUE, "the part reaches beyond the buffer");
    cl_device_id device = the_device(__func__);
    if (device && device->alignment && region->origin % device->alignment)
        REFUSE_NULL(CL_MISALIGNED_SUB_BUFFER_OFFSET, "parts begin at multiples of %zu bytes", device->alignment);
    cl_mem memory = make_object(MEMORY, sizeof *memory);
    if (!memory) REFUSE_NULL(CL_OUT_OF_HOST_MEMORY, "no memory for an object");
    memory->context = buffer->context;
    memory->parent = buffer;
    memory->id = buffer->id;
    memory->origin = region->origin;
    memory->size = region->size;
    memory->flags = flags;
    memory->type = CL_MEM_OBJECT_BUFFER;
    memory->host = buffer->host ? (char *)buffer->host + region->origin : NULL;
    hold(buffer->context);
    hold(buffer);
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return memory;
}

struct farewell {
    struct destructor *destructors;
    cl_mem memory;
};

static void say_farewell(void *argument) {
    struct farewell *farewell = argument;
    while (farewell->destructors) {
        struct destructor *next = farewell->destructors;
        farewell->destructors = next->next;
        next->notify(farewell->memory, next->user_data);
        free(next);
    }
    free(farewell);
}

void destroy_memory(cl_mem memory) {
    if (!memory->parent && memory->id && channel_lives(memory->context->generation)) {
        struct bytes body = {0};
        put_u64(&body, memory->context->id);
        put_u64(&body, memory->id);
        send_frame(BUFFER_FREE, 0, &body);
        clear(&body);
    }
    while (memory->mappings) {
        struct mapping *mapping = memory->mappings;
        memory->mappings = mapping->next;
        if (mapping->ours) free(mapping->pointer);
        drop(mapping->command);
        free(mapping);
    }
    struct farewell *farewell = memory->destructors ? malloc(sizeof *farewell) : NULL;
    if (farewell) {
        *farewell = (struct farewell){memory->destructors, memory};
        call_later(say_farewell, farewell);
    }
    memory->destructors = NULL;
    drop(memory->parent);
    drop(memory->context);
}

cl_int clRetainMemObject(cl_mem memory) {
    LOCKED;
    return retain(__func__, memory, MEMORY, CL_INVALID_MEM_OBJECT);
}

cl_int clReleaseMemObject(cl_mem memory) {
    LOCKED;
    return release(__func__, memory, MEMORY, CL_INVALID_MEM_OBJECT);
}

cl_int clSetMemObjectDestructorCallback(cl_mem memory, void (*notify)(cl_mem, void *), void *user_data) {
    LOCKED;
    NEED(memory, MEMORY, CL_INVALID_MEM_OBJECT);
    if (!notify) REFUSE(CL_INVALID_VALUE, "no function to call");
    struct destructor *made = malloc(sizeof *made);
    if (!made) REFUSE(CL_OUT_OF_HOST_MEMORY, "no memory for a callback");
    *made = (struct destructor){notify, user_data, memory->destructors};
    memory->destructors = made;
    return CL_SUCCESS;
}

cl_int clGetMemObjectInfo(cl_mem memory, cl_mem_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(memory, MEMORY, CL_INVALID_MEM_OBJECT);
    switch (name) {
    case CL_MEM_TYPE: return answer(__func__, &memory->type, sizeof memory->type, room, value, size_ret);
    case CL_MEM_FLAGS: return answer(__func__, &memory->flags, sizeof memory->flags, room, value, size_ret);
    case CL_MEM_SIZE: return answer(__func__, &memory->size, sizeof memory->size, room, value, size_ret);
    case CL_MEM_HOST_PTR: return answer(__func__, &memory->host, sizeof memory->host, room, value, size_ret);
    case CL_MEM_MAP_COUNT: return answer(__func__, &memory->map_count, sizeof(cl_uint), room, value, size_ret);
    case CL_MEM_REFERENCE_COUNT:
        return answer(__func__, &memory->object.references, sizeof(cl_uint), room, value, size_ret);
    case CL_MEM_CONTEXT: return answer(__func__, &memory->context, sizeof memory->context, room, value, size_ret);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return answer(__func__, &memory->parent, sizeof memory->parent, room, value, size_ret);
    case CL_MEM_OFFSET: return answer(__func__, &memory->origin, sizeof memory->origin, room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "memory objects have no information 0x%x", name);
    }
}
