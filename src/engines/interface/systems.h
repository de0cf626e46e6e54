/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_SYSTEMS_H
#define MPKI_INTERFACE_SYSTEMS_H
/** What a device's engine offers for many sparse systems of one pattern. systems/device.c checks
 *  all arguments, says which systems are at work, and takes up those that the engine leaves. What
 *  the processor does is systems/ itself. A system has the same bits whatever the others are.
 *
 *  A slot that fails records why with mpki_error(). One thread at a time for each context. */
#include "engines/interface/views.h"
#include <metapack/batch.h>

/** How all systems are done: arrays in host memory, borrowed while an object is made. */
typedef struct mpki_systems_view {
    mpki_tree_view tree; /* fronts whose pivots have an order and pairs that are kept */
    const int64_t *l;    /* nsuper + 1: where columns of L of each front begin, in entries */
    const int64_t *c;    /* nsuper: where what it contributes begins */
    int64_t contributions;
    const char *pair;      /* n, by position: 1, 2: first, second of a 2x2 pivot; 0: 1x1 */
    const double *matched; /* n, or NULL: scaling of a matching */
    /* stored value k is the sum of the caller's gather[gather_ptr[k]] .. gather[gather_ptr[k+1]-1];
     * those from number gather_mirror[k] on lie in the other triangle. NULL: the caller's k-th */
    const int32_t *gather_ptr, *gather_mirror, *gather;
    /* of entries with both sums: a difference up to this times the larger is rounding, and their
     * mean is taken */
    double symmetry_noise;
    int64_t given; /* values that the caller has */
} mpki_systems_view;

/** What became of a system. */
typedef struct mpki_system_found {
    bool good;     /* its pivots passed the rules */
    bool infinite; /* a value is not finite: there are no factors */
    bool differ;   /* its triangles differ, or a Hermitian diagonal is not real: likewise */
    bool bad_b;    /* b is not finite */
    bool solved; /* x was written; else, without bad_b, the solution is not accurate or in doubt */
    int32_t positive, negative, two_by_two, steps;
    double growth, min_pivot, norm_inf; /* of a factorization */
    double omega, normwise;             /* of a refined solve, the worst of its columns */
    double logdet[3];
} mpki_system_found;

/** A call: what is done with the systems of a list. */
typedef struct mpki_many_call {
    int64_t count;
    const int64_t *slot, *place;       /* count: of the arrays; of the object */
    bool factor, solve, bare, certify; /* certify: x := A^-1 (-A b) of one column, alone */
    int32_t nrhs;
    int64_t slots;                     /* systems of the arrays */
    const mpk_batch_array *ax, *b, *x; /* in host memory, or in the device's */
    double bound, small, noise;        /* rules of pivots: lanes.h */
    double left; /* of its larger product the determinant of a 2x2 pivot has at least this share */
    double accuracy, large_growth; /* of solutions */
    int32_t refine;                /* steps at most */
    mpki_system_found *found;      /* [out] count; not for certify */
} mpki_many_call;

/** What of a system an engine can be asked for: n reals, 2 n entries, nnz entries. */
typedef enum mpki_system_part {
    MPKI_SYSTEM_SCALE,
    MPKI_SYSTEM_D,
    MPKI_SYSTEM_VALUES
} mpki_system_part;

typedef struct mpki_many mpki_many; /* an engine's object */

typedef struct mpki_systems_engine {
    /** MPK_OK | MPK_ERR_MEMORY, _DEVICE | MPK_ERR_UNSUPPORTED: the fronts are too large */
    mpk_status (*make)(mpk_context *ctx, const mpki_systems_view *view, mpki_many **out);
    void (*free)(mpk_context *ctx, mpki_many *many);
    /** Places 0 .. count - 1; those that are there stay. MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    mpk_status (*grow)(mpk_context *ctx, mpki_many *many, int64_t count);
    /** MPK_OK | MPK_ERR_MEMORY, _DEVICE: factors of a call that factorizes are undefined */
    mpk_status (*run)(mpk_context *ctx, mpki_many *many, const mpki_many_call *call);
    /** A part of the system at a place, to host memory. MPK_OK | MPK_ERR_DEVICE */
    mpk_status (*fetch)(mpk_context *ctx, const mpki_many *many, int64_t place,
                        mpki_system_part part, void *out);
    /** Does p lie in the device's memory? */
    bool (*is_here)(mpk_context *ctx, const void *p);
    /** Until all work that was queued on the device, in whatever stream, is done; before arrays that
     *  lie there are read. MPK_OK | MPK_ERR_DEVICE */
    mpk_status (*settle)(mpk_context *ctx);
    /** rows x cols of a slot of a device's array, to host memory (columns `rows` apart), or back.
     *  MPK_OK | MPK_ERR_DEVICE */
    mpk_status (*move)(mpk_context *ctx, mpk_scalar scalar, const mpk_batch_array *array,
                       int64_t slot, int64_t rows, int64_t cols, void *host, bool to_device);
    int64_t (*bytes)(const mpki_many *many);
} mpki_systems_engine;

/** The engine of a CUDA device, where the build has one (MPKI_HAVE_CUDA). NULL, with MPK_ERR_DEVICE
 *  and the reason recorded: no module, no driver, no such device. */
const mpki_systems_engine *mpki_cuda_systems_engine(mpk_context *ctx, int device);

#endif
