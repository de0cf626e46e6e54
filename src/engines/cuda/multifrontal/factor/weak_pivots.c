/* SPDX-License-Identifier: BSD-3-Clause */
/* D of a device's factor, fetched to the host, and what is asked of it: pivots that are zero or
 * nearly so, the determinant. */
#include "../state.h"

#include "core/random.h"

#include <complex.h>
#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

static double complex entry(const mpki_direct *f, const void *x, int64_t k) {
    switch (f->tree.scalar) {
    case MPK_S:
        return ((const float *)x)[k];
    case MPK_D:
        return ((const double *)x)[k];
    case MPK_C:
        return ((const float complex *)x)[k];
    default:
        return ((const double complex *)x)[k];
    }
}

/* |x_k| */
static double size_of(const mpki_direct *f, const void *x, int64_t k) {
    return f->tree.scalar == MPK_D   ? fabs(((const double *)x)[k])
           : f->tree.scalar == MPK_S ? fabs((double)((const float *)x)[k])
                                     : cabs(entry(f, x, k));
}

static void set_entry(const mpki_direct *f, void *x, int64_t k, double complex y) {
    switch (f->tree.scalar) {
    case MPK_S:
        ((float *)x)[k] = (float)creal(y);
        break;
    case MPK_D:
        ((double *)x)[k] = creal(y);
        break;
    case MPK_C:
        ((float complex *)x)[k] = (float complex)y;
        break;
    default:
        ((double complex *)x)[k] = y;
    }
}

/* Bytes of D, as many of its inverse behind it, and then positions. */
static int64_t bytes_of_d(const mpki_direct *f) {
    return (2 * (int64_t)f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar) + 255) &
           ~(int64_t)255;
}

static int64_t bytes_of_all(const mpki_direct *f) {
    return 2 * bytes_of_d(f) + f->tree.n * (int64_t)sizeof *f->id;
}

static mpk_status host_memory(mpki_direct *f) {
    if (f->d) return MPK_OK;
    f->at = MPKI_NEW(f->ctx, STAGE, (int64_t)f->plan.units + 1, int32_t);
    char *d = f->at ? mpki_alloc(f->ctx, STAGE, bytes_of_all(f), 1) : NULL;
    if (!d) {
        mpki_release(f->ctx, f->at);
        f->at = NULL;
        return mpki_failed(f->ctx);
    }
    f->d = d, f->dinv = d + bytes_of_d(f);
    f->id = (int32_t *)(void *)(d + 2 * bytes_of_d(f));
    return MPK_OK;
}

mpk_status mpki_cuda_direct_fetch(mpki_direct *f) {
    const mpki_cuda_direct_table *to = f->device->table->direct;
    mpki_cuda *cuda = f->device->cuda;
    const mpki_tree_view *tree = &f->tree;
    if (f->fetched || tree->n == 0) return MPK_OK;
    if (mpk_failed(host_memory(f))) return mpki_failed(f->ctx);
    int32_t *places = MPKI_ZNEW(f->ctx, STAGE, (int64_t)f->plan.fronts + 1, int32_t);
    if (!places) return mpki_failed(f->ctx);
    f->at[0] = 0;
    for (int32_t s = 0; s < f->plan.units; s++) {
        places[f->plan.unit[s]] = f->at[s];
        f->at[s + 1] = f->at[s] + f->state[f->plan.unit[s]].nelim;
    }
    const int64_t at_bytes = (f->plan.fronts * (int64_t)sizeof *places + 255) & ~(int64_t)255;
    void *memory = NULL;
    if (MPKI_CUDA_DID(f, f->device->table->take(cuda, at_bytes + bytes_of_all(f), &memory))) {
        char *d = (char *)memory + at_bytes, *dinv = d + bytes_of_d(f), *id = dinv + bytes_of_d(f);
        f->fetched =
            MPKI_CUDA_DID(
                f, to->copy(cuda, memory, places, f->plan.fronts * (int64_t)sizeof *places, 1)) &&
            MPKI_CUDA_DID(f, to->get(cuda, &f->on, memory, d, dinv, (int32_t *)(void *)id)) &&
            MPKI_CUDA_DID(f, to->copy(cuda, f->d, d, bytes_of_all(f), 0)) &&
            MPKI_CUDA_DID(f, to->wait(cuda));
        f->device->table->give(cuda, memory);
    }
    mpki_release(f->ctx, places);
    return f->fetched ? MPK_OK : mpki_failed(f->ctx);
}

/* The slots take a factor that does not change; what is fetched is a copy. */
static bool there(const mpki_direct *f) {
    return !mpk_failed(mpki_cuda_direct_fetch((mpki_direct *)(uintptr_t)f));
}

static bool is_pair(const mpki_direct *f, int64_t k) {
    return size_of(f, f->d, 2 * k + 1) > 0;
}

static void logdet(const mpki_direct *f, const double *scale, double *out) {
    const bool hermitian = f->tree.symmetry == MPK_HERMITIAN;
    double log_abs = 0;
    double complex phase = 1;
    for (int64_t k = 0; k < f->tree.n; k++) {
        double complex det = entry(f, f->d, 2 * k);
        if (is_pair(f, k)) {
            const double complex off = entry(f, f->d, 2 * k + 1);
            det = det * entry(f, f->d, 2 * k + 2) - off * (hermitian ? conj(off) : off);
            k++;
        }
        const double a = cabs(det);
        if (a == 0) continue;
        log_abs += log(a);
        phase *= det / a;
    }
    for (int32_t j = 0; j < f->tree.n; j++) log_abs -= 2 * log(scale[j]);
    out[0] = log_abs, out[1] = creal(phase), out[2] = cimag(phase);
}

/* The same, with a scaling that may be on the device alone. */
static mpk_status find_logdet(const mpki_direct *f, double *out) {
    if (f->scale) {
        logdet(f, f->scale, out);
        return MPK_OK;
    }
    double *scale = MPKI_NEW(f->ctx, STAGE, f->tree.n, double);
    mpk_status status = scale ? mpki_cuda_direct_give(f, NULL, scale) : mpki_failed(f->ctx);
    if (!mpk_failed(status)) logdet(f, scale, out);
    mpki_release(f->ctx, scale);
    return status;
}

mpk_status mpki_cuda_direct_get(const mpki_direct *f, mpk_quantity what, void *out) {
    const int64_t n = f->tree.n;
    if (!there(f)) return mpki_failed(f->ctx);
    if (what == MPK_GET_LOGDET) {
        return find_logdet(f, out);
    } else if (what == MPK_GET_D) {
        if (n > 0) memcpy(out, f->d, (size_t)(2 * n) * mpk_scalar_size(f->tree.scalar));
    } else {
        int32_t *perm = out;
        for (int64_t k = 0; k < n; k++) perm[k] = f->tree.perm[f->id[k]];
    }
    return MPK_OK;
}

static bool is_zero_pivot(const mpki_direct *f, int64_t k) {
    return !is_pair(f, k) && !(size_of(f, f->d, 2 * k) > 0);
}

void mpki_cuda_direct_at_zeros(const mpki_direct *f, void *y) {
    const int64_t n = f->tree.n, size = (int64_t)mpk_scalar_size(f->tree.scalar);
    const bool away = f->device->table->is_device(f->device->cuda, y);
    void *own = away ? mpki_alloc(f->ctx, STAGE, n, (size_t)size) : y;
    if (!own) return;
    memset(own, 0, (size_t)(n * size));
    for (int64_t k = 0; there(f) && k < n; k++) {
        if (is_zero_pivot(f, k)) set_entry(f, own, f->id[k], mpki_random_sign((uint64_t)f->id[k]));
        k += is_pair(f, k);
    }
    if (!away) return;
    (void)(MPKI_CUDA_DID(f, f->device->table->direct->copy(f->device->cuda, y, own, n * size, 1)) &&
           MPKI_CUDA_DID(f, f->device->table->direct->wait(f->device->cuda)));
    mpki_release(f->ctx, own);
}

int mpki_cuda_direct_zeros(const mpki_direct *f, int64_t all, int most, mpki_weak_pivot *list) {
    const int64_t step = all > most ? all / most : 1;
    int64_t seen = 0;
    int count = 0;
    if (!there(f)) return 0;
    for (int32_t s = 0; s < f->plan.units; s++)
        for (int64_t k = f->at[s]; k < f->at[s + 1] && count < most; k++) {
            if (is_zero_pivot(f, k) && seen++ % step == 0)
                list[count++] = (mpki_weak_pivot){
                    .at = {f->id[k]}, .handle = {s, k - f->at[s]}, .vector = {1, 0, 0, 0}};
            k += is_pair(f, k);
        }
    return count;
}

/* The eigenvalue of smaller modulus of [a conj(b); b c], a and c real, as
 * src/engines/cpu/multifrontal/weak_pivots_t.c. */
static void smaller_eigenvalue(const mpki_direct *f, int64_t k, mpki_weak_pivot *p) {
    const double a = creal(entry(f, f->d, 2 * k)), c = creal(entry(f, f->d, 2 * k + 2));
    const double complex off = entry(f, f->d, 2 * k + 1);
    const double b = cabs(off), mean = (a + c) / 2, large = fabs(mean) + hypot((a - c) / 2, b);
    const double least = (a / large) * c - (b / large) * b, small = mean > 0 ? least : -least;
    const bool first = hypot(a - small, b) >= hypot(b, c - small);
    const double length = first ? hypot(a - small, b) : hypot(b, c - small);
    const double re = creal(off) / length, im = cimag(off) / length;
    p->size = fabs(least);
    p->sign = (least > 0) == (mean > 0) ? 1 : -1;
    p->other = mean > 0 ? large : -large;
    p->vector[0] = first ? re : (c - small) / length;
    p->vector[1] = first ? -im : 0;
    p->vector[2] = first ? -(a - small) / length : -re;
    p->vector[3] = first ? 0 : -im;
}

int mpki_cuda_direct_weak(const mpki_direct *f, double bound, int most, mpki_weak_pivot *list) {
    int count = 0;
    if (!there(f)) return 0;
    for (int32_t s = 0; s < f->plan.units; s++)
        for (int64_t k = f->at[s]; k < f->at[s + 1]; k++) {
            const double size = size_of(f, f->d, 2 * k);
            const bool pair = is_pair(f, k);
            if (!pair && (size == 0 || !(size / f->size <= bound))) continue;
            mpki_weak_pivot p = {.at = {f->id[k]},
                                 .handle = {s, k - f->at[s]},
                                 .pair = pair,
                                 .vector = {1, 0, 0, 0}};
            if (p.pair) p.at[1] = f->id[k + 1];
            p.size = size;
            p.sign = creal(entry(f, f->d, 2 * k)) > 0 ? 1 : -1;
            if (p.pair) smaller_eigenvalue(f, k, &p);
            p.size /= f->size;
            k += p.pair;
            if (!(p.size <= bound) || p.size == 0) continue;
            int at = count < most ? count++ : most;
            for (; at > 0 && list[at - 1].size > p.size; at--)
                if (at < most) list[at] = list[at - 1];
            if (at < most) list[at] = p;
        }
    return count;
}

/* Entries of D and D^-1 of a pivot, from the copies to the device. */
static void send(mpki_direct *f, int32_t s, int64_t k, int64_t count) {
    const mpki_cuda_front_state *x = &f->state[f->plan.unit[s]];
    const int64_t size = (int64_t)mpk_scalar_size(f->tree.scalar), from = 2 * (f->at[s] + k) * size;
    char *d = (char *)x->a + ((int64_t)x->ld * x->w + 2 * k) * size;
    char *dinv = d + 2 * (int64_t)x->w * size;
    const mpki_cuda_direct_table *to = f->device->table->direct;
    (void)(MPKI_CUDA_DID(f, to->copy(f->device->cuda, d, (char *)f->d + from, count * size, 1)) &&
           MPKI_CUDA_DID(f,
                         to->copy(f->device->cuda, dinv, (char *)f->dinv + from, count * size, 1)));
}

void mpki_cuda_direct_to_zero(mpki_direct *f, const mpki_weak_pivot *list, int count) {
    if (!there(f)) return;
    for (int w = 0; w < count; w++) {
        const mpki_weak_pivot *p = &list[w];
        const int32_t s = (int32_t)p->handle[0];
        const int64_t at = 2 * (f->at[s] + p->handle[1]);
        if (!p->pair) {
            set_entry(f, f->d, at, 0), set_entry(f, f->dinv, at, 0);
        } else { /* what is left of the pair: other u u^H with u orthogonal to the vector */
            const double complex u0 = p->vector[2] - p->vector[3] * I;
            const double complex u1 = -(p->vector[0] - p->vector[1] * I);
            const double complex part[3] = {u0 * conj(u0), u1 * conj(u0), u1 * conj(u1)};
            for (int k = 0; k < 3; k++) {
                set_entry(f, f->d, at + k, part[k] * p->other);
                set_entry(f, f->dinv, at + k, p->other != 0 ? part[k] / p->other : 0);
            }
        }
        send(f, s, p->handle[1], p->pair ? 3 : 1);
    }
    (void)MPKI_CUDA_DID(f, f->device->table->direct->wait(f->device->cuda));
}
