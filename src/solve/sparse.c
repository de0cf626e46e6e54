/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve_sparse(): the checks of lists, who solves, and what is verified of it. */
#include "sparse.h"
#include "iterate.h"
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../factor/apply.h"
#include "../factor/null_space.h"
#include <metapack/solve_sparse.h>

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

enum { TOGETHER = 32 /* right-hand sides that are solved in all rows at once */ };

/* ---- the caller's lists ---------------------------------------------------------------------- */

static mpk_status check_lists(mpk_context *ctx, const mpk_analysis *an,
                              const mpki_sparse_sides *s) {
    if (s->nrhs < 0 || s->wanted < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "nrhs = %d or wanted = %d is negative",
                          s->nrhs, s->wanted);
    if (!s->row && s->wanted != an->n)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, s->wanted,
                          "without a list of rows all are wanted: %d, not %d", an->n, s->wanted);
    if (s->ldx < s->wanted)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, s->ldx,
                          "ldx = %lld is smaller than wanted = %d", (long long)s->ldx, s->wanted);
    if (!mpki_fits(s->nrhs, s->ldx, mpk_scalar_size(an->scalar)))
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, s->ldx, "x does not fit any memory");
    if (!s->bptr || (!s->x && s->nrhs > 0 && s->wanted > 0))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "bptr or x is NULL");
    for (int32_t r = 0; r <= s->nrhs; r++)
        if (r == 0 ? s->bptr[0] != 0 : s->bptr[r] < s->bptr[r - 1])
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, r,
                              "bptr[%d] = %lld: it has to begin with 0 and ascend", r,
                              (long long)s->bptr[r]);
    const int64_t entries = s->bptr[s->nrhs];
    if (entries > 0 && (!s->brow || !s->bval))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "brow or bval is NULL");
    for (int64_t k = 0; k < entries; k++)
        if (s->brow[k] < 0 || s->brow[k] >= an->n)
            return mpki_error(ctx, MPK_ERR_INPUT, STAGE, k, "brow[%lld] = %d is no row of %d",
                              (long long)k, s->brow[k], an->n);
    for (int32_t i = 0; s->row && i < s->wanted; i++)
        if (s->row[i] < 0 || s->row[i] >= an->n)
            return mpki_error(ctx, MPK_ERR_INPUT, STAGE, i, "row[%d] = %d is no row of %d", i,
                              s->row[i], an->n);
    const int64_t bad = entries > 0 ? mpki_first_nonfinite(an->scalar, entries, s->bval) : -1;
    if (bad >= 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, bad, "bval[%lld] is not finite",
                          (long long)bad);
    return MPK_OK;
}

/* ---- in all rows ----------------------------------------------------------------------------- */

/* Refined, or by an engine that has no paths. options NULL: the factor alone. */
static mpk_status solve_all_rows(mpk_context *ctx, const mpk_factor *fac,
                                 const mpki_sparse_sides *s, const mpk_options *options,
                                 mpk_solve_info *worst) {
    const mpk_scalar scalar = fac->an->scalar;
    const int64_t n = fac->an->n;
    const size_t size = mpk_scalar_size(scalar);
    const int32_t most = s->nrhs < TOGETHER ? s->nrhs : TOGETHER;
    char *const b = mpki_alloc(ctx, STAGE, n * most, size);
    mpki_application m = {0};
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status) && !options)
        status = mpki_apply_make(ctx, fac, fac->options.threads, most, &m);
    *worst = (mpk_solve_info){.solved = 1, .consistent = 1};
    for (int32_t first = 0; first < s->nrhs && !mpk_failed(status); first += most) {
        const int32_t count = s->nrhs - first < most ? s->nrhs - first : most;
        mpk_solve_info info = {0};
        memset(b, 0, (size_t)(n * count) * size);
        for (int32_t r = 0; r < count; r++)
            MPKI_DISPATCH(scalar, sparse_scatter)(s, first + r, b + (size_t)(r * n) * size);
        const mpk_status one = options
                                   ? mpki_solve(ctx, fac, count, b, n, b, n, options, &info, NULL)
                                   : mpki_apply(&m, MPK_PART_ALL, count, b, n, b, n);
        status = mpki_worse(status, one);
        for (int32_t r = 0; r < count && !mpk_failed(status); r++)
            MPKI_DISPATCH(scalar, sparse_gather)
        (s, b + (size_t)(r * n) * size, (char *)s->x + (size_t)((first + r) * s->ldx) * size);
        worst->componentwise = fmax(worst->componentwise, info.componentwise);
        worst->normwise = fmax(worst->normwise, info.normwise);
        worst->unrefined = fmax(worst->unrefined, info.unrefined);
        worst->relative_residual = fmax(worst->relative_residual, info.relative_residual);
        worst->correction = fmax(worst->correction, info.correction);
        worst->time_s += info.time_s;
        if (info.iterations > worst->iterations) worst->iterations = info.iterations;
        worst->solved &= info.solved;
        if (info.consistent < worst->consistent) worst->consistent = info.consistent;
    }
    mpki_apply_free(&m);
    mpki_release(ctx, b);
    return status;
}

/* ---- along paths ----------------------------------------------------------------------------- */

static mpk_status solve_rows(mpk_context *ctx, const mpk_factor *fac, const mpki_sparse_sides *s,
                             mpk_sparse_info *info) {
    const mpki_direct_engine *e = fac->engine->direct;
    mpk_solve_info none;
    mpki_sparse_done done;
    if (!e->sparse || fac->an->symmetry == MPK_GENERAL) {
        info->share = 1;
        return solve_all_rows(ctx, fac, s, NULL, &none);
    }
    const mpk_status status = e->sparse(ctx, fac->direct, fac->options.threads, s, &done);
    info->nodes = done.nodes;
    info->entries = done.entries;
    info->share = done.full > 0 ? (double)done.entries / ((double)done.full * s->nrhs) : 0;
    return status;
}

/* What a check of rows works with. */
typedef struct rows_check {
    int32_t *index,
        *place;    /* n: of a row among the wanted, and in the list of rows of x; -1: none */
    int32_t *list; /* rows of x: the wanted ones, each once, then their neighbours */
    int32_t listed;
    mpki_few_rows rows;
    void *x, *b;
} rows_check;

static void rows_check_free(mpk_context *ctx, rows_check *c) {
    mpki_release(ctx, c->index);
    mpki_release(ctx, c->place);
    mpki_release(ctx, c->list);
    mpki_release(ctx, c->rows.ptr);
    mpki_release(ctx, c->rows.at);
    mpki_release(ctx, c->rows.value);
    mpki_release(ctx, c->x);
    mpki_release(ctx, c->b);
}

static int32_t put(rows_check *c, int32_t row) {
    if (c->place[row] < 0) {
        c->place[row] = c->listed;
        c->list[c->listed++] = row;
    }
    return c->place[row];
}

/* The wanted rows of A, each entry by `tell` once it is known how many there are. */
static void go_through(const mpk_problem_view *a, rows_check *c, int64_t *next) {
    const bool hermitian = a->symmetry == MPK_HERMITIAN;
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t pair[] = {a->ai[k], j};
            for (int side = 0; side < (pair[0] == j ? 1 : 2); side++) {
                const int32_t at = c->index[pair[side]];
                if (at < 0) continue;
                if (!c->rows.value) {
                    c->rows.ptr[at + 1]++;
                    continue;
                }
                c->rows.at[next[at]] = put(c, pair[!side]);
                MPKI_DISPATCH(a->scalar, sparse_entry)
                (a->ax, k, hermitian && side == 1, c->rows.value, next[at]++);
            }
        }
}

static mpk_status gather_rows(mpk_context *ctx, const mpk_problem_view *a,
                              const mpki_sparse_sides *s, rows_check *c) {
    const int32_t n = a->n;
    c->index = MPKI_NEW(ctx, STAGE, n, int32_t);
    c->place = MPKI_NEW(ctx, STAGE, n, int32_t);
    c->list = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    for (int32_t i = 0; i < n; i++) c->index[i] = c->place[i] = -1;
    for (int32_t i = 0; i < s->wanted; i++) {
        const int32_t row = s->row ? s->row[i] : i;
        c->index[row] = put(c, row);
    }
    c->rows.count = c->listed;
    c->rows.n = n;
    c->rows.ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)c->listed + 1, int64_t);
    int64_t *const next = MPKI_NEW(ctx, STAGE, (int64_t)c->listed + 1, int64_t);
    if (c->rows.ptr && next) {
        go_through(a, c, NULL);
        for (int32_t i = 0; i < c->rows.count; i++) {
            c->rows.ptr[i + 1] += c->rows.ptr[i];
            next[i] = c->rows.ptr[i];
        }
        const int64_t entries = c->rows.ptr[c->rows.count];
        c->rows.at = MPKI_NEW(ctx, STAGE, entries, int32_t);
        c->rows.value = mpki_alloc(ctx, STAGE, entries, mpk_scalar_size(a->scalar));
        if (c->rows.at && c->rows.value) go_through(a, c, next);
    }
    mpki_release(ctx, next);
    return mpki_failed(ctx);
}

/* Solves in the wanted rows and their neighbours, and measures. */
static mpk_status solve_and_check(mpk_context *ctx, const mpk_factor *fac,
                                  const mpki_sparse_sides *s, mpk_sparse_info *info) {
    const mpk_scalar scalar = fac->an->scalar;
    const size_t size = mpk_scalar_size(scalar);
    const mpki_system system = mpki_system_of(ctx, fac);
    rows_check c = {0};
    mpk_status status = gather_rows(ctx, &system.a, s, &c);
    if (!mpk_failed(status)) {
        c.x = mpki_alloc(ctx, STAGE, (int64_t)c.listed * s->nrhs, size);
        c.b = mpki_alloc(ctx, STAGE, c.rows.count, size);
        status = mpki_failed(ctx);
        c.rows.listed = c.listed, c.rows.norm = system.norm_inf;
    }
    mpki_sparse_sides wide = *s;
    wide.wanted = c.listed, wide.row = c.list, wide.x = c.x, wide.ldx = c.listed;
    if (!mpk_failed(status)) status = solve_rows(ctx, fac, &wide, info);
    for (int32_t r = 0; r < s->nrhs && !mpk_failed(status); r++) {
        const char *from = (const char *)c.x + (size_t)r * (size_t)c.listed * size;
        char *to = (char *)s->x + (size_t)(r * s->ldx) * size;
        for (int32_t i = 0; i < s->wanted; i++)
            memcpy(to + (size_t)i * size, from + (size_t)c.place[s->row ? s->row[i] : i] * size,
                   size);
        info->rows = mpki_larger(
            info->rows, MPKI_DISPATCH(scalar, sparse_error)(&c.rows, s, r, c.index, from, c.b));
    }
    rows_check_free(ctx, &c);
    return status;
}

static mpk_status outcome(mpk_context *ctx, const mpk_factor *fac, mpk_sparse_check check,
                          const mpk_sparse_info *info) {
    const double accuracy = mpki_accuracy(&fac->options, fac->an->scalar);
    const int64_t zero = fac->info.inertia.zero;
    if (check == MPK_SPARSE_ROWS && !(info->rows <= accuracy))
        return mpki_error(
            ctx, MPK_INACCURATE, STAGE, -1,
            "in the equations of the wanted rows the backward error is %.1e, %.1e was "
            "asked for; %lld pivots of %d are zero; MPK_SPARSE_FULL refines",
            info->rows, accuracy, (long long)zero, fac->an->n);
    if (zero > 0)
        return mpki_error(ctx, MPK_SINGULAR, STAGE, zero,
                          "%lld zero pivots of %d, which give 0 in x", (long long)zero, fac->an->n);
    return MPK_OK;
}

mpk_status mpk_solve_sparse(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                            const int64_t *bptr, const int32_t *brow, const void *bval,
                            int32_t wanted, const int32_t *row, mpk_sparse_check check, void *x,
                            int64_t ldx, mpk_sparse_info *out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    const double start_s = mpki_now_s();
    mpki_clear_error(ctx);
    const mpki_sparse_sides sides = {nrhs, bptr, brow, bval, wanted, row, x, ldx};
    mpk_sparse_info info = {0};
    mpk_status status = mpki_null_usable(ctx, STAGE, fac);
    if (!mpk_failed(status) && (unsigned)check > MPK_SPARSE_FULL)
        status =
            mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, check, "there is no check %d", (int)check);
    if (!mpk_failed(status)) status = check_lists(ctx, fac->an, &sides);
    if (!mpk_failed(status)) status = mpki_factor_bring(ctx, fac);
    if (mpk_failed(status)) return status;
    const bool some = nrhs > 0 && wanted > 0 && fac->an->n > 0;
    if (some && check == MPK_SPARSE_FULL) {
        info.share = 1;
        status = solve_all_rows(ctx, fac, &sides, &fac->options, &info.solve);
    } else if (some) {
        status = check == MPK_SPARSE_ROWS ? solve_and_check(ctx, fac, &sides, &info)
                                          : solve_rows(ctx, fac, &sides, &info);
        if (!mpk_failed(status)) status = outcome(ctx, fac, check, &info);
    }
    if (mpk_failed(status)) return status;
    info.time_s = mpki_now_s() - start_s;
    if (out) *out = info;
    return status;
}
