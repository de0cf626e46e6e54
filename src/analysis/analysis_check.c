/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks an analysis: every invariant that analysis.h states. */
#include "analysis.h"
#include "symbolic/symbolic.h"

#include <math.h>

static const char STAGE[] = "analysis_check";

#define REQUIRE(condition, index, ...)                                                             \
    do {                                                                                           \
        if (!(condition)) return mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, (index), __VA_ARGS__);   \
    } while (0)

static mpk_status check_perm(mpk_context *ctx, const mpk_analysis *an) {
    for (int32_t k = 0; k < an->n; k++) {
        REQUIRE(an->perm[k] >= 0 && an->perm[k] < an->n, k, "perm[%d] out of range", k);
        REQUIRE(an->iperm[an->perm[k]] == k, k, "perm and iperm disagree at %d", k);
    }
    return MPK_OK;
}

static mpk_status check_tree(mpk_context *ctx, const mpk_analysis *an) {
    const bool outer = mpki_split_rows(an->split) > 0; /* then the last one has no column */
    int32_t ns = an->nsuper, roots = 0;
    REQUIRE(ns >= 0 && ns <= an->n + outer, ns, "%d supernodes", ns);
    REQUIRE(an->sptr[0] == 0 && an->sptr[ns] == an->n, ns, "sptr does not cover the columns");
    REQUIRE(an->rptr[0] == 0 && an->child_ptr[0] == 0, 0, "pointers do not start at 0");
    for (int32_t s = 0; s < ns; s++) {
        const bool last = outer && s == ns - 1;
        REQUIRE(last ? an->sptr[s] == an->sptr[s + 1] : an->sptr[s] < an->sptr[s + 1], s,
                "supernode %d is empty", s);
        REQUIRE(an->rptr[s] <= an->rptr[s + 1], s, "rptr decreases at %d", s);
        REQUIRE(an->child_ptr[s] <= an->child_ptr[s + 1], s, "child_ptr decreases at %d", s);
        REQUIRE(an->parent[s] == -1 || (an->parent[s] > s && an->parent[s] < ns), s, "parent of %d",
                s);
        REQUIRE(outer ? (an->parent[s] < 0) == last
                      : (an->parent[s] < 0) == (an->rptr[s] == an->rptr[s + 1]),
                s, "supernode %d: a root has no rows below, others have", s);
        roots += an->parent[s] < 0;
        for (int32_t q = an->child_ptr[s]; q < an->child_ptr[s + 1]; q++) {
            REQUIRE(an->child[q] >= 0 && an->child[q] < s && an->parent[an->child[q]] == s, s,
                    "children of %d", s);
            REQUIRE(q == an->child_ptr[s] || an->child[q - 1] < an->child[q], s,
                    "children of %d are not increasing", s);
        }
        double w = an->sptr[s + 1] - an->sptr[s], m = (double)(an->rptr[s + 1] - an->rptr[s]);
        REQUIRE(fabs(an->flops[s] - mpki_front_flops(w, m)) <= 1e-9 * an->flops[s], s,
                "flops of %d", s);
    }
    REQUIRE(an->child_ptr[ns] == ns - roots, ns, "child lists miss supernodes");
    return MPK_OK;
}

/* Postorder: the children's subtrees fill the numbers before their parent, in the order of the
 * list. */
static mpk_status check_postorder(mpk_context *ctx, const mpk_analysis *an, int32_t *first) {
    for (int32_t s = 0; s < an->nsuper; s++) {
        first[s] = s;
        int32_t next = s - 1;
        for (int32_t q = an->child_ptr[s + 1] - 1; q >= an->child_ptr[s]; q--) {
            REQUIRE(an->child[q] == next, s, "supernode %d is not in postorder", s);
            first[s] = first[an->child[q]];
            next = first[s] - 1;
        }
    }
    return MPK_OK;
}

/* local row -> position in the front of s */
static int32_t position(const mpk_analysis *an, int32_t s, int32_t local) {
    int32_t w = an->sptr[s + 1] - an->sptr[s];
    return local < w ? an->sptr[s] + local : an->ridx[an->rptr[s] + local - w];
}

static mpk_status check_rows(mpk_context *ctx, const mpk_analysis *an) {
    const int64_t positions = (int64_t)an->n + mpki_split_rows(an->split);
    for (int32_t s = 0; s < an->nsuper; s++) {
        int32_t p = an->parent[s], least = an->sptr[s + 1] - 1;
        if (p < 0 || an->rptr[s] == an->rptr[s + 1]) continue;
        const bool last = an->sptr[p] == an->sptr[p + 1];
        REQUIRE(last || an->ridx[an->rptr[s]] < an->sptr[p + 1], s,
                "first row of %d is not its parent's", s);
        int64_t front = an->sptr[p + 1] - an->sptr[p] + an->rptr[p + 1] - an->rptr[p];
        for (int64_t k = an->rptr[s]; k < an->rptr[s + 1]; k++) {
            REQUIRE(an->ridx[k] > least && an->ridx[k] < positions, s, "rows of %d", s);
            least = an->ridx[k];
            REQUIRE(an->rel[k] >= 0 && an->rel[k] < front, s, "rel of %d out of range", s);
            REQUIRE(position(an, p, an->rel[k]) == an->ridx[k], s, "rel of %d", s);
        }
    }
    return MPK_OK;
}

/* Each entry once, at the right place, conjugated where its triangle flipped. */
static mpk_status check_scatter(mpk_context *ctx, const mpk_analysis *an, const int32_t *column,
                                char *seen) {
    const int64_t below = mpki_split_rows(an->split) ? mpki_split_entries(an->split) : 0;
    REQUIRE(an->scatter_ptr[0] == 0 && an->scatter_ptr[an->nsuper] == an->core.ap[an->n] + below, 0,
            "scatter does not cover the entries");
    for (int32_t s = 0; s < an->nsuper; s++) {
        int32_t w = an->sptr[s + 1] - an->sptr[s], before = 0;
        int64_t front = w + an->rptr[s + 1] - an->rptr[s];
        for (int64_t k = an->scatter_ptr[s]; k < an->scatter_ptr[s + 1]; k++) {
            const mpki_scatter entry = mpki_scatter_at(&an->scatter, k), *e = &entry;
            bool flipped = e->row < 0;
            int32_t row = flipped ? ~e->row : e->row;
            REQUIRE(e->src >= 0 && e->src < an->nnz + below && !seen[e->src], s,
                    "entry source in %d", s);
            seen[e->src] = 1;
            REQUIRE(e->col >= before && e->col < w && row >= e->col && row < front, s,
                    "entry place in %d", s);
            before = e->col;
            if (e->src >= an->nnz) {
                REQUIRE(!flipped && position(an, s, row) == an->n + an->split->ai[e->src - an->nnz],
                        s, "outer entry in %d", s);
                continue;
            }
            int32_t i = an->perm[position(an, s, row)], j = an->perm[position(an, s, e->col)];
            bool upper = i < j; /* the problem stores it as (j, i) */
            REQUIRE(an->ai[e->src] == (upper ? j : i) && column[e->src] == (upper ? i : j), s,
                    "entry %lld is not where it belongs", (long long)e->src);
            REQUIRE(flipped == (upper && an->symmetry == MPK_HERMITIAN), s, "conjugation in %d", s);
        }
    }
    return MPK_OK;
}

/* The same of a general matrix, whose rows are those of its matching. */
static mpk_status check_general(mpk_context *ctx, const mpk_analysis *an, const int32_t *column,
                                char *seen) {
    REQUIRE(an->scatter_ptr[0] == 0 && an->scatter_ptr[an->nsuper] == an->nnz, 0,
            "scatter does not cover the entries");
    for (int32_t s = 0; s < an->nsuper; s++) {
        const int32_t w = an->sptr[s + 1] - an->sptr[s];
        const int64_t front = w + an->rptr[s + 1] - an->rptr[s];
        for (int64_t k = an->scatter_ptr[s]; k < an->scatter_ptr[s + 1]; k++) {
            const mpki_scatter entry = mpki_scatter_at(&an->scatter, k), *e = &entry;
            REQUIRE(e->src >= 0 && e->src < an->nnz && !seen[e->src], s, "entry source in %d", s);
            seen[e->src] = 1;
            REQUIRE(e->row >= 0 && e->col >= 0 && e->row < front && e->col < front &&
                        (e->row < w || e->col < w),
                    s, "entry place in %d", s);
            const int32_t i = an->perm[position(an, s, e->row)];
            REQUIRE(an->ai[e->src] == (an->row_of ? an->row_of[i] : i) &&
                        column[e->src] == an->perm[position(an, s, e->col)],
                    s, "entry %lld is not where it belongs", (long long)e->src);
        }
    }
    return MPK_OK;
}

mpk_status mpki_analysis_check(mpk_context *ctx, const mpk_analysis *an) {
    int32_t *first = MPKI_NEW(ctx, STAGE, an->nsuper, int32_t);
    int32_t *column = MPKI_NEW(ctx, STAGE, an->nnz, int32_t);
    char *seen = MPKI_ZNEW(ctx, STAGE, an->nnz + mpki_split_entries(an->split), char);
    mpk_status status = first && column && seen ? MPK_OK : mpki_failed(ctx);
    for (int32_t j = 0; !mpk_failed(status) && j < an->n; j++)
        for (int64_t k = an->ap[j]; k < an->ap[j + 1]; k++) column[k] = j;
    if (!mpk_failed(status)) status = check_perm(ctx, an);
    if (!mpk_failed(status)) status = check_tree(ctx, an);
    if (!mpk_failed(status)) status = check_postorder(ctx, an, first);
    if (!mpk_failed(status)) status = check_rows(ctx, an);
    if (!mpk_failed(status))
        status = an->symmetry == MPK_GENERAL ? check_general(ctx, an, column, seen)
                                             : check_scatter(ctx, an, column, seen);
    mpki_release(ctx, first);
    mpki_release(ctx, column);
    mpki_release(ctx, seen);
    return status;
}
