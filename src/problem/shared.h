/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_SHARED_H
#define MPKI_PROBLEM_SHARED_H
/** What a problem, its analyses and their factors hold together: the pattern and the values.
 * Neither changes while more than one of them holds it. */
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
    void *place;               /* given places (given.c); NULL: value k is entry k */
    bool wide;                 /* places of 64 bits */
    bool duplicates;           /* several values may meet in a place */
    double symmetry_tolerance; /* of values from both triangles (law.h) */
} mpki_layout;

/** Take over ap and ai (memory of ctx), with one holder and no map. NULL: MPK_ERR_MEMORY, and they
 *  are still the caller's. */
mpki_layout *mpki_layout_new(mpk_context *ctx, const char *stage, int32_t n, int64_t nnz,
                             int64_t *ap, int32_t *ai);
/** One more holder; in another context a copy, as contexts end when they like. NULL:
 *  MPK_ERR_MEMORY. */
mpki_layout *mpki_layout_share(mpk_context *ctx, const char *stage, mpki_layout *layout);
/** One holder less; the last one frees. *layout becomes NULL, which is fine before, too. */
void mpki_layout_release(mpki_layout **layout);

/** Values in the order of the layout's ai. */
typedef struct mpki_values {
    mpk_context *ctx;
    _Atomic int holders;
    int64_t bytes;
    void *ax; /* bytes */
} mpki_values;

/** With one holder, not set; NULL: MPK_ERR_MEMORY. */
mpki_values *mpki_values_new(mpk_context *ctx, const char *stage, int64_t bytes);
/** With one holder, around memory of ctx, which is taken over. NULL: as mpki_layout_new. */
mpki_values *mpki_values_take(mpk_context *ctx, const char *stage, int64_t bytes, void *ax);
mpki_values *mpki_values_share(mpk_context *ctx, const char *stage, mpki_values *values);
/** Nobody else sees what is written into them. */
bool mpki_values_own(const mpki_values *values);
void mpki_values_release(mpki_values **values);

#endif
