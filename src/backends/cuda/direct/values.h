/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VALUES_H
#define MPKI_CUDA_VALUES_H
/** A's values on the device: taken from a caller's array there, and scaled. Plain C; arrays lie in device
 *  memory unless said otherwise. */
#include "../api.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A by rows, in both triangles, as places in the values of the lower one: a row's own entries and those
 *  from the other triangle. Rows of more than MPKI_CUDA_ROW_LONG entries are cut into pieces of as many. */
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

/** A long row while its pieces are looked at; all zero before. */
typedef struct mpki_cuda_long_row {
    unsigned long long most; /**< the bits of a double that is not negative */
    int32_t done, unused;    /**< pieces */
} mpki_cuda_long_row;

/** Words of its own that an equilibration has, and sweeps that may be asked for. */
enum { MPKI_CUDA_SCALE_SWEEPS = 16, MPKI_CUDA_SCALE_ASKED = 4 };

/** For one kind of entries. */
typedef struct mpki_cuda_values_kind {
    /** *odd (host memory) := are there values that the host has to look at: not finite, two triangles that
     *  differ, a Hermitian diagonal that is not real? Waits. flag: one, on the device */
    int (*check)(mpki_cuda *cuda, const mpki_cuda_given *a, int32_t *flag, int32_t *odd);
    /** ax := the lower triangle */
    int (*gather)(mpki_cuda *cuda, const mpki_cuda_given *a, void *ax);
    /** mpki_equilibrate() and rounding to powers of two.
     *  from   [in] n, by problem index: the scaling to begin with; NULL: 1
     *  uneven [work] MPKI_CUDA_SCALE_SWEEPS; rows [work] a->longs, all zero before and after; other [work] n
     *  scale, by_position [out] n, by problem index and by position */
    int (*scale)(mpki_cuda *cuda, const mpki_cuda_by_rows *a, const void *ax, int32_t sweeps,
                 const double *from, int32_t *uneven, mpki_cuda_long_row *rows, double *scale,
                 double *other, const int32_t *perm, double *by_position);
} mpki_cuda_values_kind;

extern const mpki_cuda_values_kind mpki_s_cuda_values, mpki_d_cuda_values, mpki_c_cuda_values,
    mpki_z_cuda_values;

#ifdef __cplusplus
}
#endif
#endif
