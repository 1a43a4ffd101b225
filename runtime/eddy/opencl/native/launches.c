// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Launches, and the commands that move nothing: markers, barriers, migration.
#include <string.h>

#include "eddy.h"

enum tag { BYTES, BUFFER, NOTHING, LOCAL, TEXELS, SAMPLING };

static void put_texels(struct bytes *frame, cl_mem image) {
    const cl_image_desc *is = &image->image;
    bool three = is->image_type == CL_MEM_OBJECT_IMAGE3D, array = is->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
    put_u32(frame, is->image_type);
    put_u64(frame, is->image_width);
    put_u64(frame, is->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? is->image_array_size : is->image_height);
    put_u64(frame, three ? is->image_depth : array ? is->image_array_size : 1);
    put_u32(frame, image->format.image_channel_order);
    put_u32(frame, image->format.image_channel_data_type);
}

static void put_memory(cl_event command, cl_mem memory) {
    bool image = memory && memory->type != CL_MEM_OBJECT_BUFFER;
    put_u8(&command->frame, !memory ? NOTHING : image ? TEXELS : BUFFER);
    if (!memory) return;
    put_u64(&command->frame, memory->id);
    put_u64(&command->frame, memory->origin);
    put_u64(&command->frame, memory->size);
    if (image) put_texels(&command->frame, memory);
    command_holds(command, memory);
}

static uint32_t sampler_bits(cl_sampler sampler) {
    uint32_t filter = sampler->filter == CL_FILTER_LINEAR ? 32 : 16;
    return filter | 2 * (sampler->addressing - CL_ADDRESS_NONE) | (sampler->normalized ? 1 : 0);
}

static void put_argument(cl_event command, const struct argument_info *info, const struct argument *argument) {
    switch (info->kind) {
    case GLOBAL_POINTER:
    case CONSTANT_POINTER:
    case IMAGE: put_memory(command, argument->memory); break;
    case LOCAL_POINTER:
        put_u8(&command->frame, LOCAL);
        put_u64(&command->frame, argument->local_bytes);
        break;
    case SAMPLER_VALUE:
        put_u8(&command->frame, SAMPLING);
        put_u32(&command->frame, sampler_bits(argument->sampler));
        command_holds(command, argument->sampler);
        break;
    default:
        put_u8(&command->frame, BYTES);
        put_text(&command->frame, argument->value.data, argument->value.size);
    }
}

static cl_int check_arguments(const char *function, cl_command_queue queue, cl_kernel kernel) {
    size_t local = kernel->info->local_bytes;
    cl_device_id device = the_device(function);
    for (uint32_t k = 0; k < kernel->info->count; k++) {
        struct argument *argument = &kernel->arguments[k];
        const char *name = kernel->info->arguments[k].name;
        if (!argument->set) return refuse(function, CL_INVALID_KERNEL_ARGS, "argument %u (%s) is not set", k, name);
        if (argument->memory && !is_live(argument->memory, MEMORY))
            return refuse(function, CL_INVALID_KERNEL_ARGS, "argument %u (%s) was released", k, name);
        if (argument->memory && argument->memory->context != queue->context)
            return refuse(function, CL_INVALID_KERNEL_ARGS, "argument %u (%s) is another context's", k, name);
        if (argument->sampler && !is_live(argument->sampler, SAMPLER))
            return refuse(function, CL_INVALID_KERNEL_ARGS, "sampler %u (%s) was released", k, name);
        if (__builtin_add_overflow(local, argument->local_bytes, &local)) local = SIZE_MAX / 2;
    }
    if (device && local > device->local_bytes)
        return refuse(function, CL_OUT_OF_RESOURCES, "%zu bytes of local memory of %zu", local, device->local_bytes);
    return CL_SUCCESS;
}

static cl_int check_group(const char *function, const struct kernel_info *info, cl_uint dimensions,
    const size_t *global, const size_t *local) {
    size_t items = 1;
    for (cl_uint k = 0; local && k < dimensions; k++) {
        if (!local[k] || global[k] % local[k])
            return refuse(function, CL_INVALID_WORK_GROUP_SIZE, "%zu items are not divided by groups of %zu", global[k], local[k]);
        if (info->required[0] && info->required[k] != local[k])
            return refuse(function, CL_INVALID_WORK_GROUP_SIZE, "the kernel requires %llu items in dimension %u",
                          (unsigned long long)info->required[k], k);
        if (local[k] > (k == 2 ? 256 : 1024))
            return refuse(function, CL_INVALID_WORK_ITEM_SIZE, "%zu items of a group in dimension %u", local[k], k);
        items *= local[k];
    }
    if (items > info->group_size)
        return refuse(function, CL_INVALID_WORK_GROUP_SIZE, "groups of %zu items; the kernel allows %llu", items,
                      (unsigned long long)info->group_size);
    return CL_SUCCESS;
}

static cl_int check_range(const char *function, cl_uint dimensions, const size_t *offset, const size_t *global) {
    if (dimensions < 1 || dimensions > 3)
        return refuse(function, CL_INVALID_WORK_DIMENSION, "%u dimensions", dimensions);
    if (!global) return refuse(function, CL_INVALID_GLOBAL_WORK_SIZE, "no global size");
    for (cl_uint k = 0; k < dimensions; k++) {
        size_t first = offset ? offset[k] : 0;
        if (!global[k] || global[k] > UINT32_MAX)
            return refuse(function, CL_INVALID_GLOBAL_WORK_SIZE, "%zu items in dimension %u", global[k], k);
        if (first > UINT32_MAX || first + global[k] - 1 > UINT32_MAX)
            return refuse(function, CL_INVALID_GLOBAL_OFFSET, "ids up to %zu in dimension %u", first + global[k], k);
    }
    return CL_SUCCESS;
}

static void put_sizes(struct bytes *frame, cl_uint dimensions, const size_t *sizes, size_t rest) {
    for (cl_uint k = 0; k < 3; k++) put_u64(frame, sizes && k < dimensions ? sizes[k] : rest);
}

static cl_int launch(const char *function, cl_command_type type, cl_command_queue queue, cl_kernel kernel,
    cl_uint dimensions, const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
    const cl_event *list, cl_event *event) {
    CHECK(check_enqueue(function, queue, count, list));
    if (!is_live(kernel, KERNEL)) return refuse(function, CL_INVALID_KERNEL, "%p is no kernel", (void *)kernel);
    if (kernel->program->context != queue->context)
        return refuse(function, CL_INVALID_CONTEXT, "the kernel is another context's");
    CHECK(check_range(function, dimensions, offset, global));
    const uint64_t *wanted = kernel->info->required;
    const size_t required[3] = {wanted[0], wanted[1], wanted[2]};
    if (!local && required[0]) local = required;
    CHECK(check_group(function, kernel->info, dimensions, global, local));
    CHECK(check_arguments(function, queue, kernel));
    cl_event command = new_command(queue, type, LAUNCH);
    if (!command) return refuse(function, CL_OUT_OF_HOST_MEMORY, "no memory for a command");
    struct bytes *frame = &command->frame;
    put_u64(frame, kernel->program->id);
    put_text(frame, kernel->info->name, strlen(kernel->info->name));
    put_u32(frame, dimensions);
    put_sizes(frame, dimensions, offset, 0);
    put_sizes(frame, dimensions, global, 1);
    put_u8(frame, local != NULL);
    put_sizes(frame, dimensions, local, 1);
    put_u32(frame, kernel->info->count);
    for (uint32_t k = 0; k < kernel->info->count; k++)
        put_argument(command, &kernel->info->arguments[k], &kernel->arguments[k]);
    command_holds(command, kernel);
    return submit(command, count, list, event, CL_FALSE);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
    const size_t *global, const size_t *local, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    return launch(__func__, CL_COMMAND_NDRANGE_KERNEL, queue, kernel, dimensions, offset, global, local, count, list,
                  event);
}

cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    const size_t one = 1;
    return launch(__func__, CL_COMMAND_TASK, queue, kernel, 1, NULL, &one, &one, count, list, event);
}

cl_int clEnqueueNativeKernel(cl_command_queue queue, void (*function)(void *), void *arguments, size_t size,
    cl_uint memory_count, const cl_mem *memories, const void **places, cl_uint count, const cl_event *list,
    cl_event *event) {
    LOCKED;
    (void)function, (void)arguments, (void)size, (void)memory_count, (void)memories, (void)places, (void)event;
    CHECK(check_enqueue(__func__, queue, count, list));
    REFUSE(CL_INVALID_OPERATION, "a board cannot run functions of the host");
}

static cl_int enqueue_local(const char *function, cl_command_type type, cl_command_queue queue, cl_uint count,
    const cl_event *list, cl_event *event) {
    CHECK(check_enqueue(function, queue, count, list));
    cl_event command = new_command(queue, type, 0);
    if (!command) return refuse(function, CL_OUT_OF_HOST_MEMORY, "no memory for a command");
    return submit(command, count, list, event, CL_FALSE);
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    return enqueue_local(__func__, CL_COMMAND_MARKER, queue, count, list, event);
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    return enqueue_local(__func__, CL_COMMAND_BARRIER, queue, count, list, event);
}

cl_int clEnqueueMarker(cl_command_queue queue, cl_event *event) {
    LOCKED;
    if (!event) REFUSE(CL_INVALID_VALUE, "nowhere to put the marker's event");
    return enqueue_local(__func__, CL_COMMAND_MARKER, queue, 0, NULL, event);
}

cl_int clEnqueueBarrier(cl_command_queue queue) {
    LOCKED;
    return enqueue_local(__func__, CL_COMMAND_BARRIER, queue, 0, NULL, NULL);
}

cl_int clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *list) {
    LOCKED;
    if (!count || !list) REFUSE(CL_INVALID_VALUE, "no events to wait for");
    cl_int code = enqueue_local(__func__, CL_COMMAND_BARRIER, queue, count, list, NULL);
    return code == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : code;
}

cl_int clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint memory_count, const cl_mem *memories,
    cl_mem_migration_flags flags, cl_uint count, const cl_event *list, cl_event *event) {
    LOCKED;
    const cl_mem_migration_flags known = CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    CHECK(check_enqueue(__func__, queue, count, list));
    if (!memory_count || !memories || flags & ~known) REFUSE(CL_INVALID_VALUE, "nothing to migrate, or wrong flags");
    for (cl_uint k = 0; k < memory_count; k++) {
        if (!is_live(memories[k], MEMORY)) REFUSE(CL_INVALID_MEM_OBJECT, "entry %u is no memory object", k);
        if (memories[k]->context != queue->context) REFUSE(CL_INVALID_CONTEXT, "entry %u is another context's", k);
    }
    return enqueue_local(__func__, CL_COMMAND_MIGRATE_MEM_OBJECTS, queue, count, list, event);
}
