/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with an approximate inverse, and a copy of it. */
#include "../core/floats.h"
#include "../core/sizes.h"
#include "object.h"

#include <string.h>

static const char STAGE[] = "isai";

/* Vectors of an application: the right-hand side, x, and two for relaxation. */
enum { VECTORS = 4 };

static mpk_status room(mpk_context *ctx, mpk_isai *s, int columns) {
    if (s->columns >= columns) return MPK_OK;
    mpki_release(s->ctx, s->work);
    s->columns = 0;
    s->work =
        mpki_alloc(s->ctx, STAGE, (int64_t)s->n * columns * VECTORS, mpk_scalar_size(s->scalar));
    if (!s->work)
        return mpki_error(ctx, mpki_failed(s->ctx), STAGE, s->n, "no memory for %d vectors",
                          columns * VECTORS);
    s->columns = columns;
    return MPK_OK;
}

/* The products with M and A, or their transposes. */
static mpki_isai_step step_of(const mpk_isai *s, mpk_isai_side side) {
    const bool turned = side != MPK_ISAI_AS_IS, triangle = mpki_isai_is_triangle(s);
    mpki_isai_step step = {.relax = s->options.relax};
    step.m = (mpki_isai_product){.n = s->n,
                                 .a = turned ? &s->m : &s->m_rows,
                                 .single = s->single,
                                 .conjugate = side == MPK_ISAI_ADJOINT,
                                 .diagonal = s->dinv};
    step.a = (mpki_isai_product){.n = s->n,
                                 .a = turned ? &s->a : &s->a_rows,
                                 .conjugate = side == MPK_ISAI_ADJOINT,
                                 .diagonal = s->dinv,
                                 .inverse_diagonal = triangle,
                                 .no_diagonal = !triangle};
    return step;
}

/* x := G G^H b, and relaxation with A = A^H; of the transpose conjugates of all. */
static void definite(mpki_pool *pool, const mpk_isai *s, mpk_isai_side side, int nrhs,
                     const void *b, void *x, void *r, void *t) {
    const bool turned = side == MPK_ISAI_TRANSPOSED;
    mpki_isai_product adjoint = step_of(s, MPK_ISAI_ADJOINT).m, g = step_of(s, MPK_ISAI_AS_IS).m;
    mpki_isai_product a = step_of(s, MPK_ISAI_AS_IS).a;
    adjoint.nrhs = g.nrhs = a.nrhs = nrhs;
    adjoint.conjugate = !turned, g.conjugate = a.conjugate = turned;
    for (int k = 0; k <= s->options.relax; k++) {
        a.x = x, a.b = b, a.y = r;
        if (k > 0) mpki_isai_multiply(pool, s->scalar, &a);
        adjoint.x = k ? r : b, adjoint.y = t;
        mpki_isai_multiply(pool, s->scalar, &adjoint);
        g.x = t, g.y = x, g.add = k > 0;
        mpki_isai_multiply(pool, s->scalar, &g);
    }
}

/* Columns of the caller's to rows of numbers, and back. */
static void interleave(const mpk_isai *s, int nrhs, char *theirs, int64_t ld, char *ours,
                       bool back) {
    const size_t size = mpk_scalar_size(s->scalar);
    for (int64_t r = 0; r < nrhs; r++)
        for (int64_t i = 0; i < s->n; i++) {
            char *a = theirs + (size_t)(r * ld + i) * size;
            char *b = ours + (size_t)(i * nrhs + r) * size;
            memcpy(back ? a : b, back ? b : a, size);
        }
}

mpk_status mpk_isai_apply(mpk_context *ctx, mpk_isai *s, mpk_isai_side side, int32_t nrhs,
                          const void *b, int64_t ldb, void *x, int64_t ldx) {
    MPKI_CALM;
    mpki_clear_error(ctx);
    if (!s || !(s->ready || s->there) || (unsigned)side > MPK_ISAI_ADJOINT)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "no approximate inverse, or no such side");
    const mpki_sides sides = {.n = s->n,
                              .nrhs = nrhs,
                              .size = mpk_scalar_size(s->scalar),
                              .b = b,
                              .ldb = ldb,
                              .x = x,
                              .ldx = ldx,
                              .may_be_same = true,
                              .equal_steps = true};
    if (mpk_failed(mpki_check_sides(ctx, STAGE, &sides))) return mpki_failed(ctx);
    if (mpk_failed(mpki_isai_usable(ctx, s, false))) return mpki_failed(ctx);
    if (s->there) return s->engine->apply(ctx, s->there, side, nrhs, b, ldb, x, ldx);
    const size_t size = mpk_scalar_size(s->scalar);
    const int most = nrhs < MPKI_ISAI_RHS ? nrhs : MPKI_ISAI_RHS;
    mpk_status status = room(ctx, s, most > 0 ? most : 1);
    mpki_pool *pool = mpki_isai_pool(ctx, s);
    const mpki_isai_step step = step_of(s, side);
    for (int32_t r = 0; r < nrhs && !mpk_failed(status); r += MPKI_ISAI_RHS) {
        const int count = nrhs - r < MPKI_ISAI_RHS ? nrhs - r : MPKI_ISAI_RHS;
        const size_t vector = (size_t)s->n * (size_t)count * size;
        char *in = s->work, *out = in + vector, *rest = out + vector, *more = rest + vector;
        interleave(s, count, (char *)(uintptr_t)b + (size_t)(r * ldb) * size, ldb, in, false);
        if (s->options.kind == MPK_ISAI_DEFINITE)
            definite(pool, s, side, count, in, out, rest, more);
        else
            mpki_isai_relax(pool, s->scalar, &step, count, in, out, rest);
        interleave(s, count, (char *)x + (size_t)(r * ldx) * size, ldx, out, true);
    }
    return status;
}

/* Entry k of an array of ours, in the matrix's precision. */
static void copy_value(const mpk_isai *s, const void *from, bool single, int64_t k, char *to) {
    const size_t size = mpk_scalar_size(s->scalar);
    if (!single) {
        memcpy(to, (const char *)from + (size_t)k * size, size);
        return;
    }
    const int parts = s->scalar == MPK_Z ? 2 : 1;
    for (int q = 0; q < parts; q++) {
        const double x = ((const float *)from)[k * parts + q];
        memcpy(to + (size_t)q * sizeof x, &x, sizeof x);
    }
}

mpk_status mpk_isai_get(mpk_context *ctx, const mpk_isai *s, int64_t *ptr, int32_t *row,
                        void *val) {
    MPKI_CALM;
    mpki_clear_error(ctx);
    if (!s || !(s->ready || s->there))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "there is no approximate inverse");
    if (mpk_failed(mpki_isai_usable(ctx, s, false))) return mpki_failed(ctx);
    if (s->there) return s->engine->get(ctx, s->there, ptr, row, val);
    const size_t size = mpk_scalar_size(s->scalar);
    int64_t at = 0;
    if (ptr) ptr[0] = 0;
    for (int32_t j = 0; j < s->n; j++) {
        bool placed = false;
        for (int64_t e = s->m.ptr[j]; e <= s->m.ptr[j + 1]; e++) {
            if (!placed && (e == s->m.ptr[j + 1] || s->m.index[e] > j)) {
                if (row) row[at] = j;
                if (val) copy_value(s, s->dinv, false, j, (char *)val + (size_t)at * size);
                placed = true, at++;
            }
            if (e == s->m.ptr[j + 1]) break;
            if (row) row[at] = s->m.index[e];
            if (val) copy_value(s, s->m.val, s->single, e, (char *)val + (size_t)at * size);
            at++;
        }
        if (ptr) ptr[j + 1] = at;
    }
    return MPK_OK;
}
