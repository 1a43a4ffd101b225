// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// The arena: memory that host and helper both see, through which the bytes of transfers pass. It is sparse: what is not
// touched takes no memory, and what was large is given back at once.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eddy.h"

#define GRAIN ((size_t)4096)
#define RETURNED ((size_t)1 << 20) // Blocks from this size on go back to the system.

struct block {
    size_t offset, size;
    struct block *next;
};

static struct block *used; // by offset
static uint8_t *base;
static int file = -1;

/// This process has none any more; others that have it keep what is in it.
void arena_leave(void) {
    if (base) munmap(base, ARENA_BYTES);
    if (file >= 0) close(file);
    base = NULL, file = -1;
    while (used) {
        struct block *block = used;
        used = block->next;
        free(block);
    }
}

/// A new arena, for a new helper; blocks of an old one are given back by the commands that took them.
bool arena_make(void) {
    arena_leave();
    int made = (int)syscall(SYS_memfd_create, "eddy-opencl", 1u /* close on exec */);
    file = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, 10); // above the numbers the helper gets it and the socket by
    if (made >= 0) close(made);
    if (file < 0 || ftruncate(file, (off_t)ARENA_BYTES)) return false;
    void *mapped = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (mapped == MAP_FAILED) return false;
    base = mapped;
    return true;
}

int arena_file(void) {
    return file;
}

uint8_t *arena_at(size_t offset) {
    return base + offset;
}

static size_t rounded(size_t size) {
    return (size + GRAIN - 1) / GRAIN * GRAIN;
}

/// Room for so many bytes, the first there is; false where there is none now.
bool arena_take(size_t size, size_t *offset) {
    size = rounded(size ? size : 1);
    struct block **place = &used;
    size_t at = 0;
    for (; *place && (*place)->offset - at < size; place = &(*place)->next) at = (*place)->offset + (*place)->size;
    if (!base || size > ARENA_BYTES || at > ARENA_BYTES - size) return false;
    struct block *block = malloc(sizeof *block);
    if (!block) return false;
    *block = (struct block){at, size, *place};
    *place = block;
    *offset = at;
    return true;
}

void arena_give(size_t offset, size_t size) {
    for (struct block **place = &used; *place; place = &(*place)->next) {
        struct block *block = *place;
        if (block->offset != offset) continue;
        *place = block->next;
        free(block);
        size = rounded(size ? size : 1);
        if (size >= RETURNED) madvise(base + offset, size, MADV_REMOVE);
        return;
    }
}
