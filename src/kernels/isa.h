/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ISA_H
#define MPKI_ISA_H
/** Names of kernels: ISA_FN(multiply) is FN(avx512_multiply), that is mpki_d_avx512_multiply, and
 *  so on. It is needed beside FN() because a kernel's file is compiled once for each precision and
 *  instruction set, while FN() names what all sets share: types and their tables. To find a
 *  definition, search for its text, ISA_FN(multiply)( at the start of a line, in *_k.c. */
#include "kernels.h"

#ifndef MPKI_ISA
#define MPKI_ISA generic
#endif
#define MPKI_OF_ISA2(isa, name) FN(isa##_##name)
#define MPKI_OF_ISA(isa, name) MPKI_OF_ISA2(isa, name)
#define ISA_FN(name) MPKI_OF_ISA(MPKI_ISA, name)
#define MPKI_STRING2(x) #x
#define MPKI_STRING(x) MPKI_STRING2(x)

void ISA_FN(multiply)(int64_t rows, int cols, int depth, const T *a, int64_t lda, const T *packed,
                      T *c, int64_t ldc, int overwrite, int64_t below);
void ISA_FN(pack)(int cols, int depth, const T *l, int64_t ldl, const T *d, int hermitian,
                  T *packed);
int ISA_FN(apply)(int64_t rows, int b, int np, T *x, int64_t ldx, const int32_t *perm, const T *l,
                  int64_t ldl, const T *packed, const T *dinv, int hermitian, R bound);
int ISA_FN(tile)(int n, T *a, int32_t *perm, T *d, T *dinv, int hermitian, R small);
void ISA_FN(gemv)(int64_t rows, int cols, const T *a, int64_t lda, const T *x, T *y);
void ISA_FN(gemvt)(int64_t rows, int cols, const T *a, int64_t lda, const T *x, T *y,
                   int conjugate);
void ISA_FN(rows)(int64_t rows, int64_t depth, const T *a, int64_t down, int64_t along,
                  int conjugate, int nr, const T *x, T *y);
void ISA_FN(lower)(int n, const T *l, int64_t ldl, int nr, T *v);
void ISA_FN(lower_t)(int n, const T *l, int64_t ldl, int conjugate, int nr, T *v);
void ISA_FN(residual)(int32_t n, const int64_t *ap, const int32_t *ai, const T *ax, int hermitian,
                      const T *x, const T *b, T *r, double *w, double *work);
void ISA_FN(residual_columns)(int32_t n, const int64_t *ap, const int32_t *ai, const T *ax,
                              const T *x, const T *b, T *r, double *w, double *work);
void ISA_FN(residual_rows)(int32_t r0, int32_t r1, const int64_t *ptr, const int32_t *col,
                           const T *val, const T *x, const T *b, T *r, double *w);
extern const FN(kernels) ISA_FN(table);

#endif
