/* SPDX-License-Identifier: BSD-3-Clause */
/* Triplets, sorted once into columns. */
#include "triplet.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct ip_triplet {
    _Atomic int references;
    int n, nz, entries; /* entries: places in the columns */
    mpk_ordering ordering;
    int *irn, *jcn; /* as given */
    int *map;       /* nz: place of each, -1 out of range */
    int outside, twice;
    ip_pattern *pattern;
};

static void *array(int64_t count, size_t size) {
    return calloc((size_t)(count ? count : 1), size);
}

/* Stable counting sort of order[count] by key[order[k]] in 0..n-1. */
static void sort_by(int n, const int *key, int count, const int *order, int *sorted, int *start) {
    memset(start, 0, ((size_t)n + 1) * sizeof *start);
    for (int k = 0; k < count; k++) start[key[order[k]] + 1]++;
    for (int i = 0; i < n; i++) start[i + 1] += start[i];
    for (int k = 0; k < count; k++) sorted[start[key[order[k]]]++] = order[k];
}

/* Fill t->map; ptr[n + 1] and row[] are the lower triangle, 0-based. work: four arrays of nz. */
static void compress(ip_triplet *t, int *ptr, int *row, int *work) {
    const size_t nz = (size_t)t->nz;
    int *low = work, *high = work + nz, *first = work + 2 * nz, *second = work + 3 * nz, count = 0;
    for (int k = 0; k < t->nz; k++) {
        const int i = t->irn[k], j = t->jcn[k];
        t->map[k] = -1;
        if (i < 1 || i > t->n || j < 1 || j > t->n) continue;
        low[k] = (i < j ? i : j) - 1;
        high[k] = (i < j ? j : i) - 1;
        first[count++] = k;
    }
    t->outside = t->nz - count;
    sort_by(t->n, high, count, first, second, ptr);
    sort_by(t->n, low, count, second, first, ptr);
    memset(ptr, 0, ((size_t)t->n + 1) * sizeof *ptr);
    for (int s = 0; s < count; s++) {
        const int k = first[s], before = s ? first[s - 1] : -1;
        if (before < 0 || low[k] != low[before] || high[k] != high[before]) {
            row[t->entries++] = high[k];
            ptr[low[k] + 1]++;
        }
        t->map[k] = t->entries - 1;
    }
    t->twice = count - t->entries;
    for (int j = 0; j < t->n; j++) ptr[j + 1] += ptr[j];
}

mpk_status ip_triplet_create(int n, int nz, const int *irn, const int *jcn, mpk_ordering ordering,
                             ip_triplet **out) {
    *out = NULL;
    if (n < 1 || nz < 0 || (nz > 0 && (!irn || !jcn))) return MPK_ERR_ARGUMENT;
    mpk_status status = MPK_ERR_MEMORY;
    ip_triplet *t = array(1, sizeof *t);
    int *ptr = array((int64_t)n + 1, sizeof *ptr), *row = array(nz, sizeof *row),
        *work = array(4 * (int64_t)nz, sizeof *work);
    if (!t || !ptr || !row || !work) goto done;
    t->n = n;
    t->nz = nz;
    t->ordering = ordering;
    t->irn = array(nz, sizeof *t->irn);
    t->jcn = array(nz, sizeof *t->jcn);
    t->map = array(nz, sizeof *t->map);
    if (!t->irn || !t->jcn || !t->map) goto done;
    if (nz) memcpy(t->irn, irn, (size_t)nz * sizeof *irn);
    if (nz) memcpy(t->jcn, jcn, (size_t)nz * sizeof *jcn);
    compress(t, ptr, row, work);
    status = ip_pattern_create(NULL, n, ptr, row, 0, ordering, &t->pattern);
    if (mpk_failed(status)) goto done;
    *out = ip_triplet_share(t);
done:
    if (!*out && t) ip_triplet_release(ip_triplet_share(t));
    free(ptr);
    free(row);
    free(work);
    return status;
}

ip_triplet *ip_triplet_share(ip_triplet *t) {
    atomic_fetch_add(&t->references, 1);
    return t;
}

void ip_triplet_release(ip_triplet *t) {
    if (!t || atomic_fetch_sub(&t->references, 1) != 1) return;
    ip_pattern_release(t->pattern);
    free(t->irn);
    free(t->jcn);
    free(t->map);
    free(t);
}

bool ip_triplet_equal(const ip_triplet *t, int n, int nz, const int *irn, const int *jcn,
                      mpk_ordering ordering) {
    const size_t bytes = (size_t)t->nz * sizeof *irn;
    return n == t->n && nz == t->nz && ordering == t->ordering &&
           (nz == 0 || (!memcmp(irn, t->irn, bytes) && !memcmp(jcn, t->jcn, bytes)));
}

void ip_triplet_get(const ip_triplet *t, int *n, int *nz, const int **irn, const int **jcn,
                    mpk_ordering *ordering) {
    *n = t->n;
    *nz = t->nz;
    *irn = t->irn;
    *jcn = t->jcn;
    *ordering = t->ordering;
}

void ip_triplet_faults(const ip_triplet *t, int *outside, int *twice) {
    *outside = t->outside;
    *twice = t->twice;
}

mpk_status ip_triplet_factorize(ip_triplet *t, const double *a, const ip_request *request,
                                ip_factor **fac) {
    double *val = array(t->entries, sizeof *val);
    if (!val) return MPK_ERR_MEMORY;
    for (int k = 0; k < t->nz; k++)
        if (t->map[k] >= 0) val[t->map[k]] += a[k];
    const mpk_status status = ip_factorize(t->pattern, val, request, fac);
    free(val);
    return status;
}
