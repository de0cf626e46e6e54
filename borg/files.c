/* SPDX-License-Identifier: BSD-3-Clause */
/* Files read and written whole. */
#include "borg/files.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 1 << 16, MOST_BYTES = 1 << 30 };

char *borg_read_all(FILE *file, size_t *length) {
    size_t capacity = FIRST_CHUNK, count = 0;
    char *text = malloc(capacity);
    while (text) {
        size_t got = fread(text + count, 1, capacity - count, file);
        count += got;
        if (got == 0) break;
        if (count < capacity) continue;
        capacity *= 2;
        char *bigger = capacity < (size_t)MOST_BYTES ? realloc(text, capacity) : NULL;
        if (!bigger) {
            free(text);
            errno = capacity < (size_t)MOST_BYTES ? ENOMEM : EFBIG;
            return NULL;
        }
        text = bigger;
    }
    if (text && ferror(file)) {
        free(text);
        return NULL;
    }
    if (!text) return NULL;
    text[count] = 0; /* there is room: a full buffer has grown */
    *length = count;
    return text;
}

/* Measured and closed before the arena is asked, which may leave for its `oom`. */
static long measure(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length > MOST_BYTES) {
        length = -1;
        errno = EFBIG;
    }
    int code = errno;
    fclose(file);
    errno = code;
    return length;
}

static const char *read_file(void *self, borg_arena *arena, const char *path, size_t *length,
                             const char **reason) {
    (void)self;
    errno = 0;
    long size = measure(path);
    if (size >= 0) {
        char *text = borg_alloc(arena, (size_t)size + 1, 1);
        FILE *file = fopen(path, "rb");
        bool good = file && fread(text, 1, (size_t)size, file) == (size_t)size;
        if (file) fclose(file);
        *length = (size_t)size;
        if (good) return text;
    }
    *reason = strerror(errno ? errno : EIO);
    return NULL;
}

const borg_reader borg_file_reader = {read_file, NULL};
