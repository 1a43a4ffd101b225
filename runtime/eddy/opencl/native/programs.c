// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Programs. What is built from is a list of units, each options, a source and its headers; a binary is that list with a
// head, so it fits every cluster, and the server, which keeps what it compiled, takes no time for one that it knows.
#include <stdlib.h>
#include <string.h>

#include "eddy.h"

#define MAGIC "EDDYCLB1" // names the version of the format
#define HEAD_BYTES 24

static uint64_t checksum(const uint8_t *data, size_t size) {
    uint64_t sum = 0xCBF29CE484222325u;
    for (size_t k = 0; k < size; k++) sum = (sum ^ data[k]) * 0x100000001B3u;
    return sum;
}

static cl_program new_program(cl_context context) {
    cl_program program = make_object(PROGRAM, sizeof *program);
    if (!program) return NULL;
    program->context = context;
    program->id = next_id();
    program->status = CL_BUILD_NONE;
    program->type = CL_PROGRAM_BINARY_TYPE_NONE;
    hold(context);
    return program;
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings, const size_t *lengths,
    cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(context, CONTEXT, CL_INVALID_CONTEXT);
    if (!count || !strings) REFUSE_NULL(CL_INVALID_VALUE, "no source");
    for (cl_uint k = 0; k < count; k++)
        if (!strings[k]) REFUSE_NULL(CL_INVALID_VALUE, "text %u of the source is null", k);
    cl_program program = new_program(context);
    if (!program) REFUSE_NULL(CL_OUT_OF_HOST_MEMORY, "no memory for a program");
    for (cl_uint k = 0; k < count; k++)
        put(&program->source, strings[k], lengths && lengths[k] ? lengths[k] : strlen(strings[k]));
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return program;
}

static bool read_binary(cl_program program, const uint8_t *data, size_t size) {
    struct reader reader = {data, data + size, false};
    if (size < HEAD_BYTES || memcmp(data, MAGIC, 8)) return false;
    reader.at += 8;
    cl_program_binary_type type = get_u32(&reader);
    uint32_t count = get_u32(&reader);
    uint64_t sum = get_u64(&reader);
    if (sum != checksum(reader.at, (size_t)(reader.end - reader.at)) || !count || !type) return false;
    program->type = type;
    program->unit_count = count;
    program->from_binary = true;
    put(&program->units, reader.at, (size_t)(reader.end - reader.at));
    if (type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE) program->status = CL_BUILD_SUCCESS;
    return true;
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
    const size_t *lengths, const unsigned char **binaries, cl_int *status, cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(context, CONTEXT, CL_INVALID_CONTEXT);
    if (!count || !devices || !lengths || !binaries) REFUSE_NULL(CL_INVALID_VALUE, "no devices, lengths or binaries");
    for (cl_uint k = 0; k < count; k++) {
        if (!is_live(devices[k], DEVICE)) REFUSE_NULL(CL_INVALID_DEVICE, "device %u is none of ours", k);
        if (status) status[k] = lengths[k] && binaries[k] ? CL_SUCCESS : CL_INVALID_VALUE;
        if (!lengths[k] || !binaries[k]) REFUSE_NULL(CL_INVALID_VALUE, "binary %u is empty", k);
    }
    cl_program program = new_program(context);
    if (!program) REFUSE_NULL(CL_OUT_OF_HOST_MEMORY, "no memory for a program");
    if (!read_binary(program, binaries[0], lengths[0])) {
        if (status) status[0] = CL_INVALID_BINARY;
        release(__func__, program, PROGRAM, CL_INVALID_PROGRAM);
        REFUSE_NULL(CL_INVALID_BINARY, "not a binary of Eddy's, of another version, or damaged");
    }
    if (errcode_ret) *errcode_ret = CL_SUCCESS;
    return program;
}

cl_program clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count, const cl_device_id *devices,
    const char *names, cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(context, CONTEXT, CL_INVALID_CONTEXT);
    if (!count || !devices || !names) REFUSE_NULL(CL_INVALID_VALUE, "no devices or names");
    REFUSE_NULL(CL_INVALID_VALUE, "there are no built-in kernels, so none is %s", names);
}

static void free_kernels(cl_program program) {
    for (uint32_t k = 0; k < program->kernel_count; k++) {
        struct kernel_info *kernel = &program->kernels[k];
        for (uint32_t j = 0; kernel->arguments && j < kernel->count; j++) {
            free(kernel->arguments[j].type);
            free(kernel->arguments[j].name);
        }
        free(kernel->arguments);
        free(kernel->name);
        free(kernel->attributes);
    }
    free(program->kernels);
    program->kernels = NULL;
    program->kernel_count = 0;
}

void destroy_program(cl_program program) {
    struct bytes body = {0};
    if (channel_lives(program->context->generation)) {
        put_u64(&body, program->context->id);
        put_u64(&body, program->id);
        send_frame(PROGRAM_FREE, 0, &body);
        clear(&body);
    }
    free_kernels(program);
    clear(&program->source);
    clear(&program->options);
    clear(&program->log);
    clear(&program->units);
    drop(program->context);
}

cl_int clRetainProgram(cl_program program) {
    LOCKED;
    return retain(__func__, program, PROGRAM, CL_INVALID_PROGRAM);
}

cl_int clReleaseProgram(cl_program program) {
    LOCKED;
    return release(__func__, program, PROGRAM, CL_INVALID_PROGRAM);
}

static void read_kernel(struct reader *reader, struct kernel_info *kernel) {
    kernel->name = get_string(reader);
    kernel->attributes = get_string(reader);
    kernel->group_size = get_u64(reader);
    for (int k = 0; k < 3; k++) kernel->required[k] = get_u64(reader);
    kernel->local_bytes = get_u64(reader);
    kernel->private_bytes = get_u64(reader);
    kernel->multiple = get_u64(reader);
    kernel->count = get_u32(reader);
    if (kernel->count > 4096) reader->bad = true;
    kernel->arguments = calloc(reader->bad || !kernel->count ? 1 : kernel->count, sizeof *kernel->arguments);
    if (reader->bad || !kernel->arguments) kernel->count = 0;
    for (uint32_t k = 0; k < kernel->count; k++) {
        struct argument_info *argument = &kernel->arguments[k];
        argument->kind = get_u8(reader);
        argument->size = get_u32(reader);
        argument->address = get_u32(reader);
        argument->access = get_u32(reader);
        argument->qualifiers = get_u64(reader);
        argument->type = get_string(reader);
        argument->name = get_string(reader);
    }
}

static bool read_kernels(cl_program program, struct reader *reader) {
    uint32_t count = get_u32(reader);
    if (reader->bad || count > 65536) return false;
    program->kernels = calloc(count ? count : 1, sizeof *program->kernels);
    if (!program->kernels) return false;
    program->kernel_count = count;
    for (uint32_t k = 0; k < count; k++) read_kernel(reader, &program->kernels[k]);
    return !reader->bad;
}

enum mode { BUILD, COMPILE, LINK };

/// Has the helper compile a program's units, and takes what it says of log and kernels.
static cl_int compile(const char *function, cl_program program, enum mode mode, cl_program_binary_type type) {
    struct bytes body = {0}, reply = {0};
    if (!channel_lives(program->context->generation))
        return refuse(function, CL_OUT_OF_RESOURCES, "the context is lost: its helper ended");
    put_u64(&body, program->context->id);
    put_u64(&body, program->id);
    put_u8(&body, (uint8_t)mode);
    put_text(&body, program->options.data, program->options.size);
    put_u32(&body, program->unit_count);
    put(&body, program->units.data, program->units.size);
    program->status = CL_BUILD_IN_PROGRESS;
    clear(&program->log);
    free_kernels(program);
    hold(program);
    cl_int code = call_helper(function, PROGRAM_BUILD, &body, &reply);
    struct reader reader = {reply.data, reply.data + reply.size, false};
    size_t size;
    const uint8_t *log = get_text(&reader, &size);
    put(&program->log, log, size);
    if (!code && !read_kernels(program, &reader))
        code = refuse(function, CL_OUT_OF_HOST_MEMORY, "the helper's list of kernels cannot be read");
    const uint8_t *units = code ? NULL : get_text(&reader, &size);
    if (units && size) { // with the headers of the host's disk, which may be gone when it is linked
        clear(&program->units);
        put(&program->units, units, size);
    }
    program->status = code ? CL_BUILD_ERROR : CL_BUILD_SUCCESS;
    program->type = code ? CL_PROGRAM_BINARY_TYPE_NONE : type;
    clear(&body);
    clear(&reply);
    drop(program);
    return code;
}

static void add_unit(cl_program program, const char *options, cl_uint count, const cl_program *headers,
    const char **names) {
    put_text(&program->units, options, strlen(options));
    put_text(&program->units, program->source.data, program->source.size);
    put_u32(&program->units, count);
    for (cl_uint k = 0; k < count; k++) {
        put_text(&program->units, names[k], strlen(names[k]));
        put_text(&program->units, headers[k]->source.data, headers[k]->source.size);
    }
    program->unit_count = 1;
}

static cl_int check_build(const char *function, cl_program program, cl_uint count, const cl_device_id *devices,
    const void *notify, const void *user_data) {
    if (!is_live(program, PROGRAM)) return refuse(function, CL_INVALID_PROGRAM, "%p is no program", (void *)program);
    if (!count != !devices || (!notify && user_data))
        return refuse(function, CL_INVALID_VALUE, "%u devices at %p, or data for no function", count, (void *)devices);
    for (cl_uint k = 0; k < count; k++)
        if (!is_live(devices[k], DEVICE)) return refuse(function, CL_INVALID_DEVICE, "device %u is none of ours", k);
    if (program->kernel_objects || program->status == CL_BUILD_IN_PROGRESS)
        return refuse(function, CL_INVALID_OPERATION, "it has %u kernels, or is being built", program->kernel_objects);
    return CL_SUCCESS;
}

struct built {
    void (*notify)(cl_program, void *);
    cl_program program;
    void *user_data;
};

static void notify_built(void *argument) {
    struct built *built = argument;
    built->notify(built->program, built->user_data);
    pthread_mutex_lock(&lock);
    drop(built->program);
    pthread_mutex_unlock(&lock);
    free(built);
}

/// Tells the host that a program is built. With a function to call, building itself is said to have begun well.
static cl_int tell(cl_program program, void (*notify)(cl_program, void *), void *user_data, cl_int code) {
    struct built *built = notify ? malloc(sizeof *built) : NULL;
    if (!built) return code;
    *built = (struct built){notify, program, user_data};
    hold(program);
    call_later(notify_built, built);
    return code == CL_BUILD_PROGRAM_FAILURE || code == CL_COMPILE_PROGRAM_FAILURE ? CL_SUCCESS : code;
}

static void take_options(cl_program program, const char *options) {
    clear(&program->options);
    put(&program->options, options ? options : "", options ? strlen(options) : 0);
}

cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
    void (*notify)(cl_program, void *), void *user_data) {
    LOCKED;
    CHECK(check_build(__func__, program, count, devices, (const void *)notify, user_data));
    if (program->from_binary && program->type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE)
        REFUSE(CL_INVALID_BINARY, "it is a compiled object or a library: link it");
    take_options(program, options);
    if (!program->from_binary) {
        clear(&program->units);
        add_unit(program, options ? options : "", 0, NULL, NULL);
    }
    bool kept = program->from_binary;
    cl_int code = compile(__func__, program, BUILD, CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    if (kept) program->type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE; // it may be tried again
    return tell(program, notify, user_data, code);
}

cl_int clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
    cl_uint header_count, const cl_program *headers, const char **names, void (*notify)(cl_program, void *),
    void *user_data) {
    LOCKED;
    CHECK(check_build(__func__, program, count, devices, (const void *)notify, user_data));
    if (!header_count != !headers || !header_count != !names) REFUSE(CL_INVALID_VALUE, "headers without names");
    if (program->from_binary) REFUSE(CL_INVALID_OPERATION, "it has no source");
    for (cl_uint k = 0; k < header_count; k++)
        if (!is_live(headers[k], PROGRAM) || !names[k]) REFUSE(CL_INVALID_VALUE, "header %u is no program", k);
    take_options(program, options);
    clear(&program->units);
    add_unit(program, options ? options : "", header_count, headers, names);
    cl_int code = compile(__func__, program, COMPILE, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT);
    return tell(program, notify, user_data, code == CL_BUILD_PROGRAM_FAILURE ? CL_COMPILE_PROGRAM_FAILURE
                                            : code == CL_INVALID_BUILD_OPTIONS ? CL_INVALID_COMPILER_OPTIONS : code);
}

static cl_int check_inputs(const char *function, cl_context context, cl_uint count, const cl_program *programs) {
    if (!count || !programs) return refuse(function, CL_INVALID_VALUE, "nothing to link");
    for (cl_uint k = 0; k < count; k++) {
        if (!is_live(programs[k], PROGRAM)) return refuse(function, CL_INVALID_PROGRAM, "input %u is no program", k);
        if (programs[k]->context != context) return refuse(function, CL_INVALID_PROGRAM, "input %u is another context's", k);
        if (programs[k]->type != CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT &&
            programs[k]->type != CL_PROGRAM_BINARY_TYPE_LIBRARY)
            return refuse(function, CL_INVALID_OPERATION, "input %u is neither a compiled object nor a library", k);
    }
    return CL_SUCCESS;
}

cl_program clLinkProgram(cl_context context, cl_uint device_count, const cl_device_id *devices, const char *options,
    cl_uint count, const cl_program *programs, void (*notify)(cl_program, void *), void *user_data,
    cl_int *errcode_ret) {
    LOCKED;
    NEED_OR_NULL(context, CONTEXT, CL_INVALID_CONTEXT);
    if (!device_count != !devices || (!notify && user_data)) REFUSE_NULL(CL_INVALID_VALUE, "devices or data missing");
    for (cl_uint k = 0; k < device_count; k++)
        if (!is_live(devices[k], DEVICE)) REFUSE_NULL(CL_INVALID_DEVICE, "device %u is none of ours", k);
    cl_int code = check_inputs(__func__, context, count, programs);
    if (code) REFUSE_NULL(code, "these cannot be linked");
    cl_program program = new_program(context);
    if (!program) REFUSE_NULL(CL_OUT_OF_HOST_MEMORY, "no memory for a program");
    take_options(program, options);
    for (cl_uint k = 0; k < count; k++) {
        put(&program->units, programs[k]->units.data, programs[k]->units.size);
        program->unit_count += programs[k]->unit_count;
    }
    bool library = options && strstr(options, "-create-library");
    code = compile(__func__, program, library ? COMPILE : LINK,
                   library ? CL_PROGRAM_BINARY_TYPE_LIBRARY : CL_PROGRAM_BINARY_TYPE_EXECUTABLE);
    if (code == CL_BUILD_PROGRAM_FAILURE) code = CL_LINK_PROGRAM_FAILURE;
    if (code == CL_INVALID_BUILD_OPTIONS) code = CL_INVALID_LINKER_OPTIONS;
    if (code == CL_INVALID_LINKER_OPTIONS) {
        release(__func__, program, PROGRAM, CL_INVALID_PROGRAM);
        REFUSE_NULL(code, "options %s", options);
    }
    program->from_binary = true; // it has no source of its own
    if (errcode_ret) *errcode_ret = code;
    tell(program, notify, user_data, code);
    return program;
}

static size_t binary_size(cl_program program) {
    return program->type == CL_PROGRAM_BINARY_TYPE_NONE ? 0 : HEAD_BYTES + program->units.size;
}

static void write_binary(cl_program program, uint8_t *to) {
    struct bytes head = {0};
    put(&head, MAGIC, 8);
    put_u32(&head, program->type);
    put_u32(&head, program->unit_count);
    put_u64(&head, checksum(program->units.data, program->units.size));
    memcpy(to, head.data, HEAD_BYTES);
    memcpy(to + HEAD_BYTES, program->units.data, program->units.size);
    clear(&head);
}

static cl_int answer_names(const char *function, cl_program program, size_t room, void *value, size_t *size_ret) {
    struct bytes names = {0};
    for (uint32_t k = 0; k < program->kernel_count; k++) {
        if (k) put(&names, ";", 1);
        put(&names, program->kernels[k].name, strlen(program->kernels[k].name));
    }
    put(&names, "", 1);
    cl_int code = answer(function, names.data, names.size, room, value, size_ret);
    clear(&names);
    return code;
}

static cl_int answer_text(const char *function, const struct bytes *text, size_t room, void *value, size_t *size_ret) {
    struct bytes ended = {0};
    put(&ended, text->data, text->size);
    put(&ended, "", 1);
    cl_int code = answer(function, ended.data, ended.size, room, value, size_ret);
    clear(&ended);
    return code;
}

cl_int clGetProgramInfo(cl_program program, cl_program_info name, size_t room, void *value, size_t *size_ret) {
    LOCKED;
    NEED(program, PROGRAM, CL_INVALID_PROGRAM);
    cl_device_id device = the_device(__func__);
    cl_uint one = 1;
    size_t size = binary_size(program), kernels = program->kernel_count;
    bool executable = program->status == CL_BUILD_SUCCESS && program->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
    switch (name) {
    case CL_PROGRAM_REFERENCE_COUNT:
        return answer(__func__, &program->object.references, sizeof(cl_uint), room, value, size_ret);
    case CL_PROGRAM_CONTEXT:
        return answer(__func__, &program->context, sizeof program->context, room, value, size_ret);
    case CL_PROGRAM_NUM_DEVICES: return answer(__func__, &one, sizeof one, room, value, size_ret);
    case CL_PROGRAM_DEVICES: return answer(__func__, &device, sizeof device, room, value, size_ret);
    case CL_PROGRAM_SOURCE: return answer_text(__func__, &program->source, room, value, size_ret);
    case CL_PROGRAM_BINARY_SIZES: return answer(__func__, &size, sizeof size, room, value, size_ret);
    case CL_PROGRAM_BINARIES:
        if (value && room < sizeof(void *)) REFUSE(CL_INVALID_VALUE, "room for no pointer");
        if (value && size && *(uint8_t **)value) write_binary(program, *(uint8_t **)value);
        if (size_ret) *size_ret = sizeof(void *);
        return CL_SUCCESS;
    case CL_PROGRAM_NUM_KERNELS:
        if (!executable) REFUSE(CL_INVALID_PROGRAM_EXECUTABLE, "it is not built");
        return answer(__func__, &kernels, sizeof kernels, room, value, size_ret);
    case CL_PROGRAM_KERNEL_NAMES:
        if (!executable) REFUSE(CL_INVALID_PROGRAM_EXECUTABLE, "it is not built");
        return answer_names(__func__, program, room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "programs have no information 0x%x", name);
    }
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info name, size_t room,
    void *value, size_t *size_ret) {
    LOCKED;
    NEED(program, PROGRAM, CL_INVALID_PROGRAM);
    NEED(device, DEVICE, CL_INVALID_DEVICE);
    bool known = program->status == CL_BUILD_SUCCESS || (program->from_binary && program->status == CL_BUILD_NONE);
    cl_program_binary_type type = known ? program->type : CL_PROGRAM_BINARY_TYPE_NONE;
    switch (name) {
    case CL_PROGRAM_BUILD_STATUS:
        return answer(__func__, &program->status, sizeof program->status, room, value, size_ret);
    case CL_PROGRAM_BUILD_OPTIONS: return answer_text(__func__, &program->options, room, value, size_ret);
    case CL_PROGRAM_BUILD_LOG: return answer_text(__func__, &program->log, room, value, size_ret);
    case CL_PROGRAM_BINARY_TYPE: return answer(__func__, &type, sizeof type, room, value, size_ret);
    default: REFUSE(CL_INVALID_VALUE, "builds have no information 0x%x", name);
    }
}
