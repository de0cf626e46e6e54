/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_ISA_H
#define MPKI_BLOCK_ISA_H
/** The kernels behind the table of blocks.h: one declaration for each slot. */
#include "blocks.h"
#include "isa.h"

void ISA_FN(block_factor)(int w, T *c, int ld, int type, int pivoting, const int32_t *pair, R floor,
                          const R *butterfly, int hermitian, T *m, T *n, T *d, T *dinv, T *work,
                          FN(pivot_report) * report);
/** The part of block_factor for LDU; c is free of NaN. */
void ISA_FN(block_ldu)(int w, T *c, int ld, int pivoting, R floor, const R *butterfly, T *m, T *n,
                       T *d, T *dinv, T *work, FN(pivot_report) * report);
R ISA_FN(block_solve)(int rows, int w, T *c, int ld, const T *m, int ld_m, const T *dinv,
                      int hermitian, T *work, R *norm2);
void ISA_FN(block_right)(const mpki_block *b, const T *d, int hermitian, T *w, int ld);
void ISA_FN(block_downdate)(const mpki_block *a, const T *w, int ld_w, int cols, T *c, int ld_c);
void ISA_FN(block_apply)(const mpki_block *a, const T *x, int nrhs, T *y);
void ISA_FN(block_apply_t)(const mpki_block *a, const T *x, int nrhs, int conjugate, T *y);
/** The parts of block_apply and block_apply_t for several right-hand sides; not EMPTY. */
void ISA_FN(block_apply_many)(const mpki_block *a, const T *x, int nrhs, T *y);
void ISA_FN(block_apply_many_t)(const mpki_block *a, const T *x, int nrhs, int conjugate, T *y);
void ISA_FN(block_multiply)(int w, const T *m, int ld, const T *x, int nrhs, T *y);
void ISA_FN(block_multiply_t)(int w, const T *m, int ld, const T *x, int nrhs, int conjugate, T *y);
void ISA_FN(block_diagonal)(int w, const T *d, const T *dinv, int absolute, int hermitian, int nrhs,
                            T *x);
int64_t ISA_FN(block_drop)(int rows, int cols, T *c, int ld, const R *drop, int64_t capacity,
                           int count_only);
size_t ISA_FN(block_bytes)(int rows, int cols, const T *c, int ld, int format);
int ISA_FN(block_smallest)(int rows, int cols, const T *c, int ld, size_t *bytes);
void ISA_FN(block_pack)(int rows, int cols, const T *c, int ld, mpki_block *block);
void ISA_FN(block_unpack)(const mpki_block *block, T *c, int ld);
extern const FN(block_kernels) ISA_FN(block_table);

#endif
