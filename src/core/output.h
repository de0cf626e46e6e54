/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CORE_OUTPUT_H
#define MPKI_CORE_OUTPUT_H
/** A file that appears whole or not at all. A regular file is written without a name, or where the
 *  file system cannot do that under another one, and gets its own at the end; where the folder
 *  takes no new files, what is written is kept aside and copied over the old file at the end. A
 *  device or a pipe is written to directly; a symbolic link stays, and the file that it names is
 *  replaced. A file without any permission to write is never touched, whoever asks. Uses POSIX and
 *  Linux alone, since `metapack` and `borgc` compile it too.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct mpki_output {
    int fd;                   /* to be written to */
    int aside;                /* the old file that fd is copied over at the end, or -1 */
    bool close_fd;            /* false: standard output under another name */
    bool nameless;            /* fd has no name yet */
    char target[PATH_MAX];    /* the name that it takes; empty: written in place */
    char temporary[PATH_MAX]; /* its name until then; empty: none */
} mpki_output;

/** Could `path` be written to? Nothing is created or changed. text [out] size bytes: why not, a
 *  sentence to stand behind the name. Returns 0 or an errno. */
int mpki_output_look(const char *path, char *text, size_t size);

/** Are they one file, by whatever names and links, there already or not? "-" is standard output,
 *  as `other` of what is read (`reads`) standard input. Of devices never. */
bool mpki_output_same(const char *output, const char *other, bool reads);

/** Bytes that its disk has free for `path`; infinite where it is no file, or nobody can tell. */
double mpki_output_room(const char *path);

/** Open for writing. Returns 0, or an errno with nothing left open and nothing created; after EINTR
 * it may be called again. */
int mpki_output_open(mpki_output *output, const char *path);

/** Write all `size` bytes, also across signals. Returns 0 or an errno. */
int mpki_output_write(mpki_output *output, const void *data, size_t size);

/** Close. keep: the file gets its name; otherwise, or if that fails, nothing of it is left and the
 *  old file stays. Returns 0 or an errno. */
int mpki_output_close(mpki_output *output, bool keep);

#endif
