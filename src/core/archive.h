/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ARCHIVE_H
#define MPKI_ARCHIVE_H
/** A binary file of our own: it begins with what it is and who wrote it, and ends with a checksum
 *  over all before it (docs/reference/formats.md). It appears whole or not at all. What is read may
 *  come from anybody: no length in it is believed before the file is seen to be as long, and what
 *  the numbers mean is for the reader to check. */
#include "core.h"
#include "output.h"

/** Four words that take 32 bytes at a time. A change of any one word changes the result. */
typedef struct mpki_digest {
    uint64_t lane[4];
    uint64_t bytes;
} mpki_digest;
mpki_digest mpki_digest_begin(void);
/** count: a multiple of 32, but for the last call. */
void mpki_digest_add(mpki_digest *d, const void *data, size_t count);
uint64_t mpki_digest_end(const mpki_digest *d);

typedef struct mpki_archive {
    mpk_context *ctx;
    const char *stage, *path;
    enum { MPKI_ARCHIVE_COUNTS, MPKI_ARCHIVE_WRITES, MPKI_ARCHIVE_READS } mode;
    mpki_output output;
    int fd;       /* reads */
    int64_t left; /* reads: bytes from here to the checksum */
    char *buffer;
    size_t used, filled; /* of the buffer */
    mpki_digest digest;
    mpk_status status; /* of the first failure; nothing is done after it */
} mpki_archive;

/** Begin a file. path [in] borrowed until it is closed. Returns MPK_OK | MPK_ERR_FILE, _MEMORY. */
mpk_status mpki_archive_create(mpk_context *ctx, const char *stage, const char *path,
                               mpki_archive *a);
/** Write nothing: mpki_archive_sum() tells what the file would have been. MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_archive_count(mpk_context *ctx, const char *stage, mpki_archive *a);
/** Open a file and see whether this library wrote it. Returns MPK_OK | MPK_ERR_FILE, _MEMORY
 *  | MPK_ERR_FORMAT: no such file at all, or damaged | MPK_ERR_UNSUPPORTED: one of another version
 *  or machine. */
mpk_status mpki_archive_open(mpk_context *ctx, const char *stage, const char *path,
                             mpki_archive *a);

/** count * size bytes to or from the file; false: a failure, now or before. */
bool mpki_archive_put(mpki_archive *a, const void *data, int64_t count, size_t size);
bool mpki_archive_get(mpki_archive *a, void *data, int64_t count, size_t size);
/** A new array from the file, to be released; NULL: a failure. */
void *mpki_archive_array(mpki_archive *a, int64_t count, size_t size);
/** Pass over bytes. */
bool mpki_archive_skip(mpki_archive *a, int64_t bytes);
/** The content cannot be right: what it is, for the text. Returns false. */
bool mpki_archive_damaged(mpki_archive *a, const char *what);

/** Bytes put so far, and a sum of them: of an archive that counts. */
uint64_t mpki_archive_sum(mpki_archive *a, int64_t *bytes);
/** The end: what was written gets its checksum and its name; what was read has to be all there is,
 *  with the right checksum. Nothing is left open. Returns the first failure, recorded. */
mpk_status mpki_archive_finish(mpki_archive *a);
/** Give up, after a failure elsewhere: nothing of a new file is left. Returns the archive's failure,
 *  or what was recorded. */
mpk_status mpki_archive_give_up(mpki_archive *a);

/** Options as the table has them, without pointers. read: those of the caller that are out of range
 *  make the file damaged. */
void mpki_archive_put_options(mpki_archive *a, const mpk_options *options);
bool mpki_archive_get_options(mpki_archive *a, mpk_options *options);

#endif
