/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FILES_H
#define TEST_FILES_H
/** Files that were saved, and what can become of them: whole in memory, cut, changed, forged. After
 *  cmocka. */
#include "core/archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** The file of a program of tests, made and removed by its group's setup and teardown. */
static char path[] = "/tmp/metapack-test-XXXXXX";

static int make_file(void **state) {
    (void)state;
    const int fd = mkstemp(path);
    return fd < 0 || close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

static inline bytes bytes_of(const char *path) {
    bytes b = {NULL, 0};
    FILE *file = fopen(path, "rb");
    if (!file) return b;
    fseek(file, 0, SEEK_END);
    b.size = (size_t)ftell(file);
    rewind(file);
    b.data = malloc(b.size + 1);
    if (fread(b.data, 1, b.size, file) != b.size) b.size = 0;
    fclose(file);
    return b;
}

static inline void bytes_write(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) abort();
}

/** The checksum at the end becomes that of what precedes it, as somebody could who means harm. */
static inline void bytes_forge(bytes *b) {
    mpki_digest d = mpki_digest_begin();
    mpki_digest_add(&d, b->data, b->size - sizeof(uint64_t));
    const uint64_t sum = mpki_digest_end(&d);
    memcpy(b->data + b->size - sizeof sum, &sum, sizeof sum);
}

#endif
