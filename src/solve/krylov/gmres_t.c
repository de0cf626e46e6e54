/* SPDX-License-Identifier: BSD-3-Clause */
/** GMRES(m) (Saad & Schultz 1986) and FGMRES(m) (Saad 1993), preconditioned from the right:
 * modified Gram-Schmidt with a second pass where the first one cancelled (the factor of Daniel,
 * Gragg, Kaufman & Stewart 1976), Givens rotations. An engine may project against groups of vectors
 * at once (mpki_vector_ops.project): with that second pass it is as good. Or it does steps in
 * batches. FGMRES keeps the preconditioned basis, so that the preconditioner may change from step
 * to step. */
#include "vectors.h"

static const double CANCELLED = 0.7071;

/* The small matrices, of a cycle of at most m steps. */
typedef struct hessenberg {
    int32_t m, count; /* columns done */
    W *h;             /* m + 1 rows a column; after the rotations R */
    W *g, *y, *sine;  /* m + 1 each */
    double *cosine;   /* m + 1 */
    mpki_number *c;   /* m + 1: of a pass of Gram-Schmidt; or y, as numbers */
    mpki_number *all; /* batches: g and columns of R, m + 1 each */
} hessenberg;

static hessenberg small_of(const mpki_krylov *k) {
    const int32_t m = k->task.restart;
    W *at = (W *)(void *)k->small;
    hessenberg s = {.m = m, .count = 0, .h = at};
    at += (int64_t)m * (m + 1);
    s.g = at;
    s.y = at + (m + 1);
    s.sine = at + 2 * (m + 1);
    s.cosine = (double *)(void *)(at + 3 * (m + 1));
    s.c = (mpki_number *)(void *)(k->small + 2 * ((int64_t)m * (m + 1) + 4 * (m + 1)));
    s.all = s.c + (m + 1);
    return s;
}

/* Rotate column j, make the rotation that removes its last entry, rotate g. */
static void rotate(hessenberg *s, int32_t j) {
    W *h = s->h + (int64_t)j * (s->m + 1);
    for (int32_t i = 0; i < j; i++) {
        const W a = h[i], b = h[i + 1];
        h[i] = s->cosine[i] * a + w_mul(s->sine[i], b);
        h[i + 1] = s->cosine[i] * b - w_mul(w_conj(s->sine[i]), a);
    }
    const double a = w_abs(h[j]), b = w_abs(h[j + 1]), length = hypot(a, b);
    if (!(length > 0)) {
        s->cosine[j] = 1;
        s->sine[j] = w_make(0, 0);
    } else if (!(a > 0)) {
        s->cosine[j] = 0;
        s->sine[j] = w_conj(h[j + 1]) / b;
    } else {
        s->cosine[j] = a / length;
        s->sine[j] = w_mul(h[j] / a, w_conj(h[j + 1]) / length);
    }
    h[j] = s->cosine[j] * h[j] + w_mul(s->sine[j], h[j + 1]);
    h[j + 1] = w_make(0, 0);
    const W g = s->g[j];
    s->g[j] = s->cosine[j] * g;
    s->g[j + 1] = -w_mul(w_conj(s->sine[j]), g);
    s->count = j + 1;
}

/* g and R, from the batches. */
static void take_columns(mpki_krylov *k, const hessenberg *s, int32_t count) {
    const int32_t m = s->m;
    k->ops->columns(k->space, count, s->all);
    for (int32_t i = 0; i <= m; i++) s->g[i] = w_of(s->all[i]);
    for (int64_t i = 0; i < (int64_t)count * (m + 1); i++) s->h[i] = w_of(s->all[m + 1 + i]);
}

/* out := x + V y, V from the vector `first` on; x NULL: 0. */
static void combine(mpki_krylov *k, const hessenberg *s, int32_t first, const T *x, T *out) {
    if (k->ops->combine && s->count > 0) {
        for (int32_t j = 0; j < s->count; j++) s->c[j] = number(s->y[j]);
        k->ops->combine(k->space, s->count, k->v + first, s->c, x, out);
        return;
    }
    if (x)
        vec_copy(k, x, out);
    else
        vec_zero(k, out);
    for (int32_t j = 0; j < s->count; j++) vec_axpy(k, s->y[j], vec(k, first + j), out);
}

/* x + M^-1 V y from the columns done, into the vector after the basis. A direction whose pivot is
 * no more than rounding (A is singular on the space) is left out. */
static bool form(mpki_krylov *k) {
    hessenberg s = small_of(k);
    const int32_t m = s.m;
    T *out = k->iterate;
    const bool flexible = k->task.method == MPK_KRYLOV_FGMRES;
    double most = 0;
    s.count = (int32_t)k->cycle_steps;
    if (mpki_krylov_cycles(k)) take_columns(k, &s, s.count);
    for (int32_t j = 0; j < s.count; j++) most = fmax(most, w_abs(s.h[j + (int64_t)j * (m + 1)]));
    for (int32_t j = s.count - 1; j >= 0; j--) {
        W sum = s.g[j];
        for (int32_t i = j + 1; i < s.count; i++)
            sum -= w_mul(s.h[j + (int64_t)i * (m + 1)], s.y[i]);
        const W pivot = s.h[j + (int64_t)j * (m + 1)];
        s.y[j] = w_abs(pivot) > (double)R_EPS * most ? w_div(sum, pivot) : w_make(0, 0);
    }
    if (flexible) {
        combine(k, &s, m + 2, k->x, out);
        return true;
    }
    /* the vector after the last of the basis is free: V y goes there before M^-1 is applied */
    T *sum = vec(k, m + 2), *z = k->r;
    combine(k, &s, 0, NULL, sum);
    if (!FN(krylov_precondition)(k, sum, z)) return false;
    vec_copy(k, k->x, out);
    vec_axpy(k, w_make(1, 0), z, out);
    return true;
}

/* A pass by the engine, of products that are formed at once. */
static double project(mpki_krylov *k, W *h, mpki_number *c, int32_t j, T *w, double *before) {
    const double norm = k->ops->project(k->space, j + 1, k->v, w, c, before);
    for (int32_t i = 0; i <= j; i++) h[i] += w_of(c[i]);
    return norm;
}

/* Orthogonalise w against basis vectors 0 .. j, which gives column j of H. Returns ||w|| after it;
 * *kept: how much of ||w|| is left, relative. */
static double orthogonalise(mpki_krylov *k, const hessenberg *s, int32_t j, T *w, double *kept) {
    W *h = s->h + (int64_t)j * (s->m + 1);
    double whole = k->ops->project ? 0 : vec_norm(k, w), norm = whole, before;
    for (int32_t i = 0; i <= j; i++) h[i] = w_make(0, 0);
    int pass = 0;
    do {
        before = norm;
        if (k->ops->project) {
            norm = project(k, h, s->c, j, w, &before);
            if (pass == 0) whole = before;
            continue;
        }
        for (int32_t i = 0; i <= j; i++) {
            const W c = vec_dot(k, 1, vec(k, i), w);
            h[i] += c;
            if (i < j)
                vec_axpy(k, -c, vec(k, i), w);
            else
                norm = vec_axpy_norm(k, -c, vec(k, i), w);
        }
    } while (++pass < 2 && norm < CANCELLED * before);
    *kept = whole > 0 ? norm / whole : 0;
    return norm;
}

static const char INVARIANT[] = "the Krylov space is invariant and holds no solution";

static int32_t common_divisor(int32_t a, int32_t b) {
    return b ? common_divisor(b, a % b) : a;
}

/* A cycle in batches of the engine's, from the first vector of the basis on. Steps work on the
 * vectors after those of the method: the newest one of the basis, its product; fgmres: what M^-1
 * makes of it. */
static mpki_event cycle(mpki_krylov *k, double beta) {
    enum { MOST = 32 }; /* steps_t.c */
    static const batch_words words = {NULL, INVARIANT, NULL, NULL};
    const int32_t m = k->task.restart, check = k->task.check < MOST ? k->task.check : MOST;
    const bool flexible = k->task.method == MPK_KRYLOV_FGMRES;
    mpki_batch batch = {.method = k->task.method,
                        .hermitian = 1,
                        .v = k->v,
                        .x = k->x,
                        .beta = beta,
                        .cycle = m,
                        .unit = common_divisor(m, check)};
    vec_copy(k, vec(k, 0), vec(k, m + 2 + (flexible ? m : 1)));
    const mpki_event event = FN(krylov_batches)(k, &batch, &words);
    const bool sound = batch.end == MPKI_BATCH_GO || batch.end == MPKI_BATCH_REACHED ||
                       batch.end == MPKI_BATCH_INVARIANT || batch.end == MPKI_BATCH_OVERFLOW;
    if (sound && !k->fresh && event != MPKI_FAILURE && !form(k))
        return FN(krylov_break)(k, "overflow");
    return event;
}

mpki_event FN(gmres)(mpki_krylov *k) {
    hessenberg s = small_of(k);
    const int32_t m = s.m;
    const bool flexible = k->task.method == MPK_KRYLOV_FGMRES;
    const double beta = vec_norm(k, k->r);
    k->iterate = vec(k, m + 1);
    k->form = form;
    k->cycle_steps = 0;
    vec_copy(k, k->x, k->iterate);
    vec_scale(k, w_make(1 / beta, 0), k->r, vec(k, 0));
    if (mpki_krylov_cycles(k)) return cycle(k, beta);
    for (int32_t j = 0; j <= m; j++) s.g[j] = w_make(0, 0);
    s.g[0] = w_make(beta, 0);
    for (int32_t j = 0; j < m; j++) {
        T *z = vec(k, flexible ? m + 2 + j : m + 2), *w = vec(k, j + 1);
        W *h = s.h + (int64_t)j * (m + 1);
        double kept;
        if (!FN(krylov_precondition)(k, vec(k, j), z) || !FN(krylov_product)(k, z, w))
            return FN(krylov_break)(k, "overflow");
        const double norm = orthogonalise(k, &s, j, w, &kept);
        const bool whole = !(kept > (double)R_EPS * 4); /* an invariant space */
        h[j + 1] = w_make(whole ? 0 : norm, 0);
        rotate(&s, j);
        k->cycle_steps = j + 1;
        const double recurred = w_abs(s.g[j + 1]);
        const mpki_event event = FN(krylov_step)(k, recurred);
        if (event != MPKI_GO || whole || j + 1 == m) {
            if (!k->fresh && event != MPKI_FAILURE && !form(k))
                return FN(krylov_break)(k, "overflow");
            return event != MPKI_GO ? event : whole ? FN(krylov_break)(k, INVARIANT) : MPKI_CYCLE;
        }
        vec_scale(k, w_make(1 / norm, 0), w, w);
    }
    return MPKI_CYCLE;
}
