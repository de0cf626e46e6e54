/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits a matrix for a Schur complement. */
#include "split.h"
#include "../problem/problem.h"

#include <string.h>

static const char STAGE[] = "schur";

void mpki_split_free(mpki_split **handle) {
    mpki_split *s = *handle;
    if (!s) return;
    mpki_release(s->ctx, s->variable);
    mpki_release(s->ctx, s->interior);
    mpki_release(s->ctx, s->ap);
    mpki_release(s->ctx, s->ai);
    mpki_release(s->ctx, s->corner_ap);
    mpki_release(s->ctx, s->corner_ai);
    mpki_release(s->ctx, s->place);
    mpki_layout_release(&s->layout);
    mpki_values_release(&s->values);
    mpki_release(s->ctx, s);
    *handle = NULL;
}

void mpki_split_inner_free(mpk_problem *inner) {
    mpki_layout_release(&inner->layout);
    mpki_values_release(&inner->values);
    *inner = (mpk_problem){0};
}

/* index [out] n: number among the interior variables, or ~number among the outer ones */
static mpk_status number(mpki_split *s, const int32_t *variables, int32_t *index) {
    const int32_t n = s->n;
    int32_t next = 0;
    for (int32_t i = 0; i < n; i++) index[i] = 0;
    for (int32_t k = 0; k < s->outer; k++) {
        const int32_t v = variables[k];
        if (v < 0 || v >= n)
            return mpki_error(s->ctx, MPK_ERR_ARGUMENT, STAGE, k,
                              "variable %d of the list is %d, and A has 0 to %d", k, v, n - 1);
        if (index[v] < 0)
            return mpki_error(s->ctx, MPK_ERR_ARGUMENT, STAGE, k,
                              "variable %d stands twice in the list", v);
        index[v] = ~k;
        s->variable[k] = v;
    }
    for (int32_t i = 0; i < n; i++) {
        if (index[i] < 0) continue;
        s->interior[next] = i;
        index[i] = next++;
    }
    return MPK_OK;
}

/* Where an entry goes: its part, column and row there; and whether the triangle flips. */
typedef struct target {
    int part; /* 0: A_11, 1: A_21, 2: A_22 */
    int32_t row, col;
    bool flips;
} target;

static target target_of(const int32_t *index, int32_t i, int32_t j) {
    const int32_t a = index[i], b = index[j];
    if (a >= 0 && b >= 0) return (target){0, a, b, false};
    if (b >= 0) return (target){1, ~a, b, false};
    if (a >= 0) return (target){1, ~b, a, true};
    if (~a >= ~b) return (target){2, ~a, ~b, false};
    return (target){2, ~b, ~a, true};
}

/* counts -> pointers */
static void add_up(int32_t n, int64_t *ptr) {
    int64_t sum = 0;
    for (int32_t j = 0; j <= n; j++) {
        const int64_t count = ptr[j];
        ptr[j] = sum;
        sum += count;
    }
}

typedef struct part {
    int32_t cols;
    int64_t *ap;
    int32_t *ai;
    int64_t *where; /* its entry of A; ~: it flips */
} part;

static bool part_alloc(mpk_context *ctx, int32_t cols, part *p) {
    p->cols = cols;
    p->ap = MPKI_ZNEW(ctx, STAGE, (int64_t)cols + 1, int64_t);
    return p->ap != NULL;
}

static bool part_fill(mpk_context *ctx, part *p) {
    add_up(p->cols, p->ap);
    p->ai = MPKI_NEW(ctx, STAGE, p->ap[p->cols], int32_t);
    p->where = MPKI_NEW(ctx, STAGE, p->ap[p->cols], int64_t);
    return p->ai && p->where;
}

/* Patterns of the three parts, and the places of A's entries in their values. */
static mpk_status cut(mpki_split *s, const mpk_problem *a, const int32_t *index, part *parts) {
    mpk_context *ctx = s->ctx;
    const int32_t inner = s->n - s->outer;
    if (!part_alloc(ctx, inner, &parts[0]) || !part_alloc(ctx, inner, &parts[1]) ||
        !part_alloc(ctx, s->outer, &parts[2]))
        return mpki_failed(ctx);
    for (int32_t j = 0; j < s->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const target t = target_of(index, a->ai[k], j);
            parts[t.part].ap[t.col]++;
        }
    for (int p = 0; p < 3; p++)
        if (!part_fill(ctx, &parts[p])) return mpki_failed(ctx);
    for (int32_t j = 0; j < s->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const target t = target_of(index, a->ai[k], j);
            part *p = &parts[t.part];
            const int64_t at = p->ap[t.col]++;
            p->ai[at] = t.row;
            p->where[at] = t.flips ? ~k : k;
        }
    int64_t before = 0;
    for (int p = 0; p < 3; p++) {
        part *q = &parts[p];
        for (int32_t j = q->cols; j > 0; j--) q->ap[j] = q->ap[j - 1];
        q->ap[0] = 0;
        for (int64_t k = 0; k < q->ap[q->cols]; k++) {
            const int64_t w = q->where[k];
            if (w < 0)
                s->place[~w] = a->symmetry == MPK_HERMITIAN ? ~(before + k) : before + k;
            else
                s->place[w] = before + k;
        }
        before += q->ap[q->cols];
    }
    return MPK_OK;
}

/* The interior as a problem; it takes over the pattern of its part. */
static mpk_status make_inner(const mpki_split *s, const mpk_problem *a, part *p,
                             mpk_problem *inner) {
    mpk_context *ctx = s->ctx;
    *inner = (mpk_problem){.ctx = ctx, .scalar = a->scalar, .symmetry = a->symmetry, .split = s};
    inner->layout = mpki_layout_new(ctx, STAGE, p->cols, p->ap[p->cols], p->ap, p->ai);
    if (!inner->layout) return mpki_failed(ctx);
    p->ap = NULL, p->ai = NULL;
    inner->values = mpki_values_new(ctx, STAGE, a->nnz * (int64_t)mpk_scalar_size(a->scalar));
    if (!inner->values) return mpki_failed(ctx);
    mpki_split_values(s, a->scalar, a->ax, inner->values->ax);
    mpki_problem_look(inner);
    return MPK_OK;
}

mpk_status mpki_split_make(mpk_context *ctx, const mpk_problem *problem, int32_t count,
                           const int32_t *variables, mpki_split **split, mpk_problem *inner) {
    const int32_t n = problem->n;
    part parts[3] = {{0}};
    mpki_split *s = MPKI_ZNEW(ctx, STAGE, 1, mpki_split);
    int32_t *index = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = s && index ? MPK_OK : mpki_failed(ctx);
    *inner = (mpk_problem){0};
    if (s) *s = (mpki_split){.ctx = ctx, .n = n, .outer = count};
    if (!mpk_failed(status)) {
        s->variable = MPKI_NEW(ctx, STAGE, count, int32_t);
        s->interior = MPKI_NEW(ctx, STAGE, (int64_t)n - count, int32_t);
        s->place = MPKI_NEW(ctx, STAGE, problem->nnz, int64_t);
        s->layout = mpki_layout_share(ctx, STAGE, problem->layout);
        s->values = mpki_values_share(ctx, STAGE, problem->scalar, problem->values);
        if (!s->variable || !s->interior || !s->place || !s->layout || !s->values)
            status = mpki_failed(ctx);
    }
    if (!mpk_failed(status)) status = number(s, variables, index);
    if (!mpk_failed(status)) status = cut(s, problem, index, parts);
    if (!mpk_failed(status)) {
        s->ap = parts[1].ap, s->ai = parts[1].ai;
        s->corner_ap = parts[2].ap, s->corner_ai = parts[2].ai;
        parts[1].ap = parts[2].ap = NULL, parts[1].ai = parts[2].ai = NULL;
        status = make_inner(s, problem, &parts[0], inner);
    }
    for (int p = 0; p < 3; p++) {
        mpki_release(ctx, parts[p].ap);
        mpki_release(ctx, parts[p].ai);
        mpki_release(ctx, parts[p].where);
    }
    mpki_release(ctx, index);
    if (mpk_failed(status)) {
        mpki_split_inner_free(inner);
        mpki_split_free(&s);
    }
    *split = s;
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* `parts` real numbers an entry; there: from A's order to that of the parts, else back. */
#define COPY(real)                                                                                 \
    for (int64_t k = 0; k < count; k++) {                                                          \
        const int64_t at = s->place[k] < 0 ? ~s->place[k] : s->place[k];                           \
        const real *x = (const real *)from + parts * (there ? k : at);                             \
        real *y = (real *)to + parts * (there ? at : k);                                           \
        y[0] = x[0];                                                                               \
        if (parts > 1) y[1] = s->place[k] < 0 ? -x[1] : x[1];                                      \
    }

static void copy(const mpki_split *s, mpk_scalar scalar, bool there, const void *from, void *to) {
    const int64_t count = s->layout->nnz, parts = scalar >= MPK_C ? 2 : 1;
    if (scalar == MPK_D || scalar == MPK_Z) {
        COPY(double)
    } else {
        COPY(float)
    }
}
#undef COPY

void mpki_split_values(const mpki_split *s, mpk_scalar scalar, const void *from, void *to) {
    copy(s, scalar, true, from, to);
}

void mpki_split_whole(const mpki_split *s, mpk_scalar scalar, const void *from, void *to) {
    copy(s, scalar, false, from, to);
}
