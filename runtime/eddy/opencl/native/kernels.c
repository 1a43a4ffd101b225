// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Kernels, their arguments, and samplers.
#include <stdlib.h>
#include <string.h>

#include "eddy.h"

static cl_kernel make_kernel(cl_program program, struct kernel_info *info) {
    cl_kernel kernel = make_object(KERNEL, sizeof *kernel);
    if (!kernel) return NULL;
    kernel->arguments = calloc(info->count ? info->count : 1, sizeof *kernel->arguments);
    kernel->program = program;
    kernel->info = info;
    program->kernel_objects++;
    hold(program);
    return kernel;
}

static bool executable(cl_program program) {
    return program->status == CL_BUILD_SUCCESS && program->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(program, PROGRAM, CL_INVALID_PROGRAM);
    if (!executable(program)) REFUSE_NULL(CL_INVALID_PROGRAM_EXECUTABLE, "the program is not built");
    if (!name) REFUSE_NULL(CL_INVALID_VALUE, "no name");
    for (uint32_t k = 0; k < program->kernel_count; k++) {
        if (strcmp(program->kernels[k].name, name)) continue;
        cl_kernel kernel = make_kernel(program, &program->kernels[k]);
        if (!kernel) REFUSE_NULL(CL_OUT_OF_HOST_MEMORY, "no memory for a kernel");
        if (errcode_ret) *errcode_ret = CL_SUCCESS;
        return kernel;
    }
    REFUSE_NULL(CL_INVALID_KERNEL_NAME, "the program has no kernel %s", name);
}

cl_int clCreateKernelsInProgram(cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count) {
    LOCKED;
    NEED(program, PROGRAM, CL_INVALID_PROGRAM);
    if (!executable(program)) REFUSE(CL_INVALID_PROGRAM_EXECUTABLE, "the program is not built");
    if (kernels && room < program->kernel_count)
        REFUSE(CL_INVALID_VALUE, "room for %u of %u kernels", room, program->kernel_count);
    for (uint32_t k = 0; kernels && k < program->kernel_count; k++)
        if (!(kernels[k] = make_kernel(program, &program->kernels[k]))) REFUSE(CL_OUT_OF_HOST_MEMORY, "no memory");
    if (count) *count = program->kernel_count;
    return CL_SUCCESS;
}

void destroy_kernel(cl_kernel kernel) {
    for (uint32_t k = 0; k < kernel->info->count; k++) clear(&kernel->arguments[k].value);
    free(kernel->arguments);
    kernel->program->kernel_objects--;
    drop(kernel->program);
}

cl_int clRetainKernel(cl_kernel kernel) {
    LOCKED;
    return retain(__func__, kernel, KERNEL, CL_INVALID_KERNEL);
}

cl_int clReleaseKernel(cl_kernel kernel) {
    LOCKED;
    return release(__func__, kernel, KERNEL, CL_INVALID_KERNEL);
}

static cl_int set_memory(const char *function, struct argument *argument, bool image, size_t size, const void *value) {
    cl_mem memory = NULL;
    if (size != sizeof(cl_mem)) return refuse(function, CL_INVALID_ARG_SIZE, "a memory object has %zu bytes", sizeof(cl_mem));
    if (value) memcpy(&memory, value, sizeof memory);
    if (image && !memory) return refuse(function, CL_INVALID_ARG_VALUE, "no image");
    if (memory && (!is_live(memory, MEMORY) || (memory->type != CL_MEM_OBJECT_BUFFER) != image))
        return refuse(function, CL_INVALID_MEM_OBJECT, "%p is no %s", (void *)memory, image ? "image" : "buffer");
    argument->memory = memory;
    return CL_SUCCESS;
}

/// What a kernel may do with an image has to be allowed by the image's flags.
static cl_int check_access(const char *function, const struct argument_info *info, cl_mem image) {
    bool reads = info->access == CL_KERNEL_ARG_ACCESS_READ_ONLY, writes = info->access == CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
    if ((reads && image->flags & CL_MEM_WRITE_ONLY) || (writes && image->flags & CL_MEM_READ_ONLY))
        return refuse(function, CL_INVALID_ARG_VALUE, "the image's flags do not let a kernel %s %s",
                      reads ? "read" : "write", info->name);
    return CL_SUCCESS;
}

static cl_int set_sampler(const char *function, struct argument *argument, size_t size, const void *value) {
    cl_sampler sampler;
    if (size != sizeof sampler) return refuse(function, CL_INVALID_ARG_SIZE, "a sampler has %zu bytes", sizeof sampler);
    if (!value) return refuse(function, CL_INVALID_SAMPLER, "no sampler");
    memcpy(&sampler, value, sizeof sampler);
    if (!is_live(sampler, SAMPLER)) return refuse(function, CL_INVALID_SAMPLER, "%p is no sampler", (void *)sampler);
    argument->sampler = sampler;
    return CL_SUCCESS;
}

static cl_int set_local(const char *function, struct argument *argument, size_t size, const void *value) {
    if (value) return refuse(function, CL_INVALID_ARG_VALUE, "local memory has no value");
    if (!size) return refuse(function, CL_INVALID_ARG_SIZE, "local memory of no bytes");
    argument->local_bytes = size;
    return CL_SUCCESS;
}

static cl_int set_value(const char *function, struct argument *argument, const struct argument_info *info, size_t size,
    const void *value) {
    if (size != info->size)
        return refuse(function, CL_INVALID_ARG_SIZE, "%s (%s) has %u bytes, not %zu", info->name, info->type, info->size, size);
    if (!value) return refuse(function, CL_INVALID_ARG_VALUE, "%s has no value", info->name);
    argument->value.size = 0;
    put(&argument->value, value, size);
    return CL_SUCCESS;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    LOCKED;
    NEED(kernel, KERNEL, CL_INVALID_KERNEL);
    if (index >= kernel->info->count)
        REFUSE(CL_INVALID_ARG_INDEX, "%s has %u arguments", kernel->info->name, kernel->info->count);
    struct argument *argument = &kernel->arguments[index];
    const struct argument_info *info = &kernel->info->arguments[index];
    cl_int code;
    switch (info->kind) {
    case GLOBAL_POINTER:
    case CONSTANT_POINTER: code = set_memory(__func__, argument, false, size, value); break;
    case IMAGE:
        code = set_memory(__func__, argument, true, size, value);
        if (!code) code = check_access(__func__, info, argument->memory);
        break;
    case SAMPLER_VALUE: code = set_sampler(__func__, argument, size, value); break;
    case LOCAL_POINTER: code = set_local(__func__, argument, size, value); break;
    default: code = set_value(__func__, argument, info, size, value); break;
    }
    if (!code) argument->set = true;
    return code;
}

static cl_int answer_string(const char *function, const char *text, size_t room, void *value, size_t *size_ret) {
    return answer(function, text, strlen(text) + 1, room, value, size_ret);
}

cl_int clGetKernelInfo(cl_kernel kernel, cl_kernel_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(kernel, KERNEL, CL_INVALID_KERNEL);
    cl_context context = kernel->program->context;
    switch (name) {
    case CL_KERNEL_FUNCTION_NAME: return answer_string(__func__, kernel->info->name, room, value, size_ret);
    case CL_KERNEL_ATTRIBUTES: return answer_string(__func__, kernel->info->attributes, room, value, size_ret);
    case CL_KERNEL_NUM_ARGS: return answer(__func__, &kernel->info->count, sizeof(cl_uint), room, value, size_ret);
    case CL_KERNEL_REFERENCE_COUNT:
        return answer(__func__, &kernel->object.references, sizeof(cl_uint), room, value, size_ret);
    case CL_KERNEL_CONTEXT: return answer(__func__, &context, sizeof context, room, value, size_ret);
    case CL_KERNEL_PROGRAM: return answer(__func__, &kernel->program, sizeof(cl_program), room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "kernels have no information 0x%x", name);
    }
}

cl_int clGetKernelArgInfo(cl_kernel kernel, cl_uint index, cl_kernel_arg_info name, size_t room, void *value,
    size_t *size_ret) {
    LOCKED;
    NEED(kernel, KERNEL, CL_INVALID_KERNEL);
    if (index >= kernel->info->count)
        REFUSE(CL_INVALID_ARG_INDEX, "%s has %u arguments", kernel->info->name, kernel->info->count);
    const struct argument_info *info = &kernel->info->arguments[index];
    switch (name) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER: return answer(__func__, &info->address, sizeof(cl_uint), room, value, size_ret);
    case CL_KERNEL_ARG_ACCESS_QUALIFIER: return answer(__func__, &info->access, sizeof(cl_uint), room, value, size_ret);
    case CL_KERNEL_ARG_TYPE_QUALIFIER: return answer(__func__, &info->qualifiers, sizeof(cl_ulong), room, value, size_ret);
    case CL_KERNEL_ARG_TYPE_NAME: return answer_string(__func__, info->type, room, value, size_ret);
    case CL_KERNEL_ARG_NAME: return answer_string(__func__, info->name, room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "arguments have no information 0x%x", name);
    }
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info name, size_t room,
    void *value, size_t *size_ret) {
    LOCKED;
    NEED(kernel, KERNEL, CL_INVALID_KERNEL);
    if (device && !is_live(device, DEVICE)) REFUSE(CL_INVALID_DEVICE, "%p is no device", (void *)device);
    const struct kernel_info *info = kernel->info;
    size_t group = info->group_size, multiple = info->multiple;
    size_t required[3] = {info->required[0], info->required[1], info->required[2]};
    cl_ulong local = info->local_bytes;
    for (uint32_t k = 0; k < info->count; k++) local += kernel->arguments[k].local_bytes;
    switch (name) {
    case CL_KERNEL_WORK_GROUP_SIZE: return answer(__func__, &group, sizeof group, room, value, size_ret);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: return answer(__func__, required, sizeof required, room, value, size_ret);
    case CL_KERNEL_LOCAL_MEM_SIZE: return answer(__func__, &local, sizeof local, room, value, size_ret);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        return answer(__func__, &multiple, sizeof multiple, room, value, size_ret);
    case CL_KERNEL_PRIVATE_MEM_SIZE:
        return answer(__func__, &info->private_bytes, sizeof info->private_bytes, room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "0x%x is not known of a kernel on a device", name);
    }
}

/// A warp is a subgroup (cl_khr_subgroups), the last of a group perhaps with fewer items.
cl_int clGetKernelSubGroupInfoKHR(cl_kernel kernel, cl_device_id device, cl_kernel_sub_group_info name, size_t given,
    const void *input, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(kernel, KERNEL, CL_INVALID_KERNEL);
    if (device && !is_live(device, DEVICE)) REFUSE(CL_INVALID_DEVICE, "%p is no device", (void *)device);
    size_t items = 1, warp = kernel->info->multiple, dimensions = given / sizeof(size_t);
    if (name != CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE_KHR && name != CL_KERNEL_SUB_GROUP_COUNT_FOR_NDRANGE_KHR)
        REFUSE(CL_INVALID_VALUE, "0x%x is not known of a kernel's subgroups", name);
    if (!input || given % sizeof(size_t) || dimensions < 1 || dimensions > 3)
        REFUSE(CL_INVALID_VALUE, "a local size of one to three dimensions is what subgroups are asked for");
    for (size_t k = 0; k < dimensions; k++) items *= ((const size_t *)input)[k];
    size_t found = name == CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE_KHR ? warp : (items + warp - 1) / warp;
    return answer(__func__, &found, sizeof found, room, value, size_ret);
}

cl_sampler clCreateSampler(cl_context context, cl_bool normalized, cl_addressing_mode addressing,
    cl_filter_mode filter, cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(context, CONTEXT, CL_INVALID_CONTEXT);
    bool repeats = addressing == CL_ADDRESS_REPEAT || addressing == CL_ADDRESS_MIRRORED_REPEAT;
    if (normalized > CL_TRUE || addressing < CL_ADDRESS_NONE || addressing > CL_ADDRESS_MIRRORED_REPEAT ||
        (filter != CL_FILTER_NEAREST && filter != CL_FILTER_LINEAR))
        REFUSE_NULL(CL_INVALID_VALUE, "there is no such sampler");
    if (repeats && !normalized) REFUSE_NULL(CL_INVALID_VALUE, "only normalized coordinates repeat");
    cl_sampler sampler = make_object(SAMPLER, sizeof *sampler);
    if (!sampler) REFUSE_NULL(CL_OUT_OF_HOST_MEMORY, "no memory for a sampler");
    sampler->context = context;
    sampler->normalized = normalized;
    sampler->addressing = addressing;
    sampler->filter = filter;
    hold(context);
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return sampler;
}

void destroy_sampler(cl_sampler sampler) {
    drop(sampler->context);
}

cl_int clRetainSampler(cl_sampler sampler) {
    LOCKED;
    return retain(__func__, sampler, SAMPLER, CL_INVALID_SAMPLER);
}

cl_int clReleaseSampler(cl_sampler sampler) {
    LOCKED;
    return release(__func__, sampler, SAMPLER, CL_INVALID_SAMPLER);
}

cl_int clGetSamplerInfo(cl_sampler sampler, cl_sampler_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(sampler, SAMPLER, CL_INVALID_SAMPLER);
    switch (name) {
    case CL_SAMPLER_REFERENCE_COUNT:
        return answer(__func__, &sampler->object.references, sizeof(cl_uint), room, value, size_ret);
    case CL_SAMPLER_CONTEXT: return answer(__func__, &sampler->context, sizeof(cl_context), room, value, size_ret);
    case CL_SAMPLER_NORMALIZED_COORDS: return answer(__func__, &sampler->normalized, sizeof(cl_bool), room, value, size_ret);
    case CL_SAMPLER_ADDRESSING_MODE: return answer(__func__, &sampler->addressing, sizeof(cl_uint), room, value, size_ret);
    case CL_SAMPLER_FILTER_MODE: return answer(__func__, &sampler->filter, sizeof(cl_uint), room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "samplers have no information 0x%x", name);
    }
}
