/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_FACTOR_H
#define MPKI_FACTOR_H
/** Inside of mpk_factor: what all of its forms share. */
#include "../analysis/analysis.h"
#include "../core/lock.h"
#include "../core/pool.h"
#include "../problem/measure.h"
#include "deflate.h"
#include <metapack/factor.h>

/** A part of L for pictures: it has `entries` in rows r0 .. r1-1 and columns c0 .. c1-1, numbered
 * in the order of elimination. */
typedef void mpki_tile_fn(void *self, int64_t entries, int32_t r0, int32_t r1, int32_t c0,
                          int32_t c1);

/** A form of factor: the verbs that depend on what it is made of. There is one form for each family
 *  of methods (mpki_form_of() says which); all of them compute through fac->engine. */
typedef struct mpki_form {
    bool exact;    /* the factor is that of A itself: a solve may be refinement alone */
    bool copies_a; /* an engine may have its own copy of a symmetric A: fac->matrix */
    /** Numbers and info from fac->ax and fac->options.
     *  is_new [in] they are the first numbers of this factor
     *  Returns a status as mpk_factorize, with errors and outcomes recorded. */
    mpk_status (*factorize)(mpk_factor *fac, bool is_new);
    /** Bytes that the numbers take. */
    int64_t (*bytes)(const mpk_factor *fac);
    /** Bytes beside them that solves have left for later ones; NULL: they leave none. */
    int64_t (*beside)(const mpk_factor *fac);
    void (*free)(mpk_factor *fac);
    /** Take values from the memory of the factor's device, in the caller's order, for `factorize`;
     *  they stay there. lower [in] they are in the order of the analysis' ai. *taken [out] false:
     *  take_values() has to, and the factor is as it was. Slot NULL: it always has to. MPK_OK |
     *  MPK_ERR_DEVICE. */
    mpk_status (*take)(mpk_factor *fac, const mpk_options *options, const void *ax, bool lower,
                       bool *taken);
    /** Values that were taken, and their scaling, to host memory. MPK_OK | MPK_ERR_DEVICE. */
    mpk_status (*give)(const mpk_factor *fac, void *ax, double *scale);
    /** MPK_GET_PERM, _D, _LOGDET; NULL: the form has none of these. */
    mpk_status (*get)(const mpk_factor *fac, mpk_quantity what, void *out);
    /** What mpk_factor_block_info_get() returns; NULL: nothing. */
    const mpk_block_info *(*block_info)(const mpk_factor *fac);
    /** Is the operator M symmetric, as CG, MINRES, SYMMLQ and SQMR need it? */
    bool (*symmetric)(const mpk_factor *fac);
    /** Call `tell` with each part of L that is kept; iperm [out] n: the order. Slot NULL: L is as
     *  the analysis predicts. Returns MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*shape)(const mpk_factor *fac, int32_t *iperm, mpki_tile_fn *tell, void *self);
    /** Room for applications on `threads` to at most `columns` right-hand sides; see
     * factor/apply.h. MPK_OK | MPK_ERR_MEMORY. */
    mpk_status (*apply_make)(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                             void **work);
    /** mpki_apply_by_pivots(); NULL: there is one order only. */
    mpk_status (*by_pivots)(const mpk_factor *fac, void *work);
    void (*apply_free)(mpk_context *ctx, const mpk_factor *fac, void **work);
    mpk_status (*apply)(mpk_context *ctx, const mpk_factor *fac, void *work, mpk_part part,
                        int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx);
    /** X := A^-T B, of a general matrix; NULL: the form has none. */
    mpk_status (*transposed)(const mpk_factor *fac, void *work, int32_t nrhs, const void *b,
                             int64_t ldb, void *x, int64_t ldx);
} mpki_form;

extern const mpki_form mpki_direct_form, mpki_general_form, mpki_block_form, mpki_scaling_form;

/** What was looked for in vain, or was found to be as before: not looked at again with the next
 *  `left` values, and each time with twice as many as the time before. */
typedef struct mpki_rest {
    int left, span;
} mpki_rest;

/** Vectors of a kernel, and pivots at the level of rounding, that are remembered. */
enum { MPKI_KNOWN_MOST = 8 };

/** What the verdicts on the rank have learned, for the next values of the same analysis
 *  (rank.c). */
typedef struct mpki_rank_memory {
    void *vector; /* count x n, of the kernel */
    void *like;   /* n: one of older values' kernel; NULL: none */
    int count;
    void *sum;                        /* n: of these, without its noise; NULL: not formed yet */
    uint64_t stamp;                   /* of `sum`: no other one in this process has it */
    int weak;                         /* pivots at the level of rounding that these made zero */
    int32_t weak_at[MPKI_KNOWN_MOST]; /* where these were: the (first) position of each */
    int64_t zeros;                    /* zero pivots before that; -1: nothing was in doubt yet */
    bool undecided;                   /* zero pivots, and no vector */
    bool shown;                       /* a vector has shown that A is singular */
    int core; /* of structurally singular ones: 1: it explains A, -1: more of it is too dear */
    unsigned tried;   /* second factorizations that were no better, by bit */
    double raised;    /* bound of zero pivots that was better; 0: none */
    bool far;         /* the scalings were far apart when that was last looked at */
    bool measures;    /* pivots that were measured with A made solves accurate */
    mpki_rest second; /* second factorizations that were tried */
    mpki_rest moved;  /* vectors of older values were not of the kernel of newer ones */
    mpki_rest apart;  /* `far` was found */
    mpki_rest sound;  /* a known solution came back */
    mpki_rest
        firm; /* no pivot was zero, and solves showed no kernel, or weak pivots were none of it */
} mpki_rank_memory;

struct mpk_factor {
    mpk_context *ctx;
    const mpki_form *form;
    const mpki_engine *engine;
    const mpk_analysis *base; /* the caller's */
    const mpk_analysis *an;   /* the one in force: the caller's, or `own` after outer pivoting */
    mpk_analysis *own;
    mpk_options options;
    double patience; /* with an analysis of older values; doubles if a new one fails */
    mpki_stop cost;  /* what the first factorization with the analysis in force took; 0: none */
    int64_t weighed; /* columns that came late when that was last weighed, with the tree in force */
    int64_t waited;  /* factorizations in which columns came late since then */
    bool rescaled;   /* the other scaling did better, on these values or older ones */
    double raised; /* bound of zero pivots, where the usual one has left noise; 0: the usual one */
    bool lowered;  /* zero pivots of the usual size were none: likewise */
    mpki_rank_memory known;
    struct mpki_measured *measured; /* measured.h: solves are refined with them; NULL: none */
    mpki_kept_basis basis;          /* of the kernel; guarded by `bringing` */
    _Atomic int64_t basis_bytes;    /* of it, for who must not wait */
    double effort;                  /* what a verdict may still cost (rank_kernel.h) */
    int matched;     /* > 0: matched anew for a verdict; factorizations until it may be again */
    int matched_for; /* what that was the last time; 0: it was not yet */
    uint64_t own_of; /* mpki_values_hash() of the values that `own` was made of */
    uint64_t own_nonzeros; /* mpki_nonzeros_hash() of them; 0: not known */
    bool valid;            /* holds a factorization */
    uint64_t made;         /* how many there were: who built on one asks whether it is the same */
    bool at_work;          /* a thread is changing it */
    unsigned forks;        /* mpki_forks() where that began */
    /* The values, and what is made from them. After values were taken on a device they are there
     * alone, and so is the scaling, until mpki_factor_bring() is asked for them; by whatever
     * thread. */
    _Atomic bool away;
    mpki_lock bringing;
    mpki_values *values; /* in the order of the analysis' ai; shared where they are the problem's */
    const void *ax;      /* the numbers in `values` */
    double *row_norm;    /* n: sums of moduli of A's rows, problem order */
    double norm_inf;     /* the largest of them */
    double size;         /* largest entry after scaling: 1, unless that is off */
    double *scale;  /* n, problem order, powers of two; MPK_GENERAL: of columns, then n of rows.
                      Those of the outer rows follow */
    int64_t broken; /* zero pivots of an interior whose Schur complement does not exist */
    mpk_asymmetry asymmetry; /* of an interior: that of all A, whose mean is split */
    struct {                 /* what the caller gave last (given.h) */
        void *values;        /* NULL: not kept */
        bool lower;          /* in the order of the stored pattern */
    } given;
    mpki_direct *direct; /* forms direct and general: the engine's */
    /* form direct: its numbers are those of S A S in single precision, A being in double
     * (narrow.h); n ones, the engine's scaling then; factorizations that begin in double, since
     * one in single did not do */
    bool narrow;
    double *ones;
    int wide_for;
    double low_rank; /* form direct: tolerance in force; 0: L is whole. Like `narrow`, the factor is
                        nothing without refinement then (narrow.h) */
    struct mpki_block_body *blocks; /* form blocks: stages.h */
    /* form blocks, where the engine mirrors A itself: A in both triangles, that is its pattern, and
     * the engine's copy with the numbers; else empty and NULL */
    mpki_full pattern;
    mpki_matrix *matrix;
    mpk_factor_info info;
    /* Of these numbers; under `bringing` until examined, and never changed after. */
    _Atomic bool examined;
    bool regular; /* A is, as sure as a certificate's inertia; also where it has none */
    mpk_certificate certificate;
};

/** A factor of an analysis, without values and numbers, on the engine that the options lead to.
 *  NULL: no memory for it; else mpki_failed() tells whether something is missing. */
mpk_factor *mpki_factor_new(mpk_context *ctx, const char *stage, const mpk_analysis *an,
                            const mpk_options *options);

/** Have values, row norms and scaling in host memory: fac->values, ax, row_norm, norm_inf, scale.
 *  Who reads them asks first. Errors are recorded in ctx. MPK_OK | MPK_ERR_MEMORY, _DEVICE. */
mpk_status mpki_factor_bring(mpk_context *ctx, const mpk_factor *fac);

/** row_norm and norm_inf of the values in host memory, by so many threads: 1 where the factor's context
 *  may be in another call. */
void mpki_factor_norms(mpk_factor *fac, int threads);
/** Threads of a call with this factor: those of its options, as far as there are cores. */
static inline int mpki_factor_threads(const mpk_factor *fac) {
    return mpki_context_threads(fac->ctx, fac->options.threads);
}

/** mpk_certify() for a call that has begun: errors are recorded, none is cleared. */
mpk_status mpki_certify(mpk_context *ctx, const mpk_factor *fac, mpk_certificate *out);
/** Is there a nonsingular M = L D L^T in A's precision, whose distance from A a certificate can
 *  measure? */
static inline bool mpki_examinable(const mpk_factor *fac) {
    return fac->direct && !fac->narrow && fac->info.inertia.zero == 0;
}
/** Was A examined, and found to be regular? */
static inline bool mpki_regular(const mpk_factor *fac) {
    return atomic_load_explicit(&fac->examined, memory_order_acquire) && fac->regular;
}
/** May a call of ctx use fac? Not in a forked child where fac is on a device, which does not
 *  follow, or where another thread was changing it: it is then given up, not freed, for what it
 *  points to is the device's, or half written. A context that has not opened fac's device yet
 *  opens it. MPK_OK | MPK_ERR_DEVICE, _ARGUMENT, recorded. */
mpk_status mpki_factor_usable(mpk_context *ctx, const char *stage, const mpk_factor *fac);
/** Is fac one of all A, not of the interior beside a Schur complement? MPK_OK |
 *  MPK_ERR_UNSUPPORTED, recorded. */
mpk_status mpki_factor_whole(mpk_context *ctx, const char *stage, const mpk_factor *fac);
/** Is fac one of a symmetric matrix, as `what` needs it? MPK_OK | MPK_ERR_UNSUPPORTED, recorded. */
mpk_status mpki_factor_symmetric(mpk_context *ctx, const char *stage, const mpk_factor *fac,
                                 const char *what);
/** Is fac more than rounding away from A, so that solves have to be refined? */
static inline bool mpki_lossy(const mpk_factor *fac) {
    return fac->narrow || fac->low_rank > 0;
}
/** Is fac in the precision of A, and L whole? MPK_OK | MPK_ERR_UNSUPPORTED, recorded. */
mpk_status mpki_factor_wide(mpk_context *ctx, const char *stage, const mpk_factor *fac);

/** The scalar type of a direct factor. */
static inline mpk_scalar mpki_factor_scalar(bool narrow, const mpk_analysis *an) {
    return !narrow               ? an->scalar
           : an->scalar == MPK_D ? MPK_S
           : an->scalar == MPK_Z ? MPK_C
                                 : an->scalar;
}

/** Entries of a factor's scale. */
static inline int64_t mpki_scales(const mpk_analysis *an) {
    return an->symmetry == MPK_GENERAL ? 2 * (int64_t)an->n : an->n;
}

/** Entries of A_21, and of A_22, which follow those of an interior in fac->ax. */
static inline const void *mpki_outer_values(const mpk_factor *fac, bool corner) {
    const mpk_analysis *an = fac->an;
    const int64_t before = an->nnz + (corner ? mpki_split_entries(an->split) : 0);
    return (const char *)fac->ax + before * (int64_t)mpk_scalar_size(an->scalar);
}

/** The form of a method's factors. Nothing else knows which methods have which form. */
const mpki_form *mpki_form_of(const mpk_analysis *an);
/** The engine of a factor: the one that the context was told to use, else the one that
 *  options.device names. Nothing else chooses one.
 *  an      [in] NULL: is there such a device at all?
 *  options [in] NULL: the defaults
 *  Returns NULL, with the error recorded: MPK_ERR_DEVICE, there is no such device |
 *  MPK_ERR_UNSUPPORTED, it does not have the analysis' method */
const mpki_engine *mpki_engine_of(mpk_context *ctx, const mpk_analysis *an,
                                  const mpk_options *options);
/** Tell which engine later factors shall use; NULL: chosen by the options. It must outlive them. */
void mpki_engine_use(mpk_context *ctx, const mpki_engine *engine);

/** What the triangles of a factor's matrix differ by, where it was given whole; NULL: nothing. */
static inline const mpki_skew *mpki_skew_of(const mpk_factor *fac) {
    return fac->values ? fac->values->skew : NULL;
}

/** The system that a factor belongs to. */
static inline mpki_system mpki_system_of(mpk_context *ctx, const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    return (mpki_system){.ctx = ctx,
                         .a = {an->n, an->nnz, an->scalar, an->symmetry, an->ap, an->ai, fac->ax},
                         .row_norm = fac->row_norm,
                         .norm_inf = fac->norm_inf,
                         .skew = mpki_skew_of(fac)};
}

/** The scaling of an interior's outer rows, after that of its columns is there: the largest entry
 *  of A_21 in each becomes 1, or nearly so. MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_scale_outer(mpk_factor *fac);

/** The scaling for these values: the analysis' own, brought up to date by a sweep of equilibration,
 *  or where it has none equilibration; of a general matrix, of its rows and of its columns.
 *  options.scaling off: a power of two for all rows, 1 unless entries are near the ends of the
 *  range.
 *  rescaled [in]  the other one: equilibration where that is far from the matching's, and levels
 *                 (mpki_level) otherwise
 *  scale    [out] n, problem order, powers of two; of a general matrix n of columns and n of rows
 *  size     [out] the largest entry after scaling, which thresholds are relative to: 1, unless
 *                 scaling is off
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_find_scaling(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                             const void *ax, bool rescaled, double *scale, double *size);
/** Is the scaling in force so far from the other that they may disagree about a pivot? *far [out]
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_scalings_differ(const mpk_factor *fac, bool *far);

/** The same for fac, with the same bits, where its values may lie with the engine (fac->matrix). */
mpk_status mpki_find_scaling_there(mpk_factor *fac);

/** Does the engine mirror a factor's A itself? Then fac->matrix is made before anything else. */
static inline bool mpki_mirrors(const mpk_factor *fac) {
    return fac->form->copies_a && fac->an->symmetry != MPK_GENERAL && fac->engine->vectors &&
           fac->engine->vectors->matrix_of;
}
/** And are row sums and scales found there? */
static inline bool mpki_computes_there(const mpk_factor *fac) {
    return mpki_mirrors(fac) && fac->an->scalar < MPK_C;
}

/** Below this, in a matrix scaled to 1, what is left of a column that should have cancelled counts
 * as zero. */
double mpki_default_zero_tolerance(mpk_scalar scalar);

#endif
