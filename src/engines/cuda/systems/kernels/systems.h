/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_H
#define MPKI_CUDA_SYSTEMS_H
/** What host code and kernels for many systems of one pattern agree on: plain C. A gang, of one or
 *  more blocks of threads, does one system after the other: values, scaling, L D L^T, solutions,
 *  errors.
 *
 *  An entry of a front of r rows, row i of column j, i >= j, is number i + j (r - 1) - j (j - 1) / 2
 *  of it: columns of L follow each other, then comes what it contributes, laid out alike. */
#include "engines/cuda/module/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Rows of a front that a warp does alone. */
#define MPKI_SYSTEMS_ALONE_ROWS 32

/** What a system has in its home, in entries from there on; scales and norms are reals. */
typedef struct mpki_cuda_systems_home {
    int64_t values, l, d, scale, norm; /* bytes from its beginning */
    int64_t bytes;
} mpki_cuda_systems_home;

/** An entry of A on its way to the columns of L where its front begins, scaled by i and j. */
typedef struct mpki_cuda_systems_entry {
    int32_t from, to; /* of the values, ~from: conjugated; of L */
    int32_t i, j;
} mpki_cuda_systems_entry;

/** What children leave for an entry of a front, or of its vector in a forward solve: a code. It lies
 *  in the work space, and comes in the order of the children. */
enum {
    MPKI_FROM_CHILD = 1, /* 2 k + 1: number k of what children left */
    /* 2 k + 2: more[k] of them, whose numbers follow there */
    MPKI_FROM_MOST = (1 << 30) - 1 /* numbers are below */
};                                 /* 0: nothing */

/** A range of fronts that a warp, or a block, does while others do other ones. */
typedef struct mpki_cuda_systems_part {
    int32_t begin, end;
} mpki_cuda_systems_part;

typedef struct mpki_cuda_systems_front {
    int32_t first, w, r;   /* position of its first column, columns, rows */
    int32_t ahead, behind; /* small fronts of the part from here on, and up to here: a warp's */
    int32_t row;           /* its rows below, in the list of rows */
    int32_t more, mores;   /* lists of what its entries are sums of */
    int32_t u;             /* where what it leaves in a forward solve begins */
    int32_t vector;        /* where the codes of its vector begin: r */
    int64_t l, c;          /* where its L and its contribution begin, in entries */
    int64_t code;          /* where the codes of its entries begin: r (r + 1) / 2 */
} mpki_cuda_systems_front;

/** How all systems are done; lists lie on the device. */
typedef struct mpki_cuda_systems_plan {
    int32_t n, nsuper, max_front, hermitian;
    int32_t nnz, given, entries;          /* stored values; those that the caller has; in fronts */
    const mpki_cuda_systems_front *front; /* by parts, then the others, children before parents */
    const mpki_cuda_systems_part *part;   /* parts + 1; the last: the other fronts */
    int32_t parts, warps; /* all; those of warps, which come first; then those of blocks */
    const mpki_cuda_systems_entry *entry;
    const int32_t *code, *vector, *more; /* see MPKI_FROM_CHILD */
    const int32_t *rows;                 /* positions */
    const int32_t *perm;                 /* n */
    const signed char *pair; /* n, by position: 1, 2: first, second of a 2x2 pivot; 0: 1x1 */
    const double *matched;   /* n, or NULL */
    /* A in both triangles by rows: ~from: conjugated */
    const int32_t *ptr, *col, *from; /* n + 1; ptr[n] each */
    /* stored value k is the sum of the caller's `gather[gather_ptr[k] ..]`, of which those from
     * gather_mirror[k] on came from the other triangle; NULL: it is the caller's k-th */
    const int32_t *gather_ptr, *gather_mirror, *gather;
    double symmetry_noise; /* of both sums, where there are two: rounding, in parts of the larger */
    const int32_t *diagonal;        /* n: stored value of a diagonal entry, or -1 */
    int64_t contributions, vectors; /* entries of the work space that fronts leave */
    mpki_cuda_systems_home home;
} mpki_cuda_systems_plan;

/** A column of system `slot` begins at p + slot stride (strided), pointers[slot], or
 *  p + slot / width stride + slot % width, entries `width` apart. */
typedef struct mpki_cuda_systems_array {
    void *data;
    int64_t stride, ld;
    int32_t width, layout; /* mpk_batch_layout */
} mpki_cuda_systems_array;

/** One of the systems at work. */
typedef struct mpki_cuda_systems_item {
    int64_t slot;
    void *home;
} mpki_cuda_systems_item;

/** What became of it. */
enum {
    MPKI_FOUND_GOOD = 1,      /* its pivots passed */
    MPKI_FOUND_INPUT = 2,     /* a value is not finite */
    MPKI_FOUND_DIFFER = 4,    /* its triangles differ, or a Hermitian diagonal is not real */
    MPKI_FOUND_B = 8,         /* b is not finite */
    MPKI_FOUND_UNSOLVED = 16, /* the solution was not accurate, or in doubt: x was not written */
    MPKI_FOUND_SOLVED = 32
};
typedef struct mpki_cuda_systems_found {
    int32_t flags, positive, negative, two_by_two, steps, reserved;
    double growth, min_pivot, norm_inf; /* of a factorization */
    double omega, normwise;             /* of a refined solve */
    double logdet[3];
} mpki_cuda_systems_found;

typedef struct mpki_cuda_systems_job {
    mpki_cuda_systems_plan plan;
    int32_t count;
    int32_t factor, solve; /* what is to be done */
    int32_t bare;
    int32_t certify; /* instead of both: x := A^-1 (-A b) in twice the precision, no more */
    int32_t nrhs;
    const mpki_cuda_systems_item *item;
    mpki_cuda_systems_array ax, b, x;
    double bound, small, noise;    /* rules of pivots */
    double left;                   /* likewise */
    double accuracy, large_growth; /* of solutions */
    int32_t refine;                /* steps at most */
    void *work;                    /* gangs x gang_bytes */
    int64_t gang_bytes;
    mpki_cuda_systems_found *found; /* count */
    int32_t gangs, blocks, threads; /* blocks of a gang, threads of a block */
    int32_t gang_rows;              /* rows from which a front is all blocks' together */
    int32_t depth;                  /* pivots that come to what is behind them at a time */
    int32_t shared;                 /* bytes: of dynamic shared memory */
} mpki_cuda_systems_job;

/** How gangs are made for a plan and a number of systems. */
typedef struct mpki_cuda_systems_shape {
    int32_t gangs, blocks, threads, gang_rows, depth, shared; /* as in a job */
    int64_t gang_bytes;                                       /* of work space, for one gang */
} mpki_cuda_systems_shape;

typedef struct mpki_cuda_systems_table {
    /** The shape for `count` systems and nrhs right-hand sides; MPK_ERR_UNSUPPORTED: fronts are too
     *  large for any. */
    int (*shape)(mpki_cuda *cuda, mpk_scalar scalar, const mpki_cuda_systems_plan *plan,
                 int64_t count, int32_t nrhs, mpki_cuda_systems_shape *shape);
    /** Queues one launch. */
    int (*run)(mpki_cuda *cuda, mpk_scalar scalar, const mpki_cuda_systems_job *job);
    /** Bytes between host and device, behind what was queued; all of it, until it is done. */
    int (*copy)(mpki_cuda *cuda, void *to, const void *from, int64_t bytes, int to_device);
    int (*wait)(mpki_cuda *cuda);
} mpki_cuda_systems_table;

#ifdef __cplusplus
}
#endif
#endif
