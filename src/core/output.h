/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CORE_OUTPUT_H
#define MPKI_CORE_OUTPUT_H
/** A file that appears whole or not at all. A regular file is written under another name and
 *  renamed at the end; a device or a pipe is written to directly; a symbolic link stays, and the
 *  file that it names is replaced. Uses POSIX alone, since `metapack` and `borgc` compile it too.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct mpki_output {
    int fd;                   /* to be written to */
    bool close_fd;            /* false: standard output under another name */
    char target[PATH_MAX];    /* the name that it takes; empty: written in place */
    char temporary[PATH_MAX]; /* its name until then */
} mpki_output;

/** Open for writing. Returns 0, or an errno with nothing left open and nothing created; after EINTR
 * it may be called again. */
int mpki_output_open(mpki_output *output, const char *path);

/** Write all `size` bytes, also across signals. Returns 0 or an errno. */
int mpki_output_write(mpki_output *output, const void *data, size_t size);

/** Close. keep: the file gets its name; otherwise, or if that fails, the temporary file is removed
 *  and the old file stays. Returns 0 or an errno. */
int mpki_output_close(mpki_output *output, bool keep);

#endif
