/* SPDX-License-Identifier: BSD-3-Clause */
/* One pack of a call: values into lanes, factors, solutions with refinement, certificates; and what
 * is asked of a lane afterwards. Systems that want the single engine are marked. */
#include "../factor/refine.h"
#include "../problem/certificate.h"
#include "../problem/given.h"
#include "../solve/judge.h"
#include "object.h"

#include <string.h>

enum { WIDTH_MOST = 64 / sizeof(R) };
static const char STAGE[] = "systems";

const void *FN(lanes_choose)(int most, int *width) {
    const FN(lanes) *k = FN(cpu_lanes)(most);
    *width = k->width;
    return k;
}

int64_t FN(lanes_panel)(const mpki_lanes_plan *plan, const void *kernels) {
    const FN(lanes) *k = kernels;
    return k->panel_reals(plan) * (int64_t)sizeof(R);
}

/* A pack at work. */
typedef struct pack {
    mpki_systems_job *job;
    mpk_systems *s;
    const FN(lanes) * k;
    const mpki_lanes_plan *plan;
    const mpki_lanes_pack *p;
    mpki_pack_work *work;
    mpk_context *ctx;    /* the worker's */
    const int64_t *slot; /* by lane */
    mpk_systems_tier tier;
    int32_t n;
} pack;

/* The slot in a lane, where the call works on it by its pack; else NULL. */
static mpki_slot *slot_of(const pack *g, int lane, mpki_said **said) {
    const int64_t b = g->slot[lane];
    *said = b >= 0 ? &g->s->said[b] : NULL;
    if (b < 0 || !(*said)->active || (*said)->factor || (*said)->own || (*said)->solve) return NULL;
    return g->s->slot[b].tier == g->tier ? &g->s->slot[b] : NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A system's values in our order, at `own` unless they lie so with the caller. */
static const T *bring_values(const pack *g, int64_t b, T *own, mpki_said *said) {
    const mpk_analysis *an = g->s->an;
    const mpki_strand from = mpki_strand_of(g->job->ax, b, sizeof(T));
    const int64_t given = an->layout->given;
    const bool plain = !an->layout->place && an->symmetry != MPK_HERMITIAN;
    if (plain && from.step == 1) {
        if (mpki_first_nonfinite(an->scalar, given, from.p) < 0) return (const T *)from.p;
        said->status = MPK_ERR_INPUT;
        return NULL;
    }
    mpki_skew *skew = NULL;
    const void *values = from.p;
    mpki_clear_error(g->ctx);
    if (from.step != 1) {
        T *copy = mpki_alloc(g->ctx, STAGE, given, sizeof(T));
        if (!copy) {
            g->job->failed = mpki_failed(g->ctx);
            return NULL;
        }
        mpki_strand_copy(sizeof(T), given, from, (mpki_strand){(char *)copy, 1});
        values = copy;
    }
    said->status =
        mpki_given_gather(g->ctx, STAGE, an->layout, an->scalar, an->symmetry, values, own, &skew);
    if (values != from.p) mpki_release(g->ctx, (void *)(uintptr_t)values);
    if (said->status == MPK_ERR_MEMORY) g->job->failed = said->status;
    if (skew)
        said->factor = true; /* the triangles differ: the single engine knows what that means */
    mpki_skew_free(g->ctx, &skew);
    return mpk_failed(said->status) ? NULL : own;
}

/* ---- certificates ---------------------------------------------------------------------------- */

/* As mpki_certify() of one factor, for the lanes that are wanted and not examined yet; NULL: all.
 * enough: as far as it takes to tell that A is regular */
static void certify(pack *g, const bool *wanted, bool enough) {
    const mpk_analysis *an = g->s->an;
    const int width = g->k->width;
    mpki_lanes_work *w = &g->work->lanes;
    mpk_certificate found[WIDTH_MOST] = {{0}};
    uint64_t state[WIDTH_MOST];
    bool open[WIDTH_MOST] = {false}, any = false;
    const bool counts = an->scalar <= MPK_D || an->symmetry == MPK_HERMITIAN;
    T *z = g->work->values; /* width x nnz entries, and nnz may be less than n */
    for (int q = 0; q < width; q++) {
        mpki_said *said;
        mpki_slot *slot = slot_of(g, q, &said);
        if (!slot || slot->examined || (wanted && !wanted[q])) continue;
        FN(lane_values)(g->s, slot, z);
        state[q] = mpki_certificate_hash(mpki_certificate_seed(an->n, g->s->options.seed), z,
                                         an->nnz * (int64_t)sizeof(T));
        slot->examined = !enough, slot->regular = slot->certified = false;
        found[q] = (mpk_certificate){.certified = 1};
        open[q] = any = true;
    }
    T *y = g->work->best;
    while (any) {
        const T *from[WIDTH_MOST] = {NULL};
        T *to[WIDTH_MOST] = {NULL};
        any = false;
        for (int q = 0; q < width; q++) {
            if (!open[q]) continue;
            FN(lane_scale)(g->s, &g->s->slot[g->slot[q]], g->work->scale);
            FN(gaussian)(g->n, g->work->scale, &state[q], y);
            from[q] = y;
            g->k->take(g->n, from, 1, g->work->z);
            from[q] = NULL;
        }
        memset(g->work->b, 0, (size_t)g->n * (size_t)width * sizeof(T));
        g->k->residual(g->plan, g->p, g->work->z, g->work->b, w->x[1], w->x[2], w->x[3]);
        g->k->solve(g->plan, g->p, w, w->x[1]);
        for (int q = 0; q < width; q++) {
            if (!open[q]) continue;
            FN(lane_scale)(g->s, &g->s->slot[g->slot[q]], g->work->scale);
            to[q] = y;
            g->k->give(g->n, g->work->z, to, 1);
            to[q] = y + g->n;
            g->k->give(g->n, w->x[1], to, 1);
            to[q] = NULL;
            mpki_slot *slot = &g->s->slot[g->slot[q]];
            open[q] = mpki_certificate_next(&found[q],
                                            FN(contraction)(g->n, g->work->scale, y, y + g->n));
            slot->regular =
                found[q].certified ||
                (enough && open[q] && mpki_certificate_miss(&found[q]) <= MPKI_SYSTEMS_MISS);
            if (slot->regular && enough) open[q] = false;
            any |= open[q];
            if (open[q]) continue;
            slot->examined |= found[q].certified != 0;
            slot->certified = counts && found[q].certified;
        }
    }
}

/* ---- factorizations -------------------------------------------------------------------------- */

/* A system whose pivots will not do: to those of its own, or to the single engine. */
static void give_on(const pack *g, mpki_slot *slot, mpki_said *said, bool inside) {
    slot->examined = false;
    said->own = inside && g->tier == MPK_TIER_TEMPLATE;
    said->factor = !said->own;
}

static void factorize(pack *g) {
    const mpk_analysis *an = g->s->an;
    const T *from[WIDTH_MOST] = {NULL};
    mpki_lane_outcome lane[WIDTH_MOST];
    bool some = false;
    for (int q = 0; q < g->k->width; q++) {
        mpki_said *said;
        mpki_slot *slot = slot_of(g, q, &said);
        if (!slot) continue;
        from[q] = bring_values(g, g->slot[q], (T *)g->work->values + q * an->nnz, said);
        some |= from[q] != NULL && !said->factor;
        slot->status = said->status;
        slot->examined = false;
        if (mpk_failed(said->status)) slot->tier = MPK_TIER_NONE;
    }
    if (g->job->failed || !some) return;
    g->k->take(an->nnz, from, 1, g->p->ax);
    g->k->scale(g->plan, g->p, &g->work->lanes, lane);
    bool inside[WIDTH_MOST];
    for (int q = 0; q < g->k->width; q++) inside[q] = lane[q].good;
    const mpki_lanes_rules rules = mpki_systems_rules(g->s);
    g->k->factor(g->plan, g->p, &rules, &g->work->lanes, lane);
    bool ask[WIDTH_MOST] = {false}, any = false;
    for (int q = 0; q < g->k->width; q++) {
        mpki_said *said;
        mpki_slot *slot = slot_of(g, q, &said);
        if (!slot) continue;
        slot->lane = lane[q];
        ask[q] = lane[q].doubtful;
        any |= ask[q];
        if (!lane[q].good) give_on(g, slot, said, inside[q]);
    }
    if (any) certify(g, ask, !g->job->certify);
    for (int q = 0; q < g->k->width; q++)
        if (ask[q] && !g->s->slot[g->slot[q]].regular)
            give_on(g, &g->s->slot[g->slot[q]], &g->s->said[g->slot[q]], inside[q]);
}

/* ---- solutions ------------------------------------------------------------------------------- */

/* The lanes whose column of b is finite, at most those in `from`, which loses the others. */
static void check_b(const pack *g, const T **from, int64_t step) {
    for (int q = 0; q < g->k->width; q++) {
        R all = 0;
        for (int64_t i = 0; from[q] && i < g->n; i++) {
            const T b = from[q][i * step];
            all += (t_re(b) - t_re(b)) + (t_im(b) - t_im(b));
        }
        if (!from[q] || all == 0) continue;
        from[q] = NULL;
        g->s->said[g->slot[q]].status = MPK_ERR_INPUT;
    }
}

/* ||S^-1 d|| / ||S^-1 x|| of each lane, in the maximum norm. */
static void compare(const pack *g, const R *d, const R *x, double *ratio) {
    const int width = g->k->width, parts = (int)(sizeof(T) / sizeof(R));
    const R *scale = g->p->scale;
    R most_d[WIDTH_MOST] = {0}, most_x[WIDTH_MOST] = {0};
    for (int64_t i = 0; i < g->n; i++, scale += width)
        for (int part = 0; part < parts; part++, d += width, x += width)
            for (int l = 0; l < width; l++) {
                const R by = 1 / scale[l], dl = r_abs(d[l]) * by, xl = r_abs(x[l]) * by;
                most_d[l] = dl > most_d[l] ? dl : most_d[l];
                most_x[l] = xl > most_x[l] ? xl : most_x[l];
            }
    for (int l = 0; l < width; l++)
        ratio[l] = most_d[l] > 0 ? (double)most_d[l] / (double)most_x[l] : 0;
}

/* Steps of refinement of one column, as FN(refine)() takes them, for each lane by itself.
 * first [out] the first step of each, relative to x */
static void refine(pack *g, const T *const *at, R *x, mpki_lane_quality *q, double *first) {
    mpki_lanes_work *w = &g->work->lanes;
    const mpk_options *o = &g->s->options;
    const double accuracy = mpki_accuracy(o, g->s->an->scalar);
    const int width = g->k->width;
    mpki_lane_outcome lane[WIDTH_MOST] = {{0}};
    mpki_lane_quality now[WIDTH_MOST];
    bool mark[WIDTH_MOST] = {false}, back[WIDTH_MOST], any = false, worse;
    for (int l = 0; l < width; l++)
        if (at[l]) lane[l] = g->s->slot[g->slot[l]].lane;
    g->k->measure(g->plan, g->p, lane, x, g->work->b, w, q);
    for (int l = 0; l < width; l++) {
        q[l].steps = 0, first[l] = 0;
        mark[l] = at[l] && q[l].known && !(q[l].componentwise <= accuracy) && o->refine > 0;
        any |= mark[l];
    }
    for (int step = 0; any; step++) {
        any = worse = false;
        g->k->solve(g->plan, g->p, w, w->x[1]);
        if (step == 0) compare(g, w->x[1], x, first);
        g->k->advance(g->n, mark, w->x[1], x, g->work->best);
        g->k->measure(g->plan, g->p, lane, x, g->work->b, w, now);
        for (int l = 0; l < width; l++) {
            back[l] = false;
            if (!mark[l]) continue;
            const double before = q[l].componentwise, after = now[l].componentwise;
            back[l] = !now[l].known || !(after < before);
            worse |= back[l];
            if (!back[l]) q[l] = now[l];
            q[l].steps = step + 1;
            mark[l] =
                !back[l] && after <= 0.5 * before && !(after <= accuracy) && step + 1 < o->refine;
            any |= mark[l];
        }
        if (worse) g->k->restore(g->n, back, g->work->best, x);
    }
}

/* Column j of the lanes in `at`, their solutions in place of the worker's j-th. */
static void solve_column(pack *g, int32_t j, const T **at, int64_t step) {
    const mpk_scalar scalar = g->s->an->scalar;
    const double accuracy = mpki_accuracy(&g->s->options, scalar);
    mpki_lane_quality q[WIDTH_MOST];
    double first[WIDTH_MOST];
    const int64_t reals = (int64_t)g->n * g->k->width * (int64_t)(sizeof(T) / sizeof(R));
    R *x = (R *)g->work->x + j * reals;
    g->k->take(g->n, at, step, g->work->b);
    memcpy(x, g->work->b, (size_t)reals * sizeof(R));
    g->k->solve(g->plan, g->p, &g->work->lanes, x);
    if (g->job->bare) return;
    refine(g, at, x, q, first);
    for (int l = 0; l < g->k->width; l++) {
        if (!at[l]) continue;
        mpki_said *said = &g->s->said[g->slot[l]];
        said->solve |= !q[l].known || !(q[l].componentwise <= accuracy);
        said->ask |= q[l].growth >= mpki_large_growth(scalar);
        said->ask |= q[l].steps > 0 && mpki_large_step(first[l]);
        said->steps = q[l].steps > said->steps ? q[l].steps : said->steps;
        said->omega = fmax(said->omega, q[l].componentwise);
        said->normwise = fmax(said->normwise, q[l].normwise);
    }
}

/* Systems whose solutions are large beside b, or changed much, as those of a singular A: the single
 * engine has those that are not certified to be regular. */
static void doubt(pack *g, const T *const *at) {
    bool ask[WIDTH_MOST] = {false}, any = false;
    for (int q = 0; q < g->k->width; q++) {
        if (!at[q]) continue;
        const mpki_said *said = &g->s->said[g->slot[q]];
        ask[q] = said->ask && !said->solve;
        any |= ask[q];
    }
    if (any) certify(g, ask, false);
    for (int q = 0; q < g->k->width; q++)
        if (ask[q]) g->s->said[g->slot[q]].solve |= !g->s->slot[g->slot[q]].regular;
}

static bool finite_lane(const pack *g, int lane) {
    const int parts = (int)(sizeof(T) / sizeof(R)), width = g->k->width;
    const R *x = (const R *)g->work->x + lane;
    R all = 0;
    for (int64_t i = 0; i < (int64_t)g->job->nrhs * g->n * parts; i++, x += width) all += *x - *x;
    return all == 0;
}

static void solve(pack *g) {
    const mpki_systems_job *job = g->job;
    const int width = g->k->width;
    const T *at[WIDTH_MOST] = {NULL};
    T *to[WIDTH_MOST] = {NULL};
    int64_t step = 1, x_step = 1;
    bool some = false;
    for (int q = 0; q < width; q++) {
        mpki_said *said;
        const mpki_slot *slot = slot_of(g, q, &said);
        if (!slot) continue;
        const mpki_strand b = mpki_strand_of(job->b, g->slot[q], sizeof(T)),
                          x = mpki_strand_of(job->x, g->slot[q], sizeof(T));
        at[q] = (const T *)b.p, step = b.step;
        to[q] = (T *)x.p, x_step = x.step;
        said->status = MPK_OK;
        said->steps = 0, said->omega = said->normwise = 0;
        some = true;
    }
    if (!some) return;
    for (int32_t j = 0; j < job->nrhs; j++) {
        const T *b[WIDTH_MOST];
        for (int q = 0; q < width; q++) b[q] = at[q] ? at[q] + j * job->b->ld * step : NULL;
        check_b(g, b, step);
        for (int q = 0; q < width; q++)
            if (!b[q]) at[q] = NULL;
    }
    for (int32_t j = 0; j < job->nrhs; j++) {
        const T *b[WIDTH_MOST];
        for (int q = 0; q < width; q++) b[q] = at[q] ? at[q] + j * job->b->ld * step : NULL;
        solve_column(g, j, b, step);
    }
    doubt(g, at);
    for (int q = 0; q < width; q++) {
        if (!at[q]) to[q] = NULL;
        if (!to[q]) continue;
        mpki_said *said = &g->s->said[g->slot[q]];
        if (!said->solve && !finite_lane(g, q)) said->solve = true;
        if (said->solve) to[q] = NULL;
    }
    const int64_t reals = (int64_t)g->n * width * (int64_t)(sizeof(T) / sizeof(R));
    for (int32_t j = 0; j < job->nrhs; j++) {
        T *x[WIDTH_MOST];
        for (int q = 0; q < width; q++) x[q] = to[q] ? to[q] + j * job->x->ld * x_step : NULL;
        g->k->give(g->n, (const R *)g->work->x + j * reals, x, x_step);
    }
}

void FN(pack_run)(mpki_systems_job *job, int worker, int64_t number) {
    mpk_systems *s = job->s;
    pack g = {.job = job,
              .s = s,
              .k = s->kernels,
              .plan = &s->template->plan,
              .p = job->own ? &s->own[number] : &s->pack[number],
              .tier = job->own ? MPK_TIER_OWN : MPK_TIER_TEMPLATE,
              .work = &s->work[worker],
              .ctx = s->child[worker],
              .slot = job->in_pack + number * s->width,
              .n = s->an->n};
    if (job->ax) factorize(&g);
    if (!job->failed && job->certify) certify(&g, NULL, false);
    if (!job->failed && job->b) solve(&g);
}

/* ---- what is asked of a lane ----------------------------------------------------------------- */

/* Entries of one lane of an array. */
static void pull(const mpk_systems *s, int64_t place, const void *from, int64_t count, T *to) {
    T *at[WIDTH_MOST] = {NULL};
    const FN(lanes) *k = s->kernels;
    at[place % s->width] = to;
    k->give(count, from, at, 1);
}

void FN(lane_values)(const mpk_systems *s, const mpki_slot *slot, void *ax) {
    pull(s, slot->place, mpki_slot_pack(s, slot)->ax, s->an->nnz, ax);
}

void FN(lane_d)(const mpk_systems *s, const mpki_slot *slot, void *d) {
    pull(s, slot->place, mpki_slot_pack(s, slot)->d, 2 * (int64_t)s->an->n, d);
}

void FN(lane_scale)(const mpk_systems *s, const mpki_slot *slot, double *scale) {
    const R *from = (const R *)mpki_slot_pack(s, slot)->scale + slot->place % s->width;
    for (int64_t i = 0; i < s->an->n; i++) scale[i] = (double)from[i * s->width];
}

void FN(lane_logdet)(const mpk_systems *s, const mpki_slot *slot, double out[3]) {
    const int width = s->width, parts = (int)(sizeof(T) / sizeof(R));
    const mpki_lanes_pack *p = mpki_slot_pack(s, slot);
    const int64_t lane = slot->place % width;
    const R *d = (const R *)p->d + lane, *scale = (const R *)p->scale + lane;
    const char *pair = s->template->plan.pair;
    double sum = 0, re = 1, im = 0;
    for (int64_t k = 0; k < s->an->n; k++) {
        const R *e = d + 2 * k * parts * width, *c = e + 2 * parts * width;
        const double ar = (double)e[0], ai = parts > 1 ? (double)e[width] : 0;
        const double br = (double)e[parts * width],
                     bi = parts > 1 ? (double)e[(parts + 1) * width] : 0;
        double xr = ar, xi = ai;
        if (p->perm ? br != 0 || bi != 0 : pair[k] == 1) {
            const double cr = (double)c[0], ci = parts > 1 ? (double)c[width] : 0;
            const bool h = s->template->plan.hermitian;
            xr = (ar * cr - ai * ci) - (h ? br * br + bi * bi : br * br - bi * bi);
            xi = (ar * ci + ai * cr) - (h ? 0 : 2 * br * bi);
            k++;
        }
        const double size = hypot(xr, xi), old = re;
        sum += log(size);
        re = (re * xr - im * xi) / size, im = (old * xi + im * xr) / size;
    }
    for (int64_t i = 0; i < s->an->n; i++) sum -= 2 * log((double)scale[i * width]);
    out[0] = sum, out[1] = re, out[2] = im;
}
