/* SPDX-License-Identifier: BSD-3-Clause */
/* Dense LDLT and its solves on the device for one kind of entries: the module's entries. */
#include "ldlt.cuh"
#include "solve.cuh"

using namespace mpki;

int FN(cuda_workspace)(mpki_cuda *cuda, const mpki_cuda_dense *d, int64_t nrhs, int64_t *bytes) {
    (void)cuda;
    ldlt_space s;
    const int64_t factor = ldlt_layout(d, NULL, &s), solves = solve_bytes(d->n, nrhs);
    *bytes = factor > solves ? factor : solves;
    return MPK_OK;
}

int FN(cuda_factorize)(mpki_cuda *cuda, mpki_cuda_dense *d) {
    ldlt_space s;
    const int64_t need = ldlt_layout(d, (char *)d->work, &s);
    if (need > d->work_bytes)
        return refuse(cuda, MPK_ERR_ARGUMENT, "the workspace has %lld bytes; %lld are needed",
                      (long long)d->work_bytes, (long long)need);
    if (d->n == 0) return MPK_OK;
    const bool pivot = d->method == MPKI_CUDA_TILE;
#if MPKI_PRECISION >= 2
    if (d->hermitian)
        return pivot ? ldlt<true, true>(cuda, d, s) : ldlt<true, false>(cuda, d, s);
#endif
    return pivot ? ldlt<false, true>(cuda, d, s) : ldlt<false, false>(cuda, d, s);
}

int FN(cuda_solve)(mpki_cuda *cuda, const mpki_cuda_dense *d, int nrhs, void *B, int64_t ldb) {
    const int64_t need = solve_bytes(d->n, nrhs);
    if (need > d->work_bytes)
        return refuse(cuda, MPK_ERR_ARGUMENT, "the workspace has %lld bytes; %lld are needed",
                      (long long)d->work_bytes, (long long)need);
    if (d->n == 0 || nrhs == 0) return MPK_OK;
    const T *A = (const T *)d->A;
    T *X = (T *)B;
    char *work = (char *)d->work;
    cudaStream_t stream = (cudaStream_t)d->stream;
#if MPKI_PRECISION >= 2
    if (d->hermitian)
        return solve<true>(cuda, d->n, A, d->lda, d->perm, d->kind, nrhs, X, ldb, work, stream);
#endif
    return solve<false>(cuda, d->n, A, d->lda, d->perm, d->kind, nrhs, X, ldb, work, stream);
}
