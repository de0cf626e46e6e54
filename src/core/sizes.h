/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SIZES_H
#define MPKI_SIZES_H
/** A caller's structs: how much of one is there? A caller's arrays: does their end lie in memory at
 *  all, do two of them overlap? */
#include "core.h"

#include <string.h>

/** Read a caller's struct that begins with its size, struct_size: `full`, `known` bytes of
 *  defaults, gets what the caller has of it; its own size stays. A program that was compiled with
 *  an older header has a shorter one.
 *  False, and `full` stays as it is: NULL, or fewer than `least` bytes, which every version has, or
 *  more than any version will have: nobody filled it. */
static inline bool mpki_read_struct(void *full, size_t known, const void *given, size_t least) {
    size_t size = 0;
    if (given) memcpy(&size, given, sizeof size);
    if (size < least || size > 4096) return false;
    memcpy(full, given, size < known ? size : known);
    memcpy(full, &known, sizeof known);
    return true;
}

/** May `columns` columns of `size`-byte entries lie `ld` entries apart? False: the last one
 *  would lie beyond what an address can say, 57 bits. All are at least 0. */
static inline bool mpki_fits(int64_t columns, int64_t ld, size_t size) {
    const int64_t most = (int64_t)1 << 57;
    int64_t entries, bytes;
    return !__builtin_mul_overflow(columns, ld, &entries) &&
           !__builtin_mul_overflow(entries, (int64_t)size, &bytes) && bytes <= most;
}

/** The columns that a call reads and writes. */
typedef struct mpki_sides {
    int64_t n;
    int32_t nrhs;
    size_t size; /* of an entry */
    const void *b;
    int64_t ldb;
    const void *x;
    int64_t ldx;
    bool may_be_same; /* x == b is allowed */
    bool equal_steps; /* and then ldx == ldb is wanted */
} mpki_sides;

/** Are they there, do their leading dimensions fit, do they overlap? Called by the names of
 *  mpk_solve().
 *  Returns MPK_OK | MPK_ERR_ARGUMENT | MPK_ERR_SIZE: an end beyond what an address can say;
 *  recorded. */
mpk_status mpki_check_sides(mpk_context *ctx, const char *stage, const mpki_sides *s);

#endif
