// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// What the files of the platform share: objects and their life, the channel to the helper, commands.
//
// One lock guards everything (`LOCKED` in each entry point). A handle is looked up before it is followed, so a wild or
// released one gives the standard's code; released objects keep their dispatch pointer and are used again late, so that
// the loader, which follows it without asking, meets no freed memory.
#ifndef EDDY_OPENCL_H
#define EDDY_OPENCL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cl.h"

enum kind { PLATFORM, DEVICE, CONTEXT, QUEUE, MEMORY, SAMPLER, PROGRAM, KERNEL, EVENT, KINDS };

/// What every object begins with. `references` are the host's, `uses` our own; it ends when both are 0.
struct object {
    const void *const *dispatch;
    enum kind kind;
    cl_uint references;
    cl_uint uses;
    struct object *next;
};

/// Bytes that grow.
struct bytes {
    uint8_t *data;
    size_t size, room;
};

/// Bytes that are read, and whether they ended too soon.
struct reader {
    const uint8_t *at, *end;
    bool bad;
};

/// Rows in layers: a region of a buffer or an image, in bytes.
struct geometry {
    size_t offset, width, height, depth, row, slice;
};

struct info {
    cl_uint name;
    size_t size;
    const void *data;
};

struct _cl_platform_id { struct object object; };

struct _cl_device_id {
    struct object object;
    struct bytes description;
    struct info *infos;
    size_t count;
    size_t group_limit, alignment, allocation_limit, image_limit, image3d_limit, array_limit, image_buffer_limit;
    size_t local_bytes;
    bool images;
};

struct _cl_context {
    struct object object;
    uint64_t id;
    uint32_t generation;
    cl_context_properties properties[5];
    size_t property_count;
    void (*notify)(const char *, const void *, size_t, void *);
    void *user_data;
};

struct _cl_command_queue {
    struct object object;
    cl_context context;
    cl_command_queue_properties properties;
    cl_event last;             // of an in-order queue, or its last barrier
    cl_event pending, *pending_end; // commands that have not ended, oldest first
};

struct mapping {
    void *pointer;
    bool ours, mapped;
    cl_event command; // that maps it
    cl_map_flags flags;
    struct geometry device, host;
    struct mapping *next;
};

struct destructor {
    void (*notify)(cl_mem, void *);
    void *user_data;
    struct destructor *next;
};

struct _cl_mem {
    struct object object;
    cl_context context;
    cl_mem parent;
    uint64_t id;   // of the storage, the parent's where there is one
    size_t origin; // in the storage
    size_t size;
    cl_mem_flags flags;
    cl_mem_object_type type;
    void *host;
    cl_image_format format;
    cl_image_desc image;
    size_t element;
    struct mapping *mappings;
    cl_uint map_count;
    struct destructor *destructors;
};

struct _cl_sampler {
    struct object object;
    cl_context context;
    cl_bool normalized;
    cl_addressing_mode addressing;
    cl_filter_mode filter;
};

enum argument_kind { VALUE, GLOBAL_POINTER, CONSTANT_POINTER, LOCAL_POINTER, IMAGE, SAMPLER_VALUE };

struct argument_info {
    uint8_t kind;
    uint32_t size, address, access;
    uint64_t qualifiers;
    char *type, *name;
};

struct kernel_info {
    char *name, *attributes;
    uint64_t group_size, required[3], local_bytes, private_bytes, multiple;
    struct argument_info *arguments;
    uint32_t count;
};

struct _cl_program {
    struct object object;
    cl_context context;
    uint64_t id;
    struct bytes source, options, log, units;
    uint32_t unit_count;
    cl_build_status status;
    cl_program_binary_type type;
    bool from_binary;
    struct kernel_info *kernels;
    uint32_t kernel_count;
    cl_uint kernel_objects;
};

struct argument {
    bool set;
    struct bytes value;
    cl_mem memory;
    cl_sampler sampler;
    size_t local_bytes;
};

struct _cl_kernel {
    struct object object;
    cl_program program;
    struct kernel_info *info;
    struct argument *arguments;
};

struct callback {
    void (*notify)(cl_event, cl_int, void *);
    cl_int status;
    void *user_data;
    struct callback *next;
};

/// An event, and the command it is of until that has ended.
struct _cl_event {
    struct object object;
    uint64_t id;
    cl_context context;
    cl_command_queue queue;
    cl_command_type type;
    cl_int status;
    cl_ulong times[4];
    struct callback *callbacks;
    cl_event *after; // the host's first, `explicit_count` of them, then what the queue adds
    size_t after_count, explicit_count;
    bool sent;  // or, of a local one, everything before it was
    bool local; // nothing for the helper to do
    uint32_t operation;
    struct bytes frame;
    struct object **held;
    size_t held_count;
    bool transfer;
    size_t block, block_size;
    void *target;             // where bytes that were read go
    const void *source;       // or where those are that are to be written, until it is sent
    struct geometry rows;     // of either
    struct mapping *mapping;  // to be ended with this command
    cl_event next_waiting, next_pending, next_walked;
    uint64_t walk; // the last search for what to wait for that met it
};

// objects.c
extern pthread_mutex_t lock;
extern pthread_cond_t changed;
extern const void *const dispatch_table[];
int enter(void);
void leave(int *guard);
#define LOCKED int guard __attribute__((cleanup(leave), unused)) = enter()
void *make_object(enum kind kind, size_t size);
bool is_there(const void *handle, enum kind kind);
bool is_live(const void *handle, enum kind kind);
void hold(void *object);
void drop(void *object);
cl_int retain(const char *function, void *handle, enum kind kind, cl_int code);
cl_int release(const char *function, void *handle, enum kind kind, cl_int code);
void destroy_object(struct object *object);
cl_int answer(const char *function, const void *data, size_t size, size_t room, void *value, size_t *size_ret);

// log.c
cl_int refuse(const char *function, cl_int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void *refuse_null(const char *function, cl_int *errcode_ret, cl_int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define REFUSE(...) return refuse(__func__, __VA_ARGS__)
#define REFUSE_NULL(...) return refuse_null(__func__, errcode_ret, __VA_ARGS__)
#define CHECK(call) \
    do { \
        cl_int checked = (call); \
        if (checked) return checked; \
    } while (0)
#define NEED(handle, KIND, code) \
    if (!is_live(handle, KIND)) REFUSE(code, #handle " %p is not a live object", (void *)(handle))
#define NEED_OR_NULL(handle, KIND, code) \
    if (!is_live(handle, KIND)) REFUSE_NULL(code, #handle " %p is not a live object", (void *)(handle))

// wire.c
void put(struct bytes *bytes, const void *data, size_t size);
void put_u8(struct bytes *bytes, uint8_t value);
void put_u32(struct bytes *bytes, uint32_t value);
void put_u64(struct bytes *bytes, uint64_t value);
void put_text(struct bytes *bytes, const void *text, size_t size);
void put_geometry(struct bytes *bytes, const struct geometry *geometry);
void clear(struct bytes *bytes);
uint8_t get_u8(struct reader *reader);
uint32_t get_u32(struct reader *reader);
uint64_t get_u64(struct reader *reader);
const uint8_t *get_text(struct reader *reader, size_t *size);
char *get_string(struct reader *reader);

// channel.c; `operation`s are those of `eddy/opencl/wire.py`
enum operation {
    HELLO = 1, CONTEXT_OPEN, CONTEXT_CLOSE, BUFFER_CREATE, BUFFER_FREE, PROGRAM_BUILD, PROGRAM_FREE,
    DEVICE_OPEN, DEVICE_WRITE, DEVICE_READ, DEVICE_FILL, DEVICE_START, DEVICE_WAIT,
    WRITE = 16, READ, COPY, FILL, LAUNCH,
    REPLY = 32, ENDED, PRINTED,
};
uint32_t channel_open(const char *function);
bool channel_lives(uint32_t generation);
bool send_frame(uint32_t operation, uint64_t tag, const struct bytes *body);
cl_int call_helper(const char *function, uint32_t operation, struct bytes *body, struct bytes *reply);
uint64_t next_id(void);

// arena.c
bool arena_make(void);
void arena_leave(void);
int arena_file(void);
bool arena_take(size_t size, size_t *offset);
void arena_give(size_t offset, size_t size);
uint8_t *arena_at(size_t offset);
#define ARENA_BYTES ((size_t)2 << 30)

// events.c
cl_int check_enqueue(const char *function, cl_command_queue queue, cl_uint count, const cl_event *list);
cl_event new_command(cl_command_queue queue, cl_command_type type, uint32_t operation);
void command_holds(cl_event command, void *object);
void waits_for(cl_event command, cl_event event);
cl_int submit(cl_event command, cl_uint count, const cl_event *list, cl_event *event_ret, cl_bool blocking);
void advance(void);
void end_event(cl_event event, cl_int status);
void command_ended(uint64_t id, cl_int status, const cl_ulong *times, const char *message);
void fail_all(const char *reason);
bool any_sent(void);
cl_int wait_for(cl_event event);
void destroy_event(cl_event event);
cl_int add_callback(cl_event event, void (*notify)(cl_event, cl_int, void *), cl_int status, void *user_data);

// callbacks.c
void call_later(void (*function)(void *), void *argument);
void leave_callbacks(bool failed);

// transfers.c
cl_int enqueue_write(const char *function, cl_command_queue queue, cl_command_type type, cl_mem memory,
    const struct geometry *device, const struct geometry *host, const void *pointer, cl_uint count,
    const cl_event *list, cl_event *event, cl_bool blocking);
cl_int enqueue_read(const char *function, cl_command_queue queue, cl_command_type type, cl_mem memory,
    const struct geometry *device, const struct geometry *host, void *pointer, cl_uint count,
    const cl_event *list, cl_event *event, cl_bool blocking);
cl_int enqueue_copy(const char *function, cl_command_queue queue, cl_command_type type, cl_mem source,
    const struct geometry *from, cl_mem target, const struct geometry *to, cl_uint count, const cl_event *list,
    cl_event *event);
cl_int enqueue_fill(const char *function, cl_command_queue queue, cl_command_type type, cl_mem memory,
    const struct geometry *device, const void *pattern, size_t pattern_size, cl_uint count, const cl_event *list,
    cl_event *event);
bool wait_for_room(size_t size, size_t *block);
cl_int check_memory(const char *function, cl_command_queue queue, cl_mem memory, bool image);
void copy_rows(uint8_t *to, const struct geometry *there, const uint8_t *from, const struct geometry *here);
struct geometry flat(size_t offset, size_t size);
struct geometry packed(const struct geometry *rows);
size_t extent_of(const struct geometry *geometry);

// memory.c, images.c
void destroy_memory(cl_mem memory);
cl_int check_flags(const char *function, cl_mem_flags flags, const void *host_ptr);
cl_mem make_storage(const char *function, cl_context context, cl_mem_flags flags, size_t size, void *host,
    const struct geometry *host_rows, cl_int *errcode_ret);
size_t element_bytes(const cl_image_format *format);
cl_int image_geometry(const char *function, cl_mem image, const size_t *origin, const size_t *region,
    struct geometry *geometry);
cl_int host_geometry(const char *function, cl_mem image, const size_t *region, size_t row_pitch, size_t slice_pitch,
    struct geometry *geometry);

// maps.c
void *map_region(const char *function, cl_command_queue queue, cl_command_type type, cl_mem memory, cl_map_flags flags,
    const struct geometry *device, const struct geometry *host, cl_uint count, const cl_event *list, cl_event *event,
    cl_bool blocking, cl_int *errcode_ret);
void end_mapping(cl_mem memory, struct mapping *mapping);

// the rest
cl_context only_context(cl_context context);
cl_device_id the_device(const char *function);
void destroy_context(cl_context context);
void destroy_queue(cl_command_queue queue);
void destroy_sampler(cl_sampler sampler);
void destroy_program(cl_program program);
void destroy_kernel(cl_kernel kernel);

#endif
