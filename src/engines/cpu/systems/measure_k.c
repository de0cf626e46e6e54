/* SPDX-License-Identifier: BSD-3-Clause */
/* Scaling of a pack and errors of its solutions: what mpki_equilibrate() and mpki_measure() do,
 * across lanes. */
#include "entry.h"
#include "slots.h"

#if MPKI_PRECISION == 0 || MPKI_PRECISION == 2
static const R SCALE_MOST = 0x1p60f, INSIDE_LEAST = 0x1p-60f, INSIDE_MOST = 0x1p100f;
static const R LOST = 1e13f;
#define EXPONENT_BITS INT32_C(0x7f800000)
#else
static const R SCALE_MOST = 0x1p500, INSIDE_LEAST = 0x1p-400, INSIDE_MOST = 0x1p500;
static const R LOST = 1e28;
#define EXPONENT_BITS INT64_C(0x7ff0000000000000)
#endif

INLINE bool any(mask m) {
    lane_int all = 0;
    for (int q = 0; q < LANES; q++) all |= m[q];
    return all != 0;
}

/* ---- scaling --------------------------------------------------------------------------------- */

/* most[i] := max_j |s_i a_ij s_j|. Returns which lanes have all of them near 1, or 0. */
static mask maxima(const mpki_tree_view *t, const R *ax, const R *s, R *most) {
    mask even = ~(mask){0};
    for (int64_t i = 0; i < t->n; i++) v_store(most + i * LANES, v_all(0));
    for (int64_t j = 0; j < t->n; j++) {
        vec own = v_load(most + j * LANES);
        const vec sj = v_load(s + j * LANES);
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) {
            R *p = most + (int64_t)t->ai[k] * LANES;
            const vec a =
                e_modulus(e_load(at_const(ax, k))) * (v_load(s + (int64_t)t->ai[k] * LANES) * sj);
            own = v_max(a, own);
            v_store(p, v_max(a, v_load(p)));
        }
        v_store(most + j * LANES, v_max(own, v_load(most + j * LANES)));
    }
    for (int64_t i = 0; i < t->n; i++) {
        const vec m = v_load(most + i * LANES);
        even &= (m <= (R)0x1p16) & ((m >= (R)0x1p-16) | (m == 0));
    }
    return even;
}

/* Ruiz's sweeps, each lane as many as it needs. */
static void equilibrate(const mpki_lanes_plan *plan, const R *ax, R *s, R *most) {
    const mpki_tree_view *t = &plan->tree;
    const int sweeps = plan->matched ? 1 : 4;
    enum { MORE = 12 }; /* MPKI_MORE_SWEEPS */
    mask open = ~(mask){0};
    for (int sweep = 0; sweep < sweeps + MORE; sweep++) {
        const mask even = maxima(t, ax, s, most);
        if (sweep >= sweeps) open &= ~even;
        if (!any(open)) break;
        for (int64_t i = 0; i < t->n; i++) {
            const vec m = v_load(most + i * LANES), old = v_load(s + i * LANES);
            v_store(s + i * LANES, v_pick(open & (m > 0), old / v_root(m), old));
        }
        if (sweep + 1 >= sweeps) open &= ~even;
        if (!any(open)) break;
    }
}

void ISA_FN(lanes_scale)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                         mpki_lanes_work *work, mpki_lane_outcome *lane) {
    const mpki_tree_view *t = &plan->tree;
    const R *ax = pack->ax;
    R *s = pack->scale, *norm = pack->row_norm;
    vec largest = v_all(0);
    mask good = ~(mask){0};
    for (int64_t i = 0; i < t->n; i++) {
        v_store(s + i * LANES, v_all(plan->matched ? (R)plan->matched[i] : 1));
        v_store(norm + i * LANES, v_all(0));
    }
    equilibrate(plan, ax, s, work->x[0]);
    for (int64_t i = 0; i < t->n; i++) { /* to powers of two: no rounding */
        const vec x = v_load(s + i * LANES) * v_all((R)1.4142135623730951);
        const vec power = (vec)((mask)x & EXPONENT_BITS);
        good &= (power < SCALE_MOST) & (power > 1 / SCALE_MOST);
        v_store(s + i * LANES, power);
    }
    for (int64_t j = 0; j < t->n; j++)
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) {
            const int64_t i = t->ai[k];
            const vec a = e_modulus(e_load(at_const(ax, k)));
            v_store(norm + i * LANES, v_load(norm + i * LANES) + a);
            if (i != j) v_store(norm + j * LANES, v_load(norm + j * LANES) + a);
        }
    for (int64_t i = 0; i < t->n; i++) {
        const vec sum = v_load(norm + i * LANES);
        good &= sum < INSIDE_MOST;
        largest = v_max(sum, largest);
    }
    for (int q = 0; q < LANES; q++) {
        lane[q].good = good[q] != 0;
        lane[q].norm_inf = (double)largest[q];
    }
}

/* ---- residuals ------------------------------------------------------------------------------- */

/* a b - p, p being the rounded product */
INLINE vec product_error(vec a, vec b, vec p) {
#if defined(__AVX512F__) && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
    return (vec)_mm512_fmsub_pd((__m512d)a, (__m512d)b, (__m512d)p);
#elif defined(__AVX512F__)
    return (vec)_mm512_fmsub_ps((__m512)a, (__m512)b, (__m512)p);
#elif defined(__AVX2__) && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
    return (vec)_mm256_fmsub_pd((__m256d)a, (__m256d)b, (__m256d)p);
#elif defined(__AVX2__)
    return (vec)_mm256_fmsub_ps((__m256)a, (__m256)b, (__m256)p);
#elif defined(MPKI_SVE)
    v_sve e = svnmls_x(V_FIRST(LANES), (v_sve)p, (v_sve)a, (v_sve)b);
    return (vec)e;
#elif defined(MPKI_NEON) && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
    return (vec)vfmaq_f64((float64x2_t)-p, (float64x2_t)a, (float64x2_t)b);
#elif defined(MPKI_NEON)
    return (vec)vfmaq_f32((float32x4_t)-p, (float32x4_t)a, (float32x4_t)b);
#else /* by halves, as kernels/exact.h does it */
    const R unit = (R)(sizeof(R) == sizeof(float) ? 0x1p12 + 1 : 0x1p27 + 1);
    const vec ta = unit * a, tb = unit * b;
    const vec ah = ta - (ta - a), bh = tb - (tb - b), al = a - ah, bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
#endif
}

/* *sum + *low += a b */
INLINE void add_product(vec a, vec b, vec *sum, vec *low) {
    const vec p = a * b, e = product_error(a, b, p);
    const vec s = *sum + p, t = s - *sum;
    *low += (*sum - (s - t)) + (p - t);
    *low += e;
    *sum = s;
}

/* sum + low -= a x */
INLINE void take_product(entry a, entry x, entry *sum, entry *low) {
    add_product(-a.re, x.re, &sum->re, &low->re);
#if MPKI_COMPLEX
    add_product(a.im, x.im, &sum->re, &low->re);
    add_product(-a.re, x.im, &sum->im, &low->im);
    add_product(-a.im, x.re, &sum->im, &low->im);
#endif
}

void ISA_FN(lanes_residual)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack, const R *x,
                            const R *b, R *r, R *low, R *w) {
    const mpki_tree_view *t = &plan->tree;
    for (int64_t i = 0; i < t->n; i++) {
        const entry bi = e_load(at_const(b, i));
        e_store(at(r, i), bi);
        e_store(at(low, i), e_zero());
        v_store(w + i * LANES, e_modulus(bi));
    }
    for (int64_t j = 0; j < t->n; j++) {
        const entry xj = e_load(at_const(x, j));
        const vec size = e_modulus(xj);
        entry rj = e_load(at(r, j)), lj = e_load(at(low, j));
        vec wj = v_load(w + j * LANES);
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) {
            const int64_t i = t->ai[k];
            const entry a = e_load(at_const(pack->ax, k));
            const vec modulus = e_modulus(a);
            if (i == j) {
                take_product(a, xj, &rj, &lj);
                wj += modulus * size;
                continue;
            }
            const entry xi = e_load(at_const(x, i));
            entry ri = e_load(at(r, i)), li = e_load(at(low, i));
            take_product(a, xj, &ri, &li);
            e_store(at(r, i), ri), e_store(at(low, i), li);
            v_store(w + i * LANES, v_load(w + i * LANES) + modulus * size);
            take_product(e_conj(a, plan->hermitian), xi, &rj, &lj);
            wj += modulus * e_modulus(xi);
        }
        e_store(at(r, j), rj), e_store(at(low, j), lj);
        v_store(w + j * LANES, wj);
    }
    for (int64_t i = 0; i < t->n; i++)
        e_store(at(r, i), e_add(e_load(at(r, i)), e_load(at(low, i))));
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The largest modulus; *finite loses the lanes with an entry that is not finite. */
static vec norm(int32_t n, const R *x, mask *finite) {
    vec most = v_all(0);
    for (int64_t i = 0; i < n; i++) {
        const vec m = e_modulus(e_load(at_const(x, i)));
        *finite &= m - m == 0;
        most = v_max(m, most);
    }
    return most;
}

void ISA_FN(lanes_measure)(const mpki_lanes_plan *plan, const mpki_lanes_pack *pack,
                           const mpki_lane_outcome *lane, const R *x, const R *b,
                           mpki_lanes_work *work, mpki_lane_quality *quality) {
    const int32_t n = plan->tree.n;
    const R *norms = pack->row_norm;
    R *r = work->x[1], *w = work->x[3];
    const vec tiny = v_all((R)(1000.0 * n * (double)R_EPS / 2));
    mask known = ~(mask){0};
    vec omega1 = v_all(0), omega2 = v_all(0), norm_inf = v_all(0);
    ISA_FN(lanes_residual)(plan, pack, x, b, r, work->x[2], w);
    const vec xs = norm(n, x, &known), bs = norm(n, b, &known), rs = norm(n, r, &known);
    known &= xs < (R)(sizeof(R) == sizeof(float) ? 0x1p110 : 0x1p990); /* halves of a product */
    for (int64_t i = 0; i < n; i++) {
        const vec ri = e_modulus(e_load(at(r, i))), bi = e_modulus(e_load(at_const(b, i)));
        const vec wi = v_load(w + i * LANES), of_x = v_load(norms + i * LANES) * xs;
        const vec all = of_x + bi;
        known &= (all == 0) | ((all > INSIDE_LEAST) & (all < INSIDE_MOST));
        known &= (all > 0) | (xs == 0) | (v_load(norms + i * LANES) == 0);
        const mask plain = wi > tiny * all, some = ri > 0;
        const vec q1 = ri / wi, q2 = ri / (wi - bi + of_x);
        omega1 = v_max(v_pick(some & plain, q1, v_all(0)), omega1);
        omega2 = v_max(v_pick(some & ~plain, q2, v_all(0)), omega2);
    }
    for (int q = 0; q < LANES; q++) norm_inf[q] = (R)lane[q].norm_inf;
    const vec of_all = norm_inf * xs;
    const vec growth = v_pick(xs > 0, v_pick(bs > 0, of_all / bs, v_all((R)INFINITY)), v_all(0));
    const vec normwise = v_pick(rs > 0, rs / (of_all + bs), v_all(0));
    known &= (growth < LOST) | (bs == 0);
    for (int q = 0; q < LANES; q++) {
        quality[q].known = known[q] != 0;
        quality[q].componentwise = (double)omega1[q] + (double)omega2[q];
        quality[q].normwise = (double)normwise[q];
        quality[q].growth = (double)growth[q];
    }
}
