// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Bytes between host and board, and on the board: buffers, regions of buffers and images alike are rows in layers.
#include <stdlib.h>
#include <string.h>

#include "eddy.h"

/// A region that is one piece.
struct geometry flat(size_t offset, size_t size) {
    return (struct geometry){offset, size, 1, 1, size, size};
}

/// Bytes from a region's offset to its end.
size_t extent_of(const struct geometry *region) {
    return (region->depth - 1) * region->slice + (region->height - 1) * region->row + region->width;
}

/// The same rows end to end.
struct geometry packed(const struct geometry *rows) {
    return (struct geometry){0, rows->width, rows->height, rows->depth, rows->width, rows->width * rows->height};
}

void copy_rows(uint8_t *to, const struct geometry *there, const uint8_t *from, const struct geometry *here) {
    for (size_t z = 0; z < there->depth; z++)
        for (size_t y = 0; y < there->height; y++)
            memcpy(to + there->offset + z * there->slice + y * there->row,
                   from + here->offset + z * here->slice + y * here->row, there->width);
}

/// Whether a queue's commands may use a memory object.
cl_int check_memory(const char *function, cl_command_queue queue, cl_mem memory, bool image) {
    if (!is_live(memory, MEMORY) || (memory->type != CL_MEM_OBJECT_BUFFER) != image)
        return refuse(function, CL_INVALID_MEM_OBJECT, "%p is no %s", (void *)memory, image ? "image" : "buffer");
    if (memory->context != queue->context) return refuse(function, CL_INVALID_CONTEXT, "it is another context's");
    return CL_SUCCESS;
}

/// Room in the arena, waited for while commands that end may leave some.
bool wait_for_room(size_t size, size_t *block) {
    while (!arena_take(size, block)) {
        if (size > ARENA_BYTES || !any_sent()) return false;
        pthread_cond_wait(&changed, &lock);
    }
    return true;
}

static void put_place(cl_event command, cl_mem memory, const struct geometry *region) {
    struct geometry there = *region;
    there.offset += memory->origin;
    put_u64(&command->frame, memory->id);
    put_geometry(&command->frame, &there);
}

static cl_event new_transfer(const char *function, cl_command_queue queue, cl_command_type type, uint32_t operation,
    cl_mem memory, const struct geometry *device, cl_uint count, const cl_event *list, cl_int *code) {
    cl_event command = new_command(queue, type, operation);
    size_t block, size = device->width * device->height * device->depth;
    if (command) command_holds(command, memory);
    if (!command || !wait_for_room(size, &block)) {
        *code = refuse(function, CL_OUT_OF_HOST_MEMORY, "no memory for %zu bytes on their way", size);
        drop(command);
        return NULL;
    }
    command->transfer = true;
    command->block = block;
    command->block_size = size;
    *code = check_enqueue(function, queue, count, list); // another thread may have released some meanwhile
    if (!*code) return command;
    drop(command);
    return NULL;
}

cl_int enqueue_write(const char *function, cl_command_queue queue, cl_command_type type, cl_mem memory,
    const struct geometry *device, const struct geometry *host, const void *pointer, cl_uint count,
    const cl_event *list, cl_event *event, cl_bool blocking) {
    cl_int code;
    cl_event command = new_transfer(function, queue, type, WRITE, memory, device, count, list, &code);
    if (!command) return code;
    put_place(command, memory, device);
    put_u64(&command->frame, command->block);
    command->source = pointer;
    command->rows = *host;
    return submit(command, count, list, event, blocking);
}

cl_int enqueue_read(const char *function, cl_command_queue queue, cl_command_type type, cl_mem memory,
    const struct geometry *device, const struct geometry *host, void *pointer, cl_uint count, const cl_event *list,
    cl_event *event, cl_bool blocking) {
    cl_int code;
    cl_event command = new_transfer(function, queue, type, READ, memory, device, count, list, &code);
    if (!command) return code;
    put_place(command, memory, device);
    put_u64(&command->frame, command->block);
    command->target = pointer;
    command->rows = *host;
    return submit(command, count, list, event, blocking);
}

cl_int enqueue_copy(const char *function, cl_command_queue queue, cl_command_type type, cl_mem source,
    const struct geometry *from, cl_mem target, const struct geometry *to, cl_uint count, const cl_event *list,
    cl_event *event) {
    cl_event command = new_command(queue, type, COPY);
    if (!command) return refuse(function, CL_OUT_OF_HOST_MEMORY, "no memory for a command");
    command_holds(command, source);
    command_holds(command, target);
    put_place(command, source, from);
    put_place(command, target, to);
    return submit(command, count, list, event, CL_FALSE);
}

cl_int enqueue_fill(const char *function, cl_command_queue queue, cl_command_type type, cl_mem memory,
    const struct geometry *device, const void *pattern, size_t pattern_size, cl_uint count, const cl_event *list,
    cl_event *event) {
    cl_event command = new_command(queue, type, FILL);
    if (!command) return refuse(function, CL_OUT_OF_HOST_MEMORY, "no memory for a command");
    command_holds(command, memory);
    put_place(command, memory, device);
    put_text(&command->frame, pattern, pattern_size);
    return submit(command, count, list, event, CL_FALSE);
}

static cl_int check_range(const char *function, cl_mem buffer, size_t offset, size_t size) {
    if (!size || offset > buffer->size || size > buffer->size - offset)
        return refuse(function, CL_INVALID_VALUE, "%zu bytes at %zu of a buffer of %zu", size, offset, buffer->size);
    return CL_SUCCESS;
}

static cl_int host_may(const char *function, cl_mem memory, bool write) {
    cl_mem_flags against = CL_MEM_HOST_NO_ACCESS | (write ? CL_MEM_HOST_READ_ONLY : CL_MEM_HOST_WRITE_ONLY);
    if (memory->flags & against)
        return refuse(function, CL_INVALID_OPERATION, "the host may not %s it by its flags", write ? "write" : "read");
    return CL_SUCCESS;
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
    void *pointer, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, buffer, false));
    CHECK(check_range(__func__, buffer, offset, size));
    if (!pointer) REFUSE(CL_INVALID_VALUE, "nowhere to read to");
    CHECK(host_may(__func__, buffer, false));
    struct geometry device = flat(offset, size), host = flat(0, size);
    return enqueue_read(__func__, queue, CL_COMMAND_READ_BUFFER, buffer, &device, &host, pointer, count, list, event,
                        blocking);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
    const void *pointer, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, buffer, false));
    CHECK(check_range(__func__, buffer, offset, size));
    if (!pointer) REFUSE(CL_INVALID_VALUE, "nothing to write");
    CHECK(host_may(__func__, buffer, true));
    struct geometry device = flat(offset, size), host = flat(0, size);
    return enqueue_write(__func__, queue, CL_COMMAND_WRITE_BUFFER, buffer, &device, &host, pointer, count, list,
                         event, blocking);
}

/// Where a row, or a layer, begins; beyond any buffer where the number has more than 64 bits.
static size_t start_of(size_t before, size_t count, size_t pitch) {
    size_t start;
    if (__builtin_mul_overflow(count, pitch, &start) || __builtin_add_overflow(start, before, &start)) return SIZE_MAX;
    return start;
}

/// A region by origin and pitches; 0 for a pitch is as small as can be.
static cl_int make_region(const char *function, const size_t *origin, const size_t *region, size_t row, size_t slice,
    struct geometry *made) {
    if (!origin || !region || !region[0] || !region[1] || !region[2])
        return refuse(function, CL_INVALID_VALUE, "no origin, or a region of no bytes");
    if (!row) row = region[0];
    if (!slice) slice = start_of(0, region[1], row);
    if (row < region[0] || slice < start_of(0, region[1], row) || slice % row)
        return refuse(function, CL_INVALID_VALUE, "rows of %zu and layers of %zu bytes do not fit the region", row, slice);
    size_t offset = origin[2] * slice + origin[1] * row + origin[0];
    *made = (struct geometry){offset, region[0], region[1], region[2], row, slice};
    return CL_SUCCESS;
}

static cl_int check_inside(const char *function, cl_mem buffer, const size_t *origin, const struct geometry *region) {
    size_t end = start_of(origin[0], origin[1], region->row);
    end = start_of(end, origin[2], region->slice);
    end = start_of(end, region->depth - 1, region->slice);
    end = start_of(end, region->height - 1, region->row);
    end = start_of(end, region->width, 1);
    if (end > buffer->size)
        return refuse(function, CL_INVALID_VALUE, "the region reaches beyond the buffer's %zu bytes", buffer->size);
    return CL_SUCCESS;
}

cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin,
    const size_t *host_origin, const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row,
    size_t host_slice, void *pointer, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    struct geometry device, host;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, buffer, false));
    CHECK(make_region(__func__, buffer_origin, region, buffer_row, buffer_slice, &device));
    CHECK(make_region(__func__, host_origin, region, host_row, host_slice, &host));
    CHECK(check_inside(__func__, buffer, buffer_origin, &device));
    if (!pointer) REFUSE(CL_INVALID_VALUE, "nowhere to read to");
    CHECK(host_may(__func__, buffer, false));
    return enqueue_read(__func__, queue, CL_COMMAND_READ_BUFFER_RECT, buffer, &device, &host, pointer, count, list,
                        event, blocking);
}

cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin,
    const size_t *host_origin, const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row,
    size_t host_slice, const void *pointer, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    struct geometry device, host;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, buffer, false));
    CHECK(make_region(__func__, buffer_origin, region, buffer_row, buffer_slice, &device));
    CHECK(make_region(__func__, host_origin, region, host_row, host_slice, &host));
    CHECK(check_inside(__func__, buffer, buffer_origin, &device));
    if (!pointer) REFUSE(CL_INVALID_VALUE, "nothing to write");
    CHECK(host_may(__func__, buffer, true));
    return enqueue_write(__func__, queue, CL_COMMAND_WRITE_BUFFER_RECT, buffer, &device, &host, pointer, count, list,
                         event, blocking);
}

cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem target, size_t source_offset,
    size_t target_offset, size_t size, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, source, false));
    CHECK(check_memory(__func__, queue, target, false));
    CHECK(check_range(__func__, source, source_offset, size));
    CHECK(check_range(__func__, target, target_offset, size));
    size_t from_at = source->origin + source_offset, to_at = target->origin + target_offset;
    if (source->id == target->id && from_at < to_at + size && to_at < from_at + size)
        REFUSE(CL_MEM_COPY_OVERLAP, "%zu bytes at %zu and at %zu overlap", size, from_at, to_at);
    struct geometry from = flat(source_offset, size), to = flat(target_offset, size);
    return enqueue_copy(__func__, queue, CL_COMMAND_COPY_BUFFER, source, &from, target, &to, count, list, event);
}

/// Whether two regions of one storage have a byte in common.
static bool overlap(const struct geometry *one, const struct geometry *other) {
    for (size_t z = 0; z < one->depth; z++)
        for (size_t y = 0; y < one->height; y++) {
            size_t begin = one->offset + z * one->slice + y * one->row, end = begin + one->width;
            for (size_t w = 0; w < other->depth; w++) {
                size_t layer = other->offset + w * other->slice;
                size_t first = end > layer ? (end - layer - 1) / other->row : 0;
                for (size_t v = first > 1 ? first - 1 : 0; v <= first && v < other->height; v++) {
                    size_t at = layer + v * other->row;
                    if (at < end && begin < at + other->width) return true;
                }
            }
        }
    return false;
}

cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem target, const size_t *source_origin,
    const size_t *target_origin, const size_t *region, size_t source_row, size_t source_slice, size_t target_row,
    size_t target_slice, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    struct geometry from, to;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, source, false));
    CHECK(check_memory(__func__, queue, target, false));
    CHECK(make_region(__func__, source_origin, region, source_row, source_slice, &from));
    CHECK(make_region(__func__, target_origin, region, target_row, target_slice, &to));
    CHECK(check_inside(__func__, source, source_origin, &from));
    CHECK(check_inside(__func__, target, target_origin, &to));
    if (source == target && (from.row != to.row || from.slice != to.slice))
        REFUSE(CL_INVALID_VALUE, "within a buffer both sides have the same rows and layers");
    struct geometry one = from, other = to;
    one.offset += source->origin;
    other.offset += target->origin;
    if (source->id == target->id && overlap(&one, &other)) REFUSE(CL_MEM_COPY_OVERLAP, "the regions overlap");
    return enqueue_copy(__func__, queue, CL_COMMAND_COPY_BUFFER_RECT, source, &from, target, &to, count, list, event);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern, size_t pattern_size,
    size_t offset, size_t size, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    CHECK(check_enqueue(__func__, queue, count, list));
    CHECK(check_memory(__func__, queue, buffer, false));
    if (!pattern || !pattern_size || pattern_size > 128 || pattern_size & (pattern_size - 1))
        REFUSE(CL_INVALID_VALUE, "a pattern of %zu bytes; it has 1, 2, 4, ... or 128", pattern_size);
    CHECK(check_range(__func__, buffer, offset, size));
    if (offset % pattern_size || size % pattern_size)
        REFUSE(CL_INVALID_VALUE, "offset %zu or size %zu is no multiple of the pattern's %zu", offset, size, pattern_size);
    struct geometry device = flat(offset, size);
    return enqueue_fill(__func__, queue, CL_COMMAND_FILL_BUFFER, buffer, &device, pattern, pattern_size, count, list,
                        event);
}
