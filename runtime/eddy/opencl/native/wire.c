// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// Bytes of frames: little-endian numbers, and texts with their length before them, as `eddy/opencl/wire.py` has them.
#include <stdlib.h>
#include <string.h>

#include "eddy.h"

void put(struct bytes *bytes, const void *data, size_t size) {
    if (bytes->size + size > bytes->room) {
        size_t room = 2 * bytes->room > bytes->size + size ? 2 * bytes->room : bytes->size + size + 64;
        uint8_t *grown = realloc(bytes->data, room);
        if (!grown) abort(); // a few bytes of a frame: the host is beyond help
        bytes->data = grown;
        bytes->room = room;
    }
    if (size) memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void put_u8(struct bytes *bytes, uint8_t value) {
    put(bytes, &value, sizeof value);
}

void put_u32(struct bytes *bytes, uint32_t value) {
    put(bytes, &value, sizeof value);
}

void put_u64(struct bytes *bytes, uint64_t value) {
    put(bytes, &value, sizeof value);
}

void put_text(struct bytes *bytes, const void *text, size_t size) {
    put_u32(bytes, (uint32_t)size);
    put(bytes, text, size);
}

void put_geometry(struct bytes *bytes, const struct geometry *geometry) {
    put_u64(bytes, geometry->offset);
    put_u64(bytes, geometry->width);
    put_u64(bytes, geometry->height);
    put_u64(bytes, geometry->depth);
    put_u64(bytes, geometry->row);
    put_u64(bytes, geometry->slice);
}

void clear(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}

static const void *get(struct reader *reader, size_t size) {
    if ((size_t)(reader->end - reader->at) < size) reader->bad = true;
    if (reader->bad) return NULL;
    const void *at = reader->at;
    reader->at += size;
    return at;
}

uint8_t get_u8(struct reader *reader) {
    const uint8_t *at = get(reader, 1);
    return at ? *at : 0;
}

uint32_t get_u32(struct reader *reader) {
    uint32_t value = 0;
    const void *at = get(reader, sizeof value);
    if (at) memcpy(&value, at, sizeof value);
    return value;
}

uint64_t get_u64(struct reader *reader) {
    uint64_t value = 0;
    const void *at = get(reader, sizeof value);
    if (at) memcpy(&value, at, sizeof value);
    return value;
}

const uint8_t *get_text(struct reader *reader, size_t *size) {
    *size = get_u32(reader);
    const uint8_t *at = get(reader, *size);
    if (!at) *size = 0;
    return at;
}

/// A text of its own, to be freed; never NULL but without memory.
char *get_string(struct reader *reader) {
    size_t size;
    const uint8_t *at = get_text(reader, &size);
    char *text = malloc(size + 1);
    if (!text) return NULL;
    if (size) memcpy(text, at, size);
    text[size] = 0;
    return text;
}
