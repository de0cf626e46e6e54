/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands a chunk of matrices to the kernels: where they lie, if that layout suits the kernel; else
 * copied side by side, MPKI_BATCH_PACK of one order at a time. */
#include "access.h"
#include "emitted.h"
#include "kernels.h"

/* A worker's memory: that of the kernel, copies of A and B, pivots and infos. */
typedef struct space {
    T *kernel, *a, *b;
    int32_t *piv, *info;
} space;

static int64_t rounded(int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static int64_t lay_out(const mpki_batch_job *job, char *at, space *s) {
    const int64_t n = job->batch.n, pack = MPKI_BATCH_PACK, size = sizeof(T);
    int64_t offset = 0;
    const int64_t bytes[] = {FN(batch_work_size) * size, pack * n * n * size,
                             pack * n * job->nrhs * size, pack * 2 * n * (int64_t)sizeof(int32_t),
                             MPKI_BATCH_RUN * MPKI_BATCH_INFO * (int64_t)sizeof(int32_t)};
    void *part[5];
    for (int k = 0; k < 5; k++) {
        part[k] = at ? at + offset : NULL;
        offset += rounded(bytes[k]);
    }
    if (s) *s = (space){part[0], part[1], part[2], part[3], part[4]};
    return offset;
}

int64_t FN(batch_work_bytes)(const mpki_batch_job *job) {
    return lay_out(job, NULL, NULL);
}

bool FN(batch_has)(mpk_batch_method method, mpk_pivoting pivoting) {
    return FN(batch_portable)()->factor[method][pivoting] != NULL;
}

static void report(mpki_batch_job *job, int64_t b, const int32_t *info, bool inertia) {
    if (job->results.outcome) job->results.outcome[b] = info[0];
    if (inertia && job->results.inertia)
        for (int k = 0; k < 3; k++) job->results.inertia[3 * b + k] = info[k + 1];
    if (info[0] == MPK_BATCH_SINGULAR) job->singular = 1;
    if (info[0] > MPK_BATCH_SINGULAR) job->failed = 1;
}

static int64_t matrix(const mpki_batch_job *job, int64_t k) {
    return job->order ? job->order[k] : k;
}

static int order_of(const mpki_batch_job *job, int64_t k) {
    return job->batch.sizes ? job->batch.sizes[matrix(job, k)] : job->batch.n;
}

/* How many matrices from number k of the chunk on go into one call: of one order, at most
 * `most`. */
static int run_of(const mpki_batch_job *job, int64_t k, int64_t last, int most) {
    int n = order_of(job, k), count = 1;
    while (count < most && k + count < last && order_of(job, k + count) == n) count++;
    return count;
}

static R tolerance(const mpk_batch *batch, int n) {
    return batch->zero_tolerance < 0 ? 4 * (R)n * R_EPS : (R)batch->zero_tolerance;
}

/* Copy the caller's pivots of a matrix of order n to (+1) or from (-1) the kernel's. */
static void move_pivots(const mpki_batch_job *job, int64_t b, int n, int32_t *piv, int direction) {
    const int lists = job->method == MPK_BATCH_LDU ? 2 : 1;
    int32_t *theirs = job->pivots + b * job->batch.n * lists;
    for (int k = 0; k < n * lists; k++) {
        int32_t *x = &theirs[k % n + k / n * job->batch.n], *y = &piv[k];
        if (direction > 0)
            *y = *x;
        else
            *x = *y;
    }
}

static void factor_copies(mpki_batch_job *job, int64_t k, int count, int n, const space *s,
                          FN(batch_factor_fn) kernel) {
    const bool lower = job->method != MPK_BATCH_LDU;
    const int lists = lower ? 1 : 2;
    const int64_t size = (int64_t)n * n;
    for (int i = 0; i < count; i++) {
        FN(fetch)(FN(view_of)(job->a, matrix(job, k + i)), n, n, lower, s->a + i * size, n);
        if (job->batch.pivoting == MPK_PIVOTING_STATIC)
            move_pivots(job, matrix(job, k + i), n, s->piv + i * n * lists, 1);
    }
    kernel(count, n, s->a, n, size, job->pivots ? s->piv : NULL, s->info, tolerance(&job->batch, n),
           job->batch.symmetry == MPK_HERMITIAN, s->kernel);
    for (int i = 0; i < count; i++) {
        const int64_t b = matrix(job, k + i);
        if (s->info[i * MPKI_BATCH_INFO] <= MPK_BATCH_SINGULAR)
            FN(bring)(FN(view_of)(job->a, b), n, n, lower, s->a + i * size, n);
        if (job->batch.pivoting >= MPK_PIVOTING_PARTIAL)
            move_pivots(job, b, n, s->piv + i * n * lists, -1);
        report(job, b, s->info + i * MPKI_BATCH_INFO, true);
    }
}

static void factor_in_place(mpki_batch_job *job, int64_t k, int count, int n, const space *s,
                            FN(batch_factor_fn) kernel) {
    FN(view) v = FN(view_of)(job->a, k);
    const int lists = job->method == MPK_BATCH_LDU ? 2 : 1;
    kernel(count, n, v.p, v.ld, job->a->stride, job->pivots ? job->pivots + k * n * lists : NULL,
           s->info, tolerance(&job->batch, n), job->batch.symmetry == MPK_HERMITIAN, s->kernel);
    for (int i = 0; i < count; i++) report(job, k + i, s->info + i * MPKI_BATCH_INFO, true);
}

static bool lies_well(const mpki_batch_job *job, const mpk_batch_array *x) {
    return x->layout == MPK_BATCH_STRIDED && !job->order;
}

void FN(batch_factor_chunk)(mpki_batch_job *job, int64_t first, int64_t last, void *work) {
    const bool in_place = lies_well(job, job->a);
    const int most = in_place ? MPKI_BATCH_RUN : MPKI_BATCH_PACK;
    const int32_t empty[MPKI_BATCH_INFO] = {MPK_BATCH_OK, 0, 0, 0};
    space s;
    lay_out(job, work, &s);
    for (int64_t k = first; k < last;) {
        const int n = order_of(job, k), count = run_of(job, k, last, most);
        FN(batch_factor_fn)
        kernel = in_place && job->a->ld > FN(batch_emitted_ld)
                     ? FN(batch_portable)()->factor[job->method][job->batch.pivoting]
                     : FN(batch_factor_kernel)(job->method, job->batch.pivoting, n,
                                               job->batch.symmetry == MPK_HERMITIAN);
        if (n == 0)
            for (int i = 0; i < count; i++) report(job, matrix(job, k + i), empty, true);
        else if (in_place)
            factor_in_place(job, k, count, n, &s, kernel);
        else
            factor_copies(job, k, count, n, &s, kernel);
        k += count;
    }
}

static void solve_copies(mpki_batch_job *job, int64_t k, int count, int n, const space *s,
                         FN(batch_solve_fn) kernel) {
    const bool lower = job->method != MPK_BATCH_LDU;
    const int lists = lower ? 1 : 2, nrhs = job->nrhs;
    const int64_t size = (int64_t)n * n, size_b = (int64_t)n * nrhs;
    for (int i = 0; i < count; i++) {
        const int64_t b = matrix(job, k + i);
        FN(fetch)(FN(view_of)(job->a, b), n, n, lower, s->a + i * size, n);
        FN(fetch)(FN(view_of)(job->b, b), n, nrhs, false, s->b + i * size_b, n);
        if (job->pivots) move_pivots(job, b, n, s->piv + i * n * lists, 1);
    }
    kernel(count, n, nrhs, s->a, n, size, job->pivots ? s->piv : NULL, s->b, n, size_b, s->info,
           job->batch.symmetry == MPK_HERMITIAN, s->kernel);
    for (int i = 0; i < count; i++) {
        const int64_t b = matrix(job, k + i);
        FN(bring)(FN(view_of)(job->b, b), n, nrhs, false, s->b + i * size_b, n);
        report(job, b, s->info + i * MPKI_BATCH_INFO, false);
    }
}

static void solve_in_place(mpki_batch_job *job, int64_t k, int count, int n, const space *s,
                           FN(batch_solve_fn) kernel) {
    FN(view) a = FN(view_of)(job->a, k), b = FN(view_of)(job->b, k);
    const int lists = job->method == MPK_BATCH_LDU ? 2 : 1;
    kernel(count, n, job->nrhs, a.p, a.ld, job->a->stride,
           job->pivots ? job->pivots + k * n * lists : NULL, b.p, b.ld, job->b->stride, s->info,
           job->batch.symmetry == MPK_HERMITIAN, s->kernel);
    for (int i = 0; i < count; i++) report(job, k + i, s->info + i * MPKI_BATCH_INFO, false);
}

void FN(batch_solve_chunk)(mpki_batch_job *job, int64_t first, int64_t last, void *work) {
    const bool in_place = lies_well(job, job->a) && lies_well(job, job->b);
    const int most = in_place ? MPKI_BATCH_RUN : MPKI_BATCH_PACK;
    const int32_t empty[MPKI_BATCH_INFO] = {MPK_BATCH_OK, 0, 0, 0};
    FN(batch_solve_fn) kernel = FN(batch_portable)()->solve[job->method];
    space s;
    lay_out(job, work, &s);
    for (int64_t k = first; k < last;) {
        const int n = order_of(job, k), count = run_of(job, k, last, most);
        if (n == 0 || job->nrhs == 0)
            for (int i = 0; i < count; i++) report(job, matrix(job, k + i), empty, false);
        else if (in_place)
            solve_in_place(job, k, count, n, &s, kernel);
        else
            solve_copies(job, k, count, n, &s, kernel);
        k += count;
    }
}
