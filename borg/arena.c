/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that a compilation frees as a whole, and text that grows in it. */
#include "borg/arena.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 16, ALIGNMENT = 16 };

struct borg_chunk {
    struct borg_chunk *next;
    size_t size, used;
};

static size_t header_bytes(void) {
    return (sizeof(struct borg_chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void borg_arena_init(borg_arena *arena, const borg_allocator *allocator, size_t limit_bytes) {
    memset(arena, 0, sizeof *arena);
    arena->allocator = allocator;
    arena->limit_bytes = limit_bytes;
}

void borg_arena_free(borg_arena *arena) {
    struct borg_chunk *chunk = arena->chunks;
    while (chunk) {
        struct borg_chunk *next = chunk->next;
        if (arena->allocator) {
            arena->allocator->release(arena->allocator->self, chunk);
        } else {
            free(chunk);
        }
        chunk = next;
    }
    arena->chunks = NULL;
    arena->used_bytes = 0;
}

static struct borg_chunk *new_chunk(borg_arena *arena, size_t size) {
    size_t total = header_bytes() + size;
    if (arena->limit_bytes && arena->used_bytes + total > arena->limit_bytes)
        longjmp(arena->oom, 1);
    struct borg_chunk *chunk =
        arena->allocator ? arena->allocator->alloc(arena->allocator->self, total) : malloc(total);
    if (!chunk) longjmp(arena->oom, 1);
    chunk->size = size;
    chunk->used = 0;
    arena->used_bytes += total;
    /* a big block does not become the current chunk: the rest of that one would be lost */
    if (size > CHUNK_BYTES && arena->chunks) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    return chunk;
}

void *borg_alloc(borg_arena *arena, size_t count, size_t size) {
    if (size && count > (SIZE_MAX - 64) / 4 / size) longjmp(arena->oom, 1);
    size_t bytes = (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct borg_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size - chunk->used < bytes)
        chunk = new_chunk(arena, bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES);
    void *ptr = (char *)chunk + header_bytes() + chunk->used;
    chunk->used += bytes;
    return memset(ptr, 0, bytes);
}

char *borg_copy_text(borg_arena *arena, const char *text, size_t length) {
    char *copy = borg_alloc(arena, length + 1, 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *borg_format(borg_arena *arena, const char *format, ...) {
    borg_sink sink = {.arena = arena};
    va_list arguments;
    va_start(arguments, format);
    borg_vput(&sink, format, arguments);
    va_end(arguments);
    return sink.text ? sink.text : borg_copy_text(arena, "", 0);
}

void *borg_grow(borg_arena *arena, void *array, size_t count, size_t *capacity, size_t size) {
    if (count <= *capacity) return array;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted < count) wanted = count;
    void *bigger = borg_alloc(arena, wanted, size);
    if (*capacity) memcpy(bigger, array, *capacity * size);
    *capacity = wanted;
    return bigger;
}

void borg_put_text(borg_sink *sink, const char *text, size_t length) {
    sink->text = borg_grow(sink->arena, sink->text, sink->length + length + 1, &sink->capacity, 1);
    if (length) memcpy(sink->text + sink->length, text, length);
    sink->length += length;
    sink->text[sink->length] = 0;
}

void borg_vput(borg_sink *sink, const char *format, va_list arguments) {
    char small[512];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(small, sizeof small, format, arguments);
    if (length >= 0 && (size_t)length < sizeof small) {
        borg_put_text(sink, small, (size_t)length);
    } else if (length >= 0) {
        char *big = borg_alloc(sink->arena, (size_t)length + 1, 1);
        vsnprintf(big, (size_t)length + 1, format, again);
        borg_put_text(sink, big, (size_t)length);
    }
    va_end(again);
}

void borg_put(borg_sink *sink, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    borg_vput(sink, format, arguments);
    va_end(arguments);
}
