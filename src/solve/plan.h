/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PLAN_H
#define MPKI_PLAN_H
/** Who solves which right-hand sides. */
#include "judge.h"
#include <metapack/solve.h>

/** The nrhs right-hand sides from `first` on, of the `all` that the caller has; b and x point to
 *  number `first`. */
typedef struct mpki_columns {
    mpk_context *ctx;
    const mpk_factor *fac;
    const mpk_options *options; /* resolved */
    int32_t first, nrhs, all;
    const char *b;
    char *x;
    int64_t ldb, ldx;
    bool transposed; /* A^T x = b, of a general matrix */
} mpki_columns;

/** The engine takes the columns until one that it cannot do, the host all that are left. */
typedef struct mpki_plan {
    int32_t by_engine;     /* columns that the engine is asked to refine: all or 0 */
    bool blocks;           /* in several blocks of columns, each done whole or not at all; so x of
                              the first is written before b of the last is read */
    bool keeps_b;          /* b == x, and the engine cannot put b back: work from a copy */
    bool iterates;         /* the host: by a Krylov method; else by refinement */
    bool b_there, x_there; /* they lie in the memory of the engine's device */
} mpki_plan;

mpki_plan mpki_plan_of(const mpki_columns *c);

/** What the solutions found so far are worth, by engine or host. */
typedef struct mpki_found {
    mpk_solve_info info; /* the worst of all */
    mpki_verdict verdict;
} mpki_found;

/** From the k-th of these columns on. */
mpki_columns mpki_columns_from(const mpki_columns *c, int32_t k);
/** Is b, in host memory, finite? MPK_OK | MPK_ERR_INPUT */
mpk_status mpki_check_finite(const mpki_columns *c);

/** Refined by the engine, some at a time.
 *  done [out] how many: columns 0 .. done - 1. Column `done`, if there is one, has to go through
 *             the host; b from there on is unchanged
 *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE, _CANCELLED */
mpk_status mpki_refine_on_engine(const mpki_columns *c, mpki_found *found, int32_t *done);

/** Refined and judged by the host, with b and x apart in its memory.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _NUMERIC, _DEVICE, _CANCELLED */
mpk_status mpki_refine_on_host(const mpki_columns *c, mpki_found *found);

#endif
