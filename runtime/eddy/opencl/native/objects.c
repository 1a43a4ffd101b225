// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Objects: which are alive, who holds them, and where their memory goes afterwards.
#include <stdlib.h>
#include <string.h>

#include "eddy.h"

#define QUARANTINE 1024 // Objects of a kind that are dead this long before their memory is used again.

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct object **table; // open addressing; a power of two of places
static size_t places, taken;
static struct { struct object *first, *last; size_t count; } dead[KINDS];
static const struct object gone; // marks a place that was taken

int enter(void) {
    return pthread_mutex_lock(&lock);
}

void leave(int *guard) {
    (void)guard;
    pthread_mutex_unlock(&lock);
}

static size_t place_of(const void *handle) {
    uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9E3779B97F4A7C15u;
    return (size_t)(mixed >> 20) & (places - 1);
}

static void insert(struct object *object) {
    size_t at = place_of(object);
    while (table[at] && table[at] != &gone) at = (at + 1) & (places - 1);
    if (!table[at]) taken++;
    table[at] = object;
}

static bool grow(void) {
    if (2 * (taken + 1) < places) return true;
    struct object **old = table;
    size_t count = places, live = 0;
    for (size_t at = 0; at < count; at++) live += old[at] && old[at] != &gone;
    size_t wanted = places ? places : 256;
    while (4 * live >= wanted) wanted *= 2;
    struct object **made = calloc(wanted, sizeof *made);
    if (!made) return false;
    table = made, places = wanted, taken = 0;
    for (size_t at = 0; at < count; at++)
        if (old[at] && old[at] != &gone) insert(old[at]);
    free(old);
    return true;
}

static size_t find(const void *handle) {
    if (!handle || !places) return places;
    for (size_t at = place_of(handle); table[at]; at = (at + 1) & (places - 1))
        if (table[at] == handle) return at;
    return places;
}

/// Whether a handle is an object of this kind, though the host may have released it. Any pointer may be asked for.
bool is_there(const void *handle, enum kind kind) {
    size_t at = find(handle);
    return at < places && table[at]->kind == kind;
}

/// Whether a handle is an object of this kind that the host holds. Any pointer may be asked for.
bool is_live(const void *handle, enum kind kind) {
    return is_there(handle, kind) && ((const struct object *)handle)->references > 0;
}

/// A new object that the host holds once; NULL without memory. `size` is the same for all of a kind.
void *make_object(enum kind kind, size_t size) {
    if (!grow()) return NULL;
    struct object *object = NULL;
    if (dead[kind].count > QUARANTINE) {
        object = dead[kind].first;
        dead[kind].first = object->next;
        dead[kind].count--;
        memset((char *)object + sizeof object->dispatch, 0, size - sizeof object->dispatch);
    } else {
        object = calloc(1, size);
    }
    if (!object) return NULL;
    object->dispatch = dispatch_table;
    object->kind = kind;
    object->references = 1;
    insert(object);
    return object;
}

static void bury(struct object *object) {
    size_t at = find(object);
    if (at < places) table[at] = (struct object *)&gone;
    object->next = NULL;
    if (dead[object->kind].count++) dead[object->kind].last->next = object;
    else dead[object->kind].first = object;
    dead[object->kind].last = object;
}

static void end_if_unheld(struct object *object) {
    if (object->references || object->uses) return;
    object->uses = 1; // what is destroyed with it may hold and drop it
    destroy_object(object);
    object->uses = 0;
    bury(object);
}

/// Gives up what an object holds.
void destroy_object(struct object *object) {
    switch (object->kind) {
    case CONTEXT: destroy_context((cl_context)object); break;
    case QUEUE: destroy_queue((cl_command_queue)object); break;
    case MEMORY: destroy_memory((cl_mem)object); break;
    case SAMPLER: destroy_sampler((cl_sampler)object); break;
    case PROGRAM: destroy_program((cl_program)object); break;
    case KERNEL: destroy_kernel((cl_kernel)object); break;
    case EVENT: destroy_event((cl_event)object); break;
    default: break;
    }
}

void hold(void *object) {
    if (object) ((struct object *)object)->uses++;
}

void drop(void *pointer) {
    struct object *object = pointer;
    if (!object) return;
    object->uses--;
    end_if_unheld(object);
}

cl_int retain(const char *function, void *handle, enum kind kind, cl_int code) {
    if (!is_live(handle, kind)) return refuse(function, code, "%p is not a live object", handle);
    ((struct object *)handle)->references++;
    return CL_SUCCESS;
}

cl_int release(const char *function, void *handle, enum kind kind, cl_int code) {
    if (!is_live(handle, kind)) return refuse(function, code, "%p is not a live object", handle);
    struct object *object = handle;
    object->references--;
    end_if_unheld(object);
    return CL_SUCCESS;
}

/// What a query returns: `size` bytes to where the host wants them.
cl_int answer(const char *function, const void *data, size_t size, size_t room, void *value, size_t *size_ret) {
    if (value && room < size)
        return refuse(function, CL_INVALID_VALUE, "the answer takes %zu bytes and there is room for %zu", size, room);
    if (value && size) memcpy(value, data, size);
    if (size_ret) *size_ret = size;
    return CL_SUCCESS;
}
