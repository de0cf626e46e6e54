/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_ARENA_H
#define BORG_ARENA_H
/** Memory of a compilation: pools that are freed as a whole, and text that grows. Passes free
 *  nothing.
 *
 *  An allocation never returns NULL: when memory runs out, or the arena's limit is passed, control
 *  goes to the arena's `oom` by longjmp. The driver (and the interpreter) set it; a caller with an
 *  arena of its own sets it before the first allocation:
 *  if (setjmp(arena.oom)) { borg_arena_free(&arena); return BORG_ERR_MEMORY; } */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Where arenas get their chunks; NULL = malloc and free. */
typedef struct borg_allocator {
    void *(*alloc)(void *self, size_t size); /* NULL: no memory */
    void (*release)(void *self, void *ptr);
    void *self;
} borg_allocator;

typedef struct borg_arena {
    struct borg_chunk *chunks;
    const borg_allocator *allocator; /* borrowed; NULL = malloc */
    size_t used_bytes, limit_bytes;  /* limit 0 = none */
    jmp_buf oom;
} borg_arena;

void borg_arena_init(borg_arena *arena, const borg_allocator *allocator, size_t limit_bytes);
void borg_arena_free(borg_arena *arena);
/** count * size zeroed bytes, aligned to 16. */
void *borg_alloc(borg_arena *arena, size_t count, size_t size);
/** A copy of `length` bytes, followed by a NUL. */
char *borg_copy_text(borg_arena *arena, const char *text, size_t length);
char *borg_format(borg_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Grow an array in the arena: returns `array` or a bigger copy; *capacity is updated. */
void *borg_grow(borg_arena *arena, void *array, size_t count, size_t *capacity, size_t size);

#define BORG_NEW(arena, count, type) ((type *)borg_alloc((arena), (size_t)(count), sizeof(type)))

/** Text that grows in an arena: what backends and printers write to. */
typedef struct borg_sink {
    borg_arena *arena;
    char *text; /* NUL-terminated once something was written, else NULL */
    size_t length, capacity;
} borg_sink;

void borg_put(borg_sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));
void borg_vput(borg_sink *sink, const char *format, va_list arguments);
void borg_put_text(borg_sink *sink, const char *text, size_t length);

#endif
