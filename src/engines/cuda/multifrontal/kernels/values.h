/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_VALUES_H
#define MPKI_CUDA_MULTIFRONTAL_VALUES_H
/** A's values on the device: taken from a caller's array there, and scaled. Plain C; arrays lie in
 *  device memory unless said otherwise. */
#include "engines/cuda/module/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A by rows, in both triangles, as places in the values of the lower one: a row's own entries and
 *  those from the other triangle. Rows of more than MPKI_CUDA_ROW_LONG entries are cut into pieces
 *  of as many. */
typedef struct mpki_cuda_by_rows {
    int32_t n;
    int hermitian;
    const int64_t *ptr; /**< n + 1 */
    const int32_t *col; /**< ptr[n] */
    const int32_t
        *src; /**< ptr[n]: entry; ~entry: from the other triangle, conjugated where Hermitian */
    int32_t longs, pieces;           /**< rows that are cut, and pieces of all of them */
    const int32_t *long_row, *first; /**< longs: the row; longs + 1: its first piece */
    const int32_t *piece_of;         /**< pieces: which of the long rows */
} mpki_cuda_by_rows;

enum { MPKI_CUDA_ROW_LONG = 512 };

/** A caller's values, and where each entry of the lower triangle is among them. */
typedef struct mpki_cuda_given {
    int64_t given, nnz;
    int32_t n;
    int hermitian;
    const void *values; /**< given */
    const int32_t
        *lower; /**< nnz: -1: it is given in the other triangle alone; NULL: entry k is value k */
    const int32_t *upper;    /**< nnz: the same entry there; -1: it is not */
    const int32_t *diagonal; /**< n: entries, -1: none; NULL: not Hermitian */
} mpki_cuda_given;

/** A long row while its pieces are measured; all zero before. */
typedef struct mpki_cuda_long_row {
    unsigned long long most; /**< the bits of a double that is not negative */
    int32_t done, unused;    /**< pieces */
} mpki_cuda_long_row;

/** Sweeps of equilibration that may be asked for; those beyond, where rows are uneven; flags: one
 *  of each sweep, that it found rows uneven, one of values that the host has to look at, and a
 *  counter. */
enum {
    MPKI_CUDA_SCALE_ASKED = 4,
    MPKI_CUDA_SCALE_MORE = 12,
    MPKI_CUDA_SCALE_ODD = MPKI_CUDA_SCALE_ASKED + MPKI_CUDA_SCALE_MORE,
    MPKI_CUDA_SCALE_ENDED, /* blocks of a sweep; 0 before and after */
    MPKI_CUDA_SCALE_FLAGS
};

/** mpki_equilibrate(), and rounding to powers of two. */
typedef struct mpki_cuda_scaling {
    mpki_cuda_by_rows a;
    int32_t sweeps;     /**< at least 1 */
    int32_t extra;      /**< so many more are queued with them, in case they are needed */
    int32_t turn;       /**< a flag that is this number is set: another one each time, not 0 */
    int32_t *flags;     /**< MPKI_CUDA_SCALE_FLAGS: 0, or of other turns */
    const double *from; /**< n, by problem index: the scaling to begin with; NULL: 1 */
    mpki_cuda_long_row *rows; /**< a->longs, all zero before and after */
    double *other;            /**< n: work space */
    const int32_t *perm;
    double *scale, *by_position; /**< [out] n, by problem index and by position */
} mpki_cuda_scaling;

typedef struct mpki_cuda_beginning mpki_cuda_beginning; /* multifrontal.h */

/** For one kind of entries. */
typedef struct mpki_cuda_values_kind {
    /** ax := the lower triangle, and its scaling. Queued.
     *  next   [in] NULL; else the factorization that begins then. It does not if the host has to
     *              look at the values, or if they need more sweeps: its tasks do nothing
     *  ticket [out] for brought() */
    int (*bring)(mpki_cuda *cuda, const mpki_cuda_given *a, const mpki_cuda_scaling *how, void *ax,
                 const mpki_cuda_beginning *next, int32_t *ticket);
    /** Waits until it is known whether the host has to look at the values (*odd, host memory): they
     *  are not finite, two triangles differ, a Hermitian diagonal is not real. Then nothing was
     *  written.
     *  more [out] host memory: more sweeps are needed than were queued; now all are
     *  took [out] host memory: how many the last values of which that was said took beyond how->sweeps,
     *             at most MPKI_CUDA_SCALE_MORE */
    int (*brought)(mpki_cuda *cuda, const mpki_cuda_given *a, const mpki_cuda_scaling *how,
                   void *ax, int32_t ticket, int32_t *odd, int32_t *more, int32_t *took);
} mpki_cuda_values_kind;

extern const mpki_cuda_values_kind mpki_s_cuda_values, mpki_d_cuda_values, mpki_c_cuda_values,
    mpki_z_cuda_values;

#ifdef __cplusplus
}
#endif
#endif
