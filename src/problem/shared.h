/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_SHARED_H
#define MPKI_PROBLEM_SHARED_H
/** The pattern and the values, which a problem shares with its analyses and their factors. Each
 *  counts its holders and does not change while it has more than one. */
#include "../core/core.h"
#include <metapack/problem.h>

/** The pattern, and the way from the values that the caller gives to those that are stored. */
typedef struct mpki_layout {
    mpk_context *ctx; /* whose memory it is */
    _Atomic int holders;
    int32_t n;
    int64_t nnz;
    int64_t *ap; /* n + 1 */
    int32_t *ai; /* nnz */
    mpk_triangle triangle;
    int64_t given;             /* values that the caller gives; nnz where there is no map */
    void *place;               /* of each given value (given.h); NULL: value k is entry k */
    bool wide;                 /* places of 64 bits */
    bool duplicates;           /* several values may meet in a place */
    double symmetry_tolerance; /* of values from both triangles (law.h); below 0: the default */
} mpki_layout;

/** Take over ap and ai (memory of ctx), with one holder and no map. NULL: MPK_ERR_MEMORY, and they
 *  are still the caller's. */
mpki_layout *mpki_layout_new(mpk_context *ctx, const char *stage, int32_t n, int64_t nnz,
                             int64_t *ap, int32_t *ai);
/** One more holder; for another context a copy, since either context may be destroyed first. NULL:
 *  MPK_ERR_MEMORY. */
mpki_layout *mpki_layout_share(mpk_context *ctx, const char *stage, mpki_layout *layout);
/** One holder less; the last one frees. *layout becomes NULL; it may be NULL before. */
void mpki_layout_release(mpki_layout **layout);

/** Values in the order of the layout's ai. */
typedef struct mpki_values {
    mpk_context *ctx;
    _Atomic int holders;
    int64_t bytes;
    void *ax;               /* bytes */
    struct mpki_skew *skew; /* what the given triangles differ by (skew.h); NULL: nothing */
} mpki_values;

/** With one holder, not set; NULL: MPK_ERR_MEMORY. */
mpki_values *mpki_values_new(mpk_context *ctx, const char *stage, int64_t bytes);
/** With one holder, around memory of ctx, which is taken over. NULL: as mpki_layout_new. */
mpki_values *mpki_values_take(mpk_context *ctx, const char *stage, int64_t bytes, void *ax);
mpki_values *mpki_values_share(mpk_context *ctx, const char *stage, mpk_scalar scalar,
                               mpki_values *values);
/** Is there one holder, so that nobody else sees what is written into them? */
bool mpki_values_own(const mpki_values *values);
void mpki_values_release(mpki_values **values);

#endif
