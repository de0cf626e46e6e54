/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SIM_VECTOR_SUPPORT_H
#define TESTS_SIM_VECTOR_SUPPORT_H
/** Programs from texts, and arenas whose k-th allocation fails. Behind cmocka.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/vector/sweep.h"

/** An arena and its messages; failing: k > 0: the k-th chunk is refused. */
typedef struct bench {
    borg_arena arena;
    borg_diags diags;
    borg_allocator allocator;
    int left; /* allocations until one fails; < 0: none does */
} bench;

static inline void *bench_alloc(void *self, size_t size) {
    bench *b = self;
    if (b->left == 0) return NULL;
    if (b->left > 0) --b->left;
    return malloc(size);
}

static inline void bench_release(void *self, void *ptr) {
    (void)self;
    free(ptr);
}

static inline void bench_open(bench *b, int failing) {
    memset(b, 0, sizeof *b);
    b->left = failing > 0 ? failing - 1 : -1;
    b->allocator = (borg_allocator){bench_alloc, bench_release, b};
    borg_arena_init(&b->arena, &b->allocator, 0);
    b->diags.arena = &b->arena;
}

static inline void bench_close(bench *b) {
    borg_arena_free(&b->arena);
}

static inline const char *messages_of(bench *b) {
    borg_sink *sink = BORG_NEW(&b->arena, 1, borg_sink);
    sink->arena = &b->arena;
    borg_diags_print(&b->diags, sink);
    return sink->text ? sink->text : "";
}

static inline vr_program *assembled(bench *b, const char *text) {
    vr_program *p = vr_assemble("test.vrptx", text, strlen(text), &b->diags);
    if (!p) fail_msg("%s", messages_of(b));
    return p;
}

/** The text of a file of sim/vector, of at most 64 KiB. */
static inline const char *file_text(bench *b, const char *name) {
    static char text[1 << 16];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", METAPACK_VECTOR, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("no %s", path);
    const size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(length > 0 && length < sizeof text);
    return borg_copy_text(&b->arena, text, length);
}

static inline bool has(const char *text, const char *what) {
    return strstr(text, what) != NULL;
}

#endif
