/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_MAKE_H
#define MPKI_CUDA_INVERSE_MAKE_H
/** From a sparse matrix on a device to its approximate inverse there: what an approximate inverse
 *  by itself (isai.c) and those of a factor's triangles (inverse/factor.c) share. Functions queue
 *  work in the engines' stream, and wait for it where the host has to know a number. */
#include "engines/interface/engine.h"
#include "kernels/inverse.h"
#include "engines/cuda/module/load.h"

/** Device memory that is released as a whole. */
typedef struct mpki_isai_piece {
    char *at;
    int64_t bytes;
} mpki_isai_piece;

/** Device memory asked for at once, of which pieces are parts: to ask for each would cost more than
 *  most kernels do. */
typedef struct mpki_isai_reserve {
    mpki_isai_piece all;
    int64_t used;
} mpki_isai_reserve;

/** Whose memory it is, and what has been done. */
typedef struct mpki_isai_job {
    mpk_context *ctx;
    const mpki_device *d;
    const mpki_cuda_isai_table *t;
    const char *stage;
    void *stream;
    mpk_scalar scalar;
    int32_t n;
    double limit;                    /* most bytes of device memory; 0: what the device has */
    int64_t bytes;                   /* held */
    mpki_isai_reserve held[2], work; /* for what stays: the matrix, M; for work space. Empty: each
                                        piece is asked for */
    mpk_isai_info info;
    int64_t columns[MPK_ISAI_CLASSES], longest; /* of what was last computed */
} mpki_isai_job;

/** A matrix by columns or by rows; ptr and index may be another one's. */
typedef struct mpki_isai_sparse {
    mpki_isai_piece pattern, values, map; /* of ptr and index; of val; of from */
    mpki_isai_matrix a;
    int64_t entries;
    int64_t *from; /* entry e is entry from[e] of what it was made of; NULL: not known */
} mpki_isai_sparse;

/** The device `device` of the context; the module must have approximate inverses.
 *  Returns MPK_OK | MPK_ERR_DEVICE */
mpk_status mpki_cuda_isai_job_begin(mpk_context *ctx, const char *stage, mpk_scalar scalar,
                                    int32_t n, mpki_isai_job *job);

static inline int64_t mpki_cuda_isai_rounded(int64_t bytes) { /* no piece is empty */
    return bytes > 0 ? (bytes + 255) / 256 * 256 : 256;
}
mpk_status mpki_cuda_isai_take(mpki_isai_job *job, int64_t bytes, mpki_isai_piece *p);
/** Work space: what was taken last is to be given back first. */
mpk_status mpki_cuda_isai_borrow(mpki_isai_job *job, int64_t bytes, mpki_isai_piece *p);
/** What takes, or borrows, get from then on, as long as it suffices: held[0] before held[1]. *r has
 *  to be empty. */
mpk_status mpki_cuda_isai_set_aside(mpki_isai_job *job, int64_t bytes, mpki_isai_reserve *r);
/** Nothing of it may be in use. It waits for what is queued. */
void mpki_cuda_isai_give_reserve(mpki_isai_job *job, mpki_isai_reserve *r);
/** Bytes of a reserve that a matrix takes, and that turning one borrows. */
int64_t mpki_cuda_isai_sparse_bytes(const mpki_isai_job *job, int64_t entries, bool values,
                                    bool from);
int64_t mpki_cuda_isai_turn_bytes(int32_t n, int64_t entries);
void mpki_cuda_isai_give(mpki_isai_job *job, mpki_isai_piece *p);
void mpki_cuda_isai_give_sparse(mpki_isai_job *job, mpki_isai_sparse *a);
/** The next `bytes` of the piece; *used is moved on. */
void *mpki_cuda_isai_place(const mpki_isai_piece *p, int64_t *used, int64_t bytes);
static inline mpk_status mpki_cuda_isai_status(const mpki_isai_job *job, int status) {
    return mpki_cuda_status(job->ctx, job->stage, status);
}
/** Copies between host and device; `to_host` waits. */
mpk_status mpki_cuda_isai_to_device(const mpki_isai_job *job, void *to, const void *from,
                                    int64_t bytes);
mpk_status mpki_cuda_isai_to_host(const mpki_isai_job *job, void *to, const void *from,
                                  int64_t bytes);
mpk_status mpki_cuda_isai_wait(const mpki_isai_job *job);

/** Release what a matrix has of these: a reader of its pattern, of its values is in use or not. */
void mpki_cuda_isai_strip(mpki_isai_job *job, bool pattern, bool values, mpki_isai_sparse *a);

/** Memory for a matrix with so many entries; values: memory for them, too; from: likewise. */
mpk_status mpki_cuda_isai_sparse_make(mpki_isai_job *job, int64_t entries, bool values, bool from,
                                      mpki_isai_sparse *a);
/** t := the transpose, with its values where a has them. Memory for them is made in any case. */
mpk_status mpki_cuda_isai_turn(mpki_isai_job *job, const mpki_isai_sparse *a, mpki_isai_sparse *t);
/** t->a.val := a's values, anew. */
mpk_status mpki_cuda_isai_again(mpki_isai_job *job, const mpki_isai_sparse *a, mpki_isai_sparse *t);

/** Which entries of a column a pattern keeps, and what becomes of a long column. */
typedef struct mpki_isai_shape {
    int keep; /* MPKI_ISAI_BELOW .. */
    bool blocks;
    int power, block;
    int32_t limit;
    mpk_isai_over over;
    const int32_t *group; /* device, n; NULL */
} mpki_isai_shape;

/** *m := the pattern by columns, without diagonal, and memory for values. Where it is the graph's
 *  own, m borrows that one's arrays: the graph has to outlive it.
 *  own [in] the graph is a strict triangle already
 *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE | MPK_ERR_ARGUMENT: a column is over the limit */
mpk_status mpki_cuda_isai_pattern(mpki_isai_job *job, const mpki_isai_sparse *graph, bool own,
                                  const mpki_isai_shape *shape, mpki_isai_sparse *m);

/** A triangle on the device. */
typedef struct mpki_isai_triangle {
    bool upper;
    const mpki_isai_sparse *columns, *rows;
    const void *dinv;
} mpki_isai_triangle;

/** The values of m. Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE | MPK_ERR_NUMERIC: a column is not
 *  finite; it is named */
mpk_status mpki_cuda_isai_invert(mpki_isai_job *job, const mpki_isai_triangle *t,
                                 mpki_isai_sparse *m);
/** rows := m by rows; where m's pattern is that of t's columns (NULL: of none), with t's arrays of
 *  rows, which have to outlive it. Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
mpk_status mpki_cuda_isai_rows(mpki_isai_job *job, const mpki_isai_triangle *t,
                               const mpki_isai_sparse *m, mpki_isai_sparse *rows);
/** Columns of m over the limit keep their largest entries, where the shape says so: a pattern, for
 *  which values must be computed anew where *again says so. Returns MPK_OK | MPK_ERR_MEMORY,
 *  _DEVICE */
mpk_status mpki_cuda_isai_cut(mpki_isai_job *job, const mpki_isai_shape *shape, mpki_isai_sparse *m,
                              bool *again);
/** What was last computed, into job->info. */
void mpki_cuda_isai_count(mpki_isai_job *job, const mpki_isai_sparse *m);
/** Columns of m by class. list [out] device, n; count, longest [out] host */
mpk_status mpki_cuda_isai_classify(mpki_isai_job *job, const mpki_isai_sparse *m, int32_t *list,
                                   int64_t count[MPK_ISAI_CLASSES], int64_t *longest);
/** single (as many entries) := val in single precision. Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE,
 *  _NUMERIC: one is too large for that */
mpk_status mpki_cuda_isai_to_single(mpki_isai_job *job, int64_t entries, const void *val,
                                    void *single);

#endif
