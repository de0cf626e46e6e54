/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_batch_certify: one vector of each matrix at a time, solves of all that are still open at
 * once. */
#include "../core/floats.h"
#include "certify.h"
#include "../problem/certificate.h"
#include "../engines/cpu/batch/batch.h"

#include <string.h>

static const char STAGE[] = "batch";

enum { N = MPK_BATCH_MAX_N, ENTRIES = N * (N + 1) / 2 };

/* What is known of the batch, and one matrix at a time as a problem. */
typedef struct trial {
    mpk_batch batch; /* sizes: n of what is open, else 0 */
    const mpk_batch_array *a;
    mpk_certificate *found;
    int32_t *sizes, *outcome; /* count */
    uint64_t *state;          /* count */
    char *z, *y;              /* n entries of each */
    double *scale;            /* likewise */
    int64_t ap[N + 1];
    int32_t ai[ENTRIES];
    double ax[2 * ENTRIES], zero[2 * N], w[N], sums[MPKI_RESIDUAL_WORK(MPK_Z) * N];
} trial;

static mpk_problem_view matrix(trial *t, int64_t b) {
    const mpk_scalar scalar = t->batch.scalar;
    const int32_t n = t->sizes[b];
    MPKI_DISPATCH(scalar, batch_pack)(t->a, b, n, t->ax);
    int64_t k = 0;
    for (int32_t j = 0; j < n; j++) {
        t->ap[j] = k;
        for (int32_t i = j; i < n; i++) t->ai[k++] = i;
    }
    t->ap[n] = k;
    return (mpk_problem_view){n, k, scalar, t->batch.symmetry, t->ap, t->ai, t->ax};
}

/* y := -A z for the next z = S g of matrix b. */
static void draw(trial *t, int64_t b, bool first) {
    const mpk_problem_view a = matrix(t, b);
    const int64_t size = (int64_t)mpk_scalar_size(a.scalar), at = b * t->batch.n * size;
    double *scale = t->scale + b * t->batch.n;
    if (first) {
        MPKI_DISPATCH(a.scalar, certificate_scale)(a.n, a.ax, 0, false, scale, t->w);
        t->state[b] = mpki_certificate_seed(a.n, 0);
        t->state[b] = mpki_certificate_hash(t->state[b], a.ax, a.nnz * size);
    }
    MPKI_DISPATCH(a.scalar, gaussian)(a.n, scale, &t->state[b], t->z + at);
    mpki_residual(&a, t->z + at, t->zero, t->y + at, t->w, t->sums);
}

/* What the solve left: does the matrix stay open? */
static bool measure(trial *t, int64_t b) {
    const mpk_scalar scalar = t->batch.scalar;
    const int64_t at = b * t->batch.n * (int64_t)mpk_scalar_size(scalar);
    mpk_certificate *found = &t->found[b];
    if (t->outcome[b] == MPK_BATCH_SINGULAR || t->outcome[b] == MPK_BATCH_BREAKDOWN) {
        *found = (mpk_certificate){.miss_bound = 1};
        return false;
    }
    return mpki_certificate_next(
        found, MPKI_DISPATCH(scalar, contraction)(t->sizes[b], t->scale + b * t->batch.n, t->z + at,
                                                  t->y + at));
}

static mpk_status run(mpk_context *ctx, trial *t, mpk_batch_method method, const mpk_batch_array *f,
                      const int32_t *pivots) {
    const mpk_batch_results results = {t->outcome, NULL};
    const int32_t n = t->batch.n;
    const mpk_batch_array y = {MPK_BATCH_STRIDED, MPK_HOST, t->y, n, n > 0 ? n : 1, 0};
    for (int round = 0, open = n > 0; open; round++) {
        for (int64_t b = 0; b < t->batch.count; b++)
            if (t->sizes[b] > 0) draw(t, b, round == 0);
        const mpk_status status =
            mpk_batch_solve(ctx, &t->batch, method, f, pivots, 1, &y, &results);
        if (mpk_failed(status)) return status;
        open = 0;
        for (int64_t b = 0; b < t->batch.count; b++) {
            if (t->sizes[b] > 0 && !measure(t, b)) t->sizes[b] = 0;
            open |= t->sizes[b] > 0;
        }
    }
    mpki_clear_error(ctx); /* outcomes of solves are no errors here */
    return MPK_OK;
}

static mpk_status check(mpk_context *ctx, const mpk_batch *batch, mpk_batch_method method,
                        const mpk_batch_array *a, const mpk_batch_array *f,
                        const mpk_certificate *found) {
    mpk_status status = mpki_batch_check_array(ctx, batch, "a", a, batch->n, batch->n);
    if (!mpk_failed(status))
        status = mpki_batch_check_array(ctx, batch, "f", f, batch->n, batch->n);
    if (mpk_failed(status)) return status;
    if (!found && batch->count > 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "found is NULL");
    if ((unsigned)method > MPK_BATCH_LDLT)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, method,
                          "only LLT and LDLT count an inertia");
    return MPK_OK;
}

/* With all in host memory. */
static mpk_status certify(mpk_context *ctx, const mpk_batch *batch, mpk_batch_method method,
                          const mpk_batch_array *a, const mpk_batch_array *f, const int32_t *pivots,
                          mpk_certificate *found) {
    const bool counted = batch->scalar <= MPK_D || batch->symmetry == MPK_HERMITIAN;
    const size_t size = mpk_scalar_size(batch->scalar);
    trial *t = MPKI_ZNEW(ctx, STAGE, 1, trial);
    if (!t) return mpki_failed(ctx);
    t->batch = *batch, t->a = a, t->found = found;
    t->sizes = MPKI_NEW(ctx, STAGE, batch->count, int32_t);
    t->outcome = MPKI_ZNEW(ctx, STAGE, batch->count, int32_t);
    t->state = MPKI_NEW(ctx, STAGE, batch->count, uint64_t);
    t->z = mpki_alloc(ctx, STAGE, batch->count * batch->n, size);
    t->scale = MPKI_NEW(ctx, STAGE, batch->count * batch->n, double);
    t->y = mpki_calloc(ctx, STAGE, batch->count * batch->n, size);
    mpk_status status = mpki_failed(ctx);
    for (int64_t b = 0; b < batch->count && !mpk_failed(status); b++) {
        const int32_t n = batch->sizes ? batch->sizes[b] : batch->n;
        t->sizes[b] = counted ? n : 0;
        found[b] = (mpk_certificate){.certified = counted && n == 0};
        found[b].miss_bound = !found[b].certified;
    }
    t->batch.sizes = t->sizes;
    if (!mpk_failed(status) && counted) status = run(ctx, t, method, f, pivots);
    mpki_release(ctx, t->sizes);
    mpki_release(ctx, t->outcome);
    mpki_release(ctx, t->state);
    mpki_release(ctx, t->z);
    mpki_release(ctx, t->scale);
    mpki_release(ctx, t->y);
    mpki_release(ctx, t);
    return status;
}

mpk_status mpk_batch_certify(mpk_context *ctx, const mpk_batch *given, mpk_batch_method method,
                             const mpk_batch_array *a, const mpk_batch_array *f,
                             const int32_t *pivots, mpk_certificate *found) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_batch batch;
    mpk_status status = mpki_batch_check_shape(ctx, given, &batch);
    if (!mpk_failed(status)) status = check(ctx, &batch, method, a, f, found);
    if (mpk_failed(status) || batch.count == 0) return status;
    mpk_batch_array here[2] = {*a, *f};
    void *copy[2] = {NULL, NULL};
    int32_t *fetched = NULL;
    for (int k = 0; k < 2 && batch.n > 0 && !mpk_failed(status); k++)
        if (here[k].memory == MPK_DEVICE) {
            copy[k] = mpki_batch_bring(ctx, &batch, k ? f : a, &here[k]);
            if (!copy[k]) status = mpki_failed(ctx);
        }
    if (!mpk_failed(status) && pivots && batch.n > 0 && batch.pivots_memory == MPK_DEVICE) {
        pivots = fetched = mpki_batch_bring_pivots(ctx, &batch, pivots);
        if (!fetched) status = mpki_failed(ctx);
    }
    batch.pivots_memory = batch.results_memory = MPK_HOST;
    batch.asynchronous = 0;
    if (!mpk_failed(status))
        status = certify(ctx, &batch, method, &here[0], &here[1], pivots, found);
    mpki_release(ctx, fetched);
    mpki_release(ctx, copy[0]);
    mpki_release(ctx, copy[1]);
    return status;
}
