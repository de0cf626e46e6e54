/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CUDA_SPSV_H
#define BENCH_CUDA_SPSV_H
/** The triangle of a factor on blocks as a sparse matrix of numbers, L^ = I + N with N_ik = L_ik
 *  M_k (engines/cpu/block_factor/inverse.h), solved with by cuSPARSE's SpSV, which finds level sets
 *  of its own in its analysis. Real factors. */
#include "cases.h"
#include "unpack.h"
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <math.h>

typedef struct spsv_triangle {
    int32_t n;
    int64_t nnz;
    int32_t *ptr[2], *index[2]; /* 0: rows of L^, 1: of its transpose; the diagonal is there */
    double *val[2];
} spsv_triangle;

static inline void spsv_free(spsv_triangle *t) {
    for (int k = 0; k < 2; k++) free(t->ptr[k]), free(t->index[k]), free(t->val[k]);
}

/* Columns of N for one frame, at its first row's column; returns how many entries, or fills
 * them. */
static inline int64_t spsv_frame(const mpki_blocks *bf, const int32_t *start, int32_t f,
                                 spsv_triangle *t, int32_t *next) {
    const mpki_ibcsr *x = &bf->stages->index;
    const int w = mpki_frame_rows(bf->stages->blocking, f);
    static double complex m[32 * 32], l[32 * 32];
    int64_t count = 0;
    unpack_cpu(&bf->frame[f].m, w, w, m);
    for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
        const int rows = mpki_frame_rows(bf->stages->blocking, x->entry[e].other);
        const mpki_block *b = &bf->lower[x->entry[e].block];
        if (b->format == MPKI_EMPTY) continue;
        unpack_cpu(b, w, rows, l);
        for (int j = 0; j < w; j++)
            for (int i = 0; i < rows; i++) {
                double sum = 0;
                for (int k = 0; k < w; k++) sum -= creal(l[i * w + k]) * creal(m[k * w + j]);
                if (sum == 0) continue;
                count++;
                if (!next) {
                    t->ptr[1][start[f] + j + 1]++;
                    continue;
                }
                const int32_t at = next[start[f] + j]++;
                t->index[1][at] = start[x->entry[e].other] + i, t->val[1][at] = sum;
            }
    }
    return count;
}

/** False: it has too many entries. */
static inline bool spsv_make(const mpki_blocks *bf, int64_t most, spsv_triangle *t) {
    const mpki_ibcsr *x = &bf->stages->index;
    const int32_t n = bf->stages->blocking->n;
    int32_t *start = malloc(((size_t)x->m + 1) * 4), *next = malloc(((size_t)n + 1) * 4), at = 0;
    *t = (spsv_triangle){.n = n, .nnz = n};
    for (int k = 0; k < 2; k++) t->ptr[k] = calloc((size_t)n + 2, 4);
    for (int32_t p = 0; p < x->m; p++) {
        start[x->frame[p]] = at;
        at += mpki_frame_rows(bf->stages->blocking, x->frame[p]);
    }
    for (int32_t f = 0; f < x->m && t->nnz <= most; f++)
        t->nnz += spsv_frame(bf, start, f, t, NULL);
    const bool fits = t->nnz <= most;
    for (int k = 0; k < 2 && fits; k++) {
        t->index[k] = malloc((size_t)t->nnz * 4);
        t->val[k] = malloc((size_t)t->nnz * 8);
    }
    for (int32_t j = 0; j < n && fits; j++) {
        t->ptr[1][j + 1] += t->ptr[1][j] + 1;
        t->index[1][t->ptr[1][j]] = j, t->val[1][t->ptr[1][j]] = 1;
        next[j] = t->ptr[1][j] + 1;
    }
    for (int32_t f = 0; f < x->m && fits; f++) spsv_frame(bf, start, f, t, next);
    for (int64_t e = 0; e < t->nnz && fits; e++) t->ptr[0][t->index[1][e] + 1]++;
    for (int32_t i = 0; i < n && fits; i++)
        t->ptr[0][i + 1] += t->ptr[0][i], next[i] = t->ptr[0][i];
    for (int32_t j = 0; j < n && fits; j++)
        for (int32_t e = t->ptr[1][j]; e < t->ptr[1][j + 1]; e++) {
            const int32_t to = next[t->index[1][e]]++;
            t->index[0][to] = j, t->val[0][to] = t->val[1][e];
        }
    free(start), free(next);
    return fits;
}

#define SPSV_TRY(call)                                                                             \
    do {                                                                                           \
        const int spsv_status = (int)(call);                                                       \
        if (spsv_status) {                                                                         \
            fprintf(stderr, "%s: %d\n", #call, spsv_status);                                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline void *spsv_up(const void *from, int64_t bytes) {
    void *to = NULL;
    SPSV_TRY(cudaMalloc(&to, bytes > 0 ? (size_t)bytes : 1));
    if (from) SPSV_TRY(cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyHostToDevice));
    return to;
}

/** Solves with one direction, right-hand side b[i] = sin(i + 1). ms [out]: analysis, a solve
 *  (median of 11); error: largest
 *  |L^ x - b| relative to the largest |x|. half: as ptr. */
static inline void spsv_solve(const spsv_triangle *t, int half, double ms[2], double *error) {
    enum { REPEAT = 11 };
    const int64_t n = t->n;
    double *b = malloc((size_t)n * 8), *x = malloc((size_t)n * 8), time[REPEAT];
    for (int64_t i = 0; i < n; i++) b[i] = sin((double)i + 1);
    void *ptr = spsv_up(t->ptr[half], 4 * (n + 1)), *index = spsv_up(t->index[half], 4 * t->nnz);
    void *val = spsv_up(t->val[half], 8 * t->nnz), *vb = spsv_up(b, 8 * n),
         *vx = spsv_up(NULL, 8 * n);
    cusparseHandle_t handle;
    cusparseSpMatDescr_t a;
    cusparseDnVecDescr_t db, dx;
    cusparseSpSVDescr_t about;
    const cusparseFillMode_t fill = half ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
    const cusparseDiagType_t unit = CUSPARSE_DIAG_TYPE_UNIT;
    const cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const cusparseSpSVAlg_t algorithm = CUSPARSE_SPSV_ALG_DEFAULT;
    const double one = 1;
    size_t bytes = 0;
    SPSV_TRY(cusparseCreate(&handle));
    SPSV_TRY(cusparseCreateCsr(&a, n, n, t->nnz, ptr, index, val, CUSPARSE_INDEX_32I,
                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
    SPSV_TRY(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, (void *)&fill, sizeof fill));
    SPSV_TRY(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_DIAG_TYPE, (void *)&unit, sizeof unit));
    SPSV_TRY(cusparseCreateDnVec(&db, n, vb, CUDA_R_64F));
    SPSV_TRY(cusparseCreateDnVec(&dx, n, vx, CUDA_R_64F));
    SPSV_TRY(cusparseSpSV_createDescr(&about));
    SPSV_TRY(
        cusparseSpSV_bufferSize(handle, op, &one, a, db, dx, CUDA_R_64F, algorithm, about, &bytes));
    void *room = spsv_up(NULL, (int64_t)bytes);
    double start = case_now();
    SPSV_TRY(
        cusparseSpSV_analysis(handle, op, &one, a, db, dx, CUDA_R_64F, algorithm, about, room));
    SPSV_TRY(cudaDeviceSynchronize());
    ms[0] = 1e3 * (case_now() - start);
    for (int k = -1; k < REPEAT; k++) {
        start = case_now();
        SPSV_TRY(cusparseSpSV_solve(handle, op, &one, a, db, dx, CUDA_R_64F, algorithm, about));
        SPSV_TRY(cudaDeviceSynchronize());
        if (k >= 0) time[k] = 1e3 * (case_now() - start);
    }
    ms[1] = case_median(time, REPEAT);
    SPSV_TRY(cudaMemcpy(x, vx, (size_t)n * 8, cudaMemcpyDeviceToHost));
    double worst = 0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = -b[i];
        for (int32_t e = t->ptr[half][i]; e < t->ptr[half][i + 1]; e++)
            sum += t->val[half][e] * x[t->index[half][e]];
        if (!(fabs(sum) <= worst)) worst = fabs(sum);
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]);
    }
    *error = worst / most;
    cusparseSpSV_destroyDescr(about);
    cusparseDestroyDnVec(db), cusparseDestroyDnVec(dx), cusparseDestroySpMat(a),
        cusparseDestroy(handle);
    void *const all[] = {ptr, index, val, vb, vx, room};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) cudaFree(all[k]);
    free(b), free(x);
}

#endif
